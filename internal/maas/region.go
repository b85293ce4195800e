package maas

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// User is whom the key belongs to.
type User struct {
	Name  string
	Admin bool
}

// Whoami returns the key's user.
func (c *Client) Whoami(ctx context.Context) (User, error) {
	var user User
	err := c.viaLibrary(ctx, &operation{name: "maas: read user of the key"}, func(lib *client.Client) error {
		u, err := lib.Users.Whoami()
		if err == nil {
			user = User{Name: u.UserName, Admin: u.IsSuperUser}
		}
		return err
	})
	return user, err
}

// RequireAdmin is an error when the key is not an administrator's: such a key
// sees no machines of others and is told nothing of it.
func (c *Client) RequireAdmin(ctx context.Context) error {
	u, err := c.Whoami(ctx)
	if err != nil {
		return err
	}
	if !u.Admin {
		return fault.New(fault.Denied, "maas: check the key", u.Name,
			"the API key belongs to a user who is no administrator, and MAAS shows such a key an empty region")
	}
	return nil
}

// Version returns the region's version, for example "3.4.10".
func (c *Client) Version(ctx context.Context) (string, error) {
	var version string
	err := c.viaLibrary(ctx, &operation{name: "maas: read version"}, func(lib *client.Client) error {
		v, err := lib.Version.Get()
		if err == nil {
			version = v.Version
		}
		return err
	})
	return version, err
}

// Config returns a setting of the region as text; null is empty. Each is read
// once in a client's life: settings read in quick succession can get each
// other's answers (LP #2142861), so they are also read one at a time.
func (c *Client) Config(ctx context.Context, name string) (string, error) {
	release, err := c.turn(ctx, "config")
	if err != nil {
		return "", fault.New(fault.Unavailable, "maas: read setting", name, "not sent: %w", err)
	}
	defer release()
	c.mu.Lock()
	value, known := c.configs[name]
	c.mu.Unlock()
	if known {
		return value, nil
	}
	err = c.viaLibrary(ctx, &operation{name: "maas: read setting", subject: name}, func(lib *client.Client) error {
		raw, err := lib.MAASServer.Get(name)
		if err == nil {
			value = settingText(raw)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.configs[name] = value
	return value, nil
}

// turn lets one caller at a time do what the name says.
func (c *Client) turn(ctx context.Context, name string) (func(), error) {
	c.mu.Lock()
	gate, ok := c.lookups[name]
	if !ok {
		gate = make(chan struct{}, 1)
		c.lookups[name] = gate
	}
	c.mu.Unlock()
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// settingText reads a bare JSON value, or a text without quotes.
func settingText(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return strings.TrimSpace(string(raw))
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return string(raw)
}

// NodeTimeout is how long the region itself waits for a silent node.
func (c *Client) NodeTimeout(ctx context.Context) (time.Duration, error) {
	text, err := c.Config(ctx, "node_timeout")
	if err != nil {
		return 0, err
	}
	minutes, err := strconv.Atoi(text)
	if err != nil || minutes < 1 {
		return 0, fault.New(fault.Unsupported, "maas: read setting", "node_timeout", "it is %.20q, expected minutes", text)
	}
	return time.Duration(minutes) * time.Minute, nil
}

// Service is a daemon of a controller.
type Service struct {
	Name   string // "dhcpd", "rackd", "http", "agent", "temporal", ...
	Status string // "running", "degraded", "dead", "off" (as it should be), "unknown"
	Info   string
}

// Rack is a rack controller. Only one that is a region as well shows the
// region's services.
type Rack struct {
	SystemID string
	Hostname string
	Version  string
	NodeType NodeType
	IPs      []string
	Services []Service
}

// Service returns the rack's service of that name.
func (r Rack) Service(name string) (Service, bool) {
	for _, s := range r.Services {
		if s.Name == name {
			return s, true
		}
	}
	return Service{}, false
}

// Racks lists the rack controllers. A key that is not an admin's sees none.
func (c *Client) Racks(ctx context.Context) ([]Rack, error) {
	var racks []Rack
	err := c.viaLibrary(ctx, &operation{name: "maas: list rack controllers"}, func(lib *client.Client) error {
		all, err := lib.RackControllers.Get(&entity.RackControllersGetParams{})
		for _, r := range all {
			p := Rack{SystemID: r.SystemID, Hostname: r.Hostname, Version: r.Version, NodeType: NodeType(r.NodeType)}
			for _, ip := range r.IPAddresses {
				p.IPs = append(p.IPs, ipText(ip))
			}
			for _, s := range r.ServiceSet {
				p.Services = append(p.Services, Service{Name: s.Name, Status: s.Status, Info: s.StatusInfo})
			}
			racks = append(racks, p)
		}
		return err
	})
	return racks, err
}

// Notification is what the region shows its users.
type Notification struct {
	ID       int
	Category string // "error", "warning", "success", "info"
	Message  string // can hold HTML
}

// Notifications lists what the region complains about.
func (c *Client) Notifications(ctx context.Context) ([]Notification, error) {
	var found []Notification
	err := c.viaLibrary(ctx, &operation{name: "maas: list notifications"}, func(lib *client.Client) error {
		all, err := lib.Notifications.Get()
		for _, n := range all {
			found = append(found, Notification{ID: n.ID, Category: fmt.Sprint(n.Category), Message: n.Message})
		}
		return err
	})
	return found, err
}
