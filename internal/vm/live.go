package vm

import (
	"context"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
)

// applyLive plugs, unplugs and re-connects what a running machine can take.
// What it refuses is not an error: it stays pending, which the state shows.
func (u *update) applyLive(ctx context.Context) error {
	live, err := u.m.host.DomainXML(ctx, u.uuid, libvirt.Live)
	if err != nil {
		return err
	}
	for _, c := range domxml.LiveChanges(live, u.xml, u.have.Spec, u.spec) {
		if err := u.m.change(ctx, u.uuid, c); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			u.m.log.WarnContext(ctx, "vm: the running machine refused a change; it waits for a power cycle",
				"vm", u.spec.Name, "field", c.Field, "error", err)
		}
	}
	if err := u.tapLive(ctx, live); err != nil {
		u.m.log.WarnContext(ctx, "vm: the capture of the running machine is unchanged until its next power cycle", "vm", u.spec.Name, "error", err)
	}
	return u.m.host.SetMetadata(ctx, u.uuid, domxml.MarkURI, domxml.MarkKey, domxml.MetadataMark(u.mark), true)
}

func (m *Manager) change(ctx context.Context, uuid string, c domxml.LiveChange) error {
	switch c.Action {
	case domxml.Attach:
		return m.host.AttachDevice(ctx, uuid, c.XML, libvirt.AffectLive)
	case domxml.Detach:
		return m.host.DetachDevice(ctx, uuid, c.XML, libvirt.AffectLive)
	default:
		return m.host.UpdateDevice(ctx, uuid, c.XML, libvirt.AffectLive)
	}
}
