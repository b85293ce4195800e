package maas

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/canonical/gomaasclient/client"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Interfaces lists the NICs of a node of any type.
func (c *Client) Interfaces(ctx context.Context, id string) ([]Interface, error) {
	const op = "maas: list interfaces of node"
	if err := checkID(op, id); err != nil {
		return nil, err
	}
	var list []Interface
	return list, c.call(ctx, request{op: op, subject: id, method: http.MethodGet, path: "nodes/" + id + "/interfaces/"}, &list)
}

// InterfaceUpdate holds what is to change; empty fields stay.
type InterfaceUpdate struct {
	MAC  string
	Name string
}

// UpdateInterface changes a NIC in place: the way to give a machine another
// MAC. MAAS allows it in New, Ready, Allocated, Broken, Failed testing and
// Deployed; elsewhere it is a conflict. An address that another node holds is
// a conflict as well.
func (c *Client) UpdateInterface(ctx context.Context, id string, nic int, u InterfaceUpdate) (Interface, error) {
	const op = "maas: update interface of node"
	if err := checkID(op, id); err != nil {
		return Interface{}, err
	}
	form := url.Values{}
	if u.MAC != "" {
		form.Set("mac_address", u.MAC)
	}
	if u.Name != "" {
		form.Set("name", u.Name)
	}
	var updated Interface
	err := c.call(ctx, request{
		op: op, subject: fmt.Sprintf("%s/%d", id, nic), class: writing, method: http.MethodPut,
		path: "nodes/" + id + "/interfaces/" + strconv.Itoa(nic) + "/", form: form,
	}, &updated)
	return updated, err
}

// AddInterface adds a physical NIC.
func (c *Client) AddInterface(ctx context.Context, id, name, mac string) (Interface, error) {
	const op = "maas: add interface to node"
	if err := checkID(op, id); err != nil {
		return Interface{}, err
	}
	form := url.Values{"mac_address": {mac}}
	if name != "" {
		form.Set("name", name)
	}
	var added Interface
	err := c.call(ctx, request{
		op: op, subject: id, class: writing, method: http.MethodPost, path: "nodes/" + id + "/interfaces/",
		query: url.Values{"op": {"create_physical"}}, form: form,
	}, &added)
	return added, err
}

// RemoveInterface deletes a NIC; one that is gone is no error.
func (c *Client) RemoveInterface(ctx context.Context, id string, nic int) error {
	const op = "maas: remove interface of node"
	if err := checkID(op, id); err != nil {
		return err
	}
	o := &operation{name: op, subject: fmt.Sprintf("%s/%d", id, nic), class: writing}
	err := c.viaLibrary(ctx, o, func(lib *client.Client) error { return lib.NetworkInterface.Delete(id, nic) })
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
