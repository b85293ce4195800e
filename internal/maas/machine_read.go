package maas

import (
	"context"
	"net/http"
	"net/url"
)

// Machine reads one machine. A controller or device of that id is not found.
func (c *Client) Machine(ctx context.Context, id string) (*Machine, error) {
	const op = "maas: read machine"
	if err := checkID(op, id); err != nil {
		return nil, err
	}
	m := new(Machine)
	r := request{op: op, subject: id, method: http.MethodGet, path: "machines/" + id + "/"}
	return m, c.call(ctx, r, m)
}

// NodesByMAC returns every node that holds one of the addresses: machines,
// devices and controllers. Two machines can hold one address. An unknown
// address is no error. A key that is not an admin's sees none, silently.
func (c *Client) NodesByMAC(ctx context.Context, macs ...string) ([]Machine, error) {
	if len(macs) == 0 {
		return nil, nil
	}
	return c.nodes(ctx, "maas: look up MAC", macs[0], "nodes/", url.Values{"mac_address": macs})
}

// MachinesByHostname returns the machines of that host name, in any domain.
func (c *Client) MachinesByHostname(ctx context.Context, hostname string) ([]Machine, error) {
	return c.nodes(ctx, "maas: look up hostname", hostname, "machines/", url.Values{"hostname": {hostname}})
}

// MachinesByID reads several machines at once; those that are gone are left
// out. One request, but each machine costs the region about 100 ms.
func (c *Client) MachinesByID(ctx context.Context, ids ...string) ([]Machine, error) {
	const op = "maas: read machines"
	if len(ids) == 0 {
		return nil, nil
	}
	for _, id := range ids {
		if err := checkID(op, id); err != nil {
			return nil, err
		}
	}
	return c.nodes(ctx, op, ids[0], "machines/", url.Values{"id": ids})
}

func (c *Client) nodes(ctx context.Context, op, subject, path string, query url.Values) ([]Machine, error) {
	var found []Machine
	err := c.call(ctx, request{op: op, subject: subject, method: http.MethodGet, path: path, query: query}, &found)
	return found, err
}
