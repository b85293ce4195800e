package maas

import (
	"context"

	"github.com/canonical/gomaasclient/client"
)

// PowerState asks the BMC through the rack: "on", "off", "unknown" or "error".
// It is dear: it holds a thread of the region for up to a minute.
func (c *Client) PowerState(ctx context.Context, id string) (string, error) {
	const op = "maas: query power of machine"
	if err := checkID(op, id); err != nil {
		return "", err
	}
	var state string
	err := c.viaLibrary(ctx, &operation{name: op, subject: id}, func(lib *client.Client) error {
		s, err := lib.Machine.GetPowerState(id)
		if err == nil {
			state = s.State
		}
		return err
	})
	return state, err
}

// PowerParameters returns the machine's power parameters, passwords in clear.
// They are for comparison in memory and belong into no state, log or report.
func (c *Client) PowerParameters(ctx context.Context, id string) (map[string]any, error) {
	const op = "maas: read power parameters of machine"
	if err := checkID(op, id); err != nil {
		return nil, err
	}
	var parameters map[string]any
	err := c.viaLibrary(ctx, &operation{name: op, subject: id}, func(lib *client.Client) error {
		var err error
		parameters, err = lib.Machine.GetPowerParameters(id)
		return err
	})
	return parameters, err
}

// PowerTypes returns the names of the power types that the racks know.
func (c *Client) PowerTypes(ctx context.Context) ([]string, error) {
	var names []string
	err := c.viaLibrary(ctx, &operation{name: "maas: list power types"}, func(lib *client.Client) error {
		types, err := lib.RackControllers.DescribePowerTypes()
		for _, t := range types {
			names = append(names, t.Name)
		}
		return err
	})
	return names, err
}
