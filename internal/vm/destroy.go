package vm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// Destroy stops the machine, gracefully for as long as grace says, then by
// force; deletes the volumes that were made for it; and removes its definition
// last, so that a run which is cut short finds the rest by the owner mark. A
// domain that a newer create owns is left alone: the error is *Superseded. A
// domain that is gone is no error.
func (m *Manager) Destroy(ctx context.Context, uuid, incarnation string, grace time.Duration) error {
	xml, err := m.host.DomainXML(ctx, uuid, libvirt.Persistent)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	def, err := domxml.Read(xml, domxml.Names{})
	if err != nil {
		return fault.New(fault.Invalid, "libvirt: read domain", uuid, "%w", err)
	}
	if def.Mark.Superseded(incarnation) {
		return &Superseded{Name: def.Name, Mark: *def.Mark}
	}
	m.made.forget(uuid)
	if err := m.stop(ctx, uuid, def.Name, grace); err != nil {
		return err
	}
	for _, v := range created(def.Mark) {
		if err := m.host.DeleteVolume(ctx, v.Pool, v.Volume); err != nil && !fault.Is(err, fault.NotFound) {
			return fmt.Errorf("delete volume %s of pool %s: %w", v.Volume, v.Pool, err)
		}
	}
	if err := m.deleteRecords(ctx, def); err != nil {
		return err
	}
	if err := m.host.UndefineDomain(ctx, uuid); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	m.macs.set(Holder{Name: def.Name, UUID: uuid}, nil)
	return nil
}

func created(mark *owner.Mark) []owner.Disk {
	if mark == nil {
		return nil
	}
	var out []owner.Disk
	for _, d := range mark.Disks {
		if d.Created && d.Volume != "" {
			out = append(out, d)
		}
	}
	return out
}

// deleteRecords removes console log and captures of a machine whose create
// ended well. Those of one that never became ready are evidence, and the next
// create of the same VM writes behind them.
func (m *Manager) deleteRecords(ctx context.Context, def domxml.Definition) error {
	if def.Mark == nil || !def.Mark.Complete && def.Mark.Op.Step != stepMade {
		return nil
	}
	for _, pool := range []string{ConsolePool, CapturePool} {
		err := m.deleteOf(ctx, pool, def.UUID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// deleteOf deletes a pool's files of one VM, whose names begin with its UUID.
func (m *Manager) deleteOf(ctx context.Context, pool, uuid string) error {
	if _, err := m.host.Pool(ctx, pool); err != nil {
		return err
	}
	if err := m.host.RefreshPool(ctx, pool); err != nil {
		return err
	}
	files, err := m.host.Volumes(ctx, pool)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasPrefix(f, uuid) {
			if err := m.host.DeleteVolume(ctx, pool, f); err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
	}
	return nil
}
