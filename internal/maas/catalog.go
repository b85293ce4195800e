package maas

import (
	"context"
	"slices"
	"time"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// names runs a listing of gomaasclient and keeps the names.
func names[T any](ctx context.Context, c *Client, op string, list func(*client.Client) ([]T, error), name func(T) string) ([]string, error) {
	var found []string
	err := c.viaLibrary(ctx, &operation{name: op}, func(lib *client.Client) error {
		all, err := list(lib)
		for _, v := range all {
			found = append(found, name(v))
		}
		return err
	})
	return found, err
}

// Pools returns the names of the resource pools.
func (c *Client) Pools(ctx context.Context) ([]string, error) {
	return names(ctx, c, "maas: list pools",
		func(lib *client.Client) ([]entity.ResourcePool, error) { return lib.ResourcePools.Get() },
		func(p entity.ResourcePool) string { return p.Name })
}

// Zones returns the names of the availability zones.
func (c *Client) Zones(ctx context.Context) ([]string, error) {
	return names(ctx, c, "maas: list zones",
		func(lib *client.Client) ([]entity.Zone, error) { return lib.Zones.Get() },
		func(z entity.Zone) string { return z.Name })
}

// Domains returns the names of the DNS domains.
func (c *Client) Domains(ctx context.Context) ([]string, error) {
	return names(ctx, c, "maas: list domains",
		func(lib *client.Client) ([]entity.Domain, error) { return lib.Domains.Get() },
		func(d entity.Domain) string { return d.Name })
}

// SSHKeys returns the public keys of the key's user: without one nobody can log
// in to what is deployed.
func (c *Client) SSHKeys(ctx context.Context) ([]string, error) {
	return names(ctx, c, "maas: list SSH keys",
		func(lib *client.Client) ([]entity.SSHKey, error) { return lib.SSHKeys.Get() },
		func(k entity.SSHKey) string { return k.Key })
}

// Tag is a label of machines, which can add to their kernel's command line.
type Tag struct {
	Name       string
	Comment    string
	KernelOpts string
}

// Tags lists the region's tags.
func (c *Client) Tags(ctx context.Context) ([]Tag, error) {
	var tags []Tag
	err := c.viaLibrary(ctx, &operation{name: "maas: list tags"}, func(lib *client.Client) error {
		all, err := lib.Tags.Get()
		for _, t := range all {
			tags = append(tags, Tag{Name: t.Name, Comment: t.Comment, KernelOpts: t.KernelOpts})
		}
		return err
	})
	return tags, err
}

// EnsureTag makes the tag if there is none of its name and sets its comment and
// kernel options if they differ. It is safe when two do it at once.
func (c *Client) EnsureTag(ctx context.Context, t Tag) error {
	tags, err := c.Tags(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tags, func(have Tag) bool { return have.Name == t.Name })
	switch {
	case i >= 0 && tags[i] == t:
		return nil
	case i >= 0:
		return c.updateTag(ctx, t)
	}
	err = c.viaLibrary(ctx, &operation{name: "maas: create tag", subject: t.Name, class: writing}, func(lib *client.Client) error {
		_, err := lib.Tags.Create(&entity.TagParams{Name: t.Name, Comment: t.Comment, KernelOpts: t.KernelOpts})
		return err
	})
	if fault.Is(err, fault.Conflict) {
		return c.updateTag(ctx, t)
	}
	return err
}

// updateTag is a write that may be repeated, but a lost answer is still for
// the caller to resolve.
func (c *Client) updateTag(ctx context.Context, t Tag) error {
	return c.viaLibrary(ctx, &operation{name: "maas: update tag", subject: t.Name, class: writing}, func(lib *client.Client) error {
		_, err := lib.Tag.Update(t.Name, &entity.TagParams{Name: t.Name, Comment: t.Comment, KernelOpts: t.KernelOpts})
		return err
	})
}

// TagMachine puts a tag on a machine; one that is there stays.
func (c *Client) TagMachine(ctx context.Context, tag, id string) error {
	return c.machineOp(ctx, "maas: tag machine", id, func(lib *client.Client) error {
		return lib.Tag.AddMachines(tag, []string{id})
	})
}

// UntagMachine takes a tag from a machine; one that is not there is no error.
func (c *Client) UntagMachine(ctx context.Context, tag, id string) error {
	return c.machineOp(ctx, "maas: untag machine", id, func(lib *client.Client) error {
		return lib.Tag.RemoveMachines(tag, []string{id})
	})
}

// Script is a commissioning or testing script that the region has.
type Script struct {
	Name    string
	Type    ScriptType
	Tags    []string
	Timeout time.Duration // 0: none
	// MayReboot says that the node can go silent while it runs.
	MayReboot bool
}

// Scripts lists the region's scripts.
func (c *Client) Scripts(ctx context.Context) ([]Script, error) {
	const op = "maas: list scripts"
	var scripts []Script
	err := c.viaLibrary(ctx, &operation{name: op}, func(lib *client.Client) error {
		all, err := lib.NodeScripts.Get(&entity.NodeScriptReadParams{})
		if err != nil {
			return err
		}
		for _, s := range all {
			limit, err := parseSpan(s.Timeout)
			if err != nil {
				return err
			}
			scripts = append(scripts, Script{
				Name: s.Name, Type: ScriptType(s.Type), Tags: s.Tags, Timeout: limit, MayReboot: s.MayReboot,
			})
		}
		return nil
	})
	return scripts, err
}
