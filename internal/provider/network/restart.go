package network

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
)

// undoLimit is how long bringing back what ran before may take, after an
// error or an interrupt.
const undoLimit = 60 * time.Second

// parkingOf names the network that NICs are put on for a moment.
func parkingOf(name string) string { return "muster-parking-" + name }

// restart stops and starts the network, so that its definition takes effect,
// and puts the NICs of running guests on it again: a stopped network lets go
// of their taps, and libvirt does not take them back by itself. A network that
// does not start any more is brought back as it was.
func (k keeper) restart(ctx context.Context, o observed) error {
	name := o.Have.Name
	guests, err := k.guests(ctx, name)
	if err != nil {
		return err
	}
	if err := k.step(ctx, name, func(m *owner.Mark) { m.Op.Step, m.Op.Time = stepRestart, time.Now() }); err != nil {
		return err
	}
	k.log.InfoContext(ctx, "network: restarting", "name", name, "guests", len(guests))
	if err := k.host.DestroyNetwork(ctx, name); err != nil {
		return err
	}
	if err := k.host.StartNetwork(ctx, name); err != nil {
		return k.bringBack(ctx, o, guests, err)
	}
	return k.reattach(ctx, name, guests)
}

// bringBack starts the network as it ran before, because it did not start as
// it was defined. It returns the cause, and what became of it.
func (k keeper) bringBack(ctx context.Context, o observed, guests []guest, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	name := o.Have.Name
	err := func() error {
		cur, err := k.observe(ctx, name)
		if err != nil {
			return err
		}
		mark := owner.Mark{}
		if cur.Mark != nil {
			mark = *cur.Mark
		}
		if err := k.define(ctx, cur, o.Live, cur.Have, mark); err != nil {
			return err
		}
		if err := k.host.StartNetwork(ctx, name); err != nil {
			return err
		}
		return k.reattach(ctx, name, guests)
	}()
	kind := fault.KindOf(cause)
	if err != nil {
		return fault.New(kind, "network: restart", name, "it does not start as it is defined now, and is down: %w; nor as it was before: %w", cause, err)
	}
	return fault.New(kind, "network: restart", name, "it does not start as wanted and runs as it was before: %w", cause)
}

// guest is a running domain with NICs on the network.
type guest struct{ UUID, Name string }

// guests lists the running domains with NICs on the network, or still parked.
func (k keeper) guests(ctx context.Context, name string) ([]guest, error) {
	inv, err := k.host.Inventory(ctx, 0)
	if err != nil {
		return nil, err
	}
	var found []guest
	for _, d := range inv.All() {
		if d.ID < 0 {
			continue
		}
		xml, err := k.host.DomainXML(ctx, d.UUID, libvirt.Live)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		taps, err := netxml.Taps(xml, name, parkingOf(name))
		if err != nil {
			return nil, fault.New(fault.Invalid, "network: read domain", d.Name, "%w", err)
		}
		if len(taps) > 0 {
			found = append(found, guest{UUID: d.UUID, Name: d.Name})
		}
	}
	return found, nil
}

// reattach puts the NICs of guests, nil for all that are found, back on the
// network, and records that the restart is done. A NIC is moved to a parking
// network with its link down and back: libvirt attaches a tap only when its
// network changes, and the guest sees the link come up and asks for an address.
func (k keeper) reattach(ctx context.Context, name string, guests []guest) error {
	if guests == nil {
		var err error
		if guests, err = k.guests(ctx, name); err != nil {
			return err
		}
	}
	if len(guests) > 0 {
		if err := k.park(ctx, name, guests); err != nil {
			return err
		}
	}
	return k.step(ctx, name, func(m *owner.Mark) { m.Op.Step, m.Op.Time = stepUpdate, time.Now() })
}

func (k keeper) park(ctx context.Context, name string, guests []guest) error {
	parking := parkingOf(name)
	xml, err := netxml.New(netxml.Spec{Name: parking, Mode: netxml.ModeIsolated}, owner.Mark{Type: typeName, Name: parking, Op: owner.Operation{Step: "parking"}})
	if err != nil {
		return err
	}
	if _, err := k.host.Network(ctx, parking); fault.Is(err, fault.NotFound) {
		if err := k.write(ctx, parking, xml); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := k.host.StartNetwork(ctx, parking); err != nil {
		return err
	}
	var failed []string
	var errs []error
	for _, g := range guests {
		if err := k.replug(ctx, g, name, parking); err != nil {
			failed = append(failed, g.Name)
			errs = append(errs, err)
		}
	}
	if len(failed) > 0 {
		err := errors.Join(errs...)
		return fault.New(fault.KindOf(errs[0]), "network: attach guests again", name, "not done for %s: %w", strings.Join(failed, ", "), err)
	}
	return k.remove(ctx, parking)
}

// replug moves a domain's NICs off and on.
func (k keeper) replug(ctx context.Context, g guest, name, parking string) error {
	xml, err := k.host.DomainXML(ctx, g.UUID, libvirt.Live)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	taps, err := netxml.Taps(xml, name, parking)
	if err != nil {
		return fault.New(fault.Invalid, "network: read domain", g.Name, "%w", err)
	}
	for _, t := range taps {
		for _, device := range []string{t.Parked, t.Device} {
			err := k.host.UpdateDevice(ctx, g.UUID, device, libvirt.AffectLive)
			if k.wentOff(ctx, g, err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("NIC %s of %s: %w", t.MAC, g.Name, err)
			}
		}
		k.log.InfoContext(ctx, "network: NIC attached again", "network", name, "domain", g.Name, "mac", t.MAC)
	}
	return nil
}

// wentOff reports whether err came of the domain being off by now, which needs
// no NIC attached.
func (k keeper) wentOff(ctx context.Context, g guest, err error) bool {
	if err == nil {
		return false
	}
	d, derr := k.host.DomainByUUID(ctx, g.UUID)
	return fault.Is(derr, fault.NotFound) || derr == nil && d.ID < 0
}
