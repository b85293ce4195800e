package network

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
)

// Steps that the owner mark records.
const (
	stepDefine  = "define"
	stepUpdate  = "update"
	stepRestart = "restart" // stopped, and not all NICs attached again
)

// keeper works on the networks of one host.
type keeper struct {
	host *libvirt.Host
	log  *slog.Logger
}

// observed is what a host has of one network.
type observed struct {
	Have      netxml.Spec // the definition
	Live      netxml.Spec // what runs; equal to Have while it does not
	XML       string      // the definition
	LiveXML   string
	Mark      *owner.Mark
	Active    bool
	Autostart bool
}

// observe reads a network by name. The error is fault.NotFound when there is
// none.
func (k keeper) observe(ctx context.Context, name string) (observed, error) {
	n, err := k.host.Network(ctx, name)
	if err != nil {
		return observed{}, err
	}
	o := observed{Active: n.Active, Autostart: n.Autostart}
	o.XML, err = k.host.NetworkXML(ctx, name, libvirt.Persistent)
	if fault.Is(err, fault.Unsupported) { // libvirt's test driver has one description
		o.XML, err = k.host.NetworkXML(ctx, name, libvirt.Live)
	}
	if err != nil {
		return observed{}, err
	}
	if o.Have, o.Mark, err = netxml.Read(o.XML); err != nil {
		return observed{}, fault.New(fault.Invalid, "network: read", name, "%w", err)
	}
	o.Live, o.LiveXML = o.Have, o.XML
	if !n.Active {
		return o, nil
	}
	if o.LiveXML, err = k.host.NetworkXML(ctx, name, libvirt.Live); err != nil {
		return observed{}, err
	}
	if o.Live, _, err = netxml.Read(o.LiveXML); err != nil {
		return observed{}, fault.New(fault.Invalid, "network: read", name, "%w", err)
	}
	return o, nil
}

// pending lists what waits for a restart.
func (o observed) pending() []string {
	if !o.Active {
		return nil
	}
	p := netxml.Pending(o.Live, o.Have)
	if o.Mark != nil && o.Mark.Op.Step == stepRestart {
		p = append(p, pendingTaps)
	}
	return p
}

// pendingTaps stands in pending_restart when a restart was cut short: NICs of
// running guests may be off the network.
const pendingTaps = "guests"

// find is observe for a network that a create may meet: nil when there is none.
func (k keeper) find(ctx context.Context, name string) (*observed, error) {
	o, err := k.observe(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// define writes the definition with want and the mark; nothing is sent when
// neither changes it.
func (k keeper) define(ctx context.Context, o observed, want, prior netxml.Spec, mark owner.Mark) error {
	xml, err := netxml.Edit(o.XML, want, prior, mark)
	if err != nil {
		return fault.New(fault.Invalid, "network: edit definition", want.Name, "%w", err)
	}
	return k.write(ctx, want.Name, xml)
}

func (k keeper) write(ctx context.Context, name, xml string) error {
	if _, err := k.host.DefineNetwork(ctx, xml); err != nil {
		return err
	}
	k.log.DebugContext(ctx, "network: defined", "name", name)
	return nil
}

// step writes into the owner mark how far an operation got.
func (k keeper) step(ctx context.Context, name string, change func(*owner.Mark)) error {
	xml, err := k.host.NetworkXML(ctx, name, libvirt.Persistent)
	if err != nil {
		return err
	}
	_, mark, err := netxml.Read(xml)
	if err != nil {
		return fault.New(fault.Invalid, "network: read", name, "%w", err)
	}
	if mark == nil {
		mark = &owner.Mark{}
	}
	before := *mark
	change(mark)
	mark.Op.Time = mark.Op.Time.UTC().Truncate(time.Second)
	if sameMark(before, *mark) {
		return nil
	}
	if xml, err = netxml.SetMark(xml, *mark); err != nil {
		return fault.New(fault.Invalid, "network: edit definition", name, "%w", err)
	}
	return k.write(ctx, name, xml)
}

func sameMark(a, b owner.Mark) bool {
	return a.Namespace == b.Namespace && a.Type == b.Type && a.Name == b.Name && a.Incarnation == b.Incarnation &&
		a.Complete == b.Complete && a.Op.Step == b.Op.Step && slices.Equal(a.NICs, b.NICs) && slices.Equal(a.Disks, b.Disks)
}

// bridgeMAC derives the MAC of a new network's bridge, so that one that is
// made again is the same gateway to its guests.
func bridgeMAC(prefix hwaddr.Prefix, namespace, name string) string {
	return hwaddr.DeriveMAC(prefix, namespace, typeName+"/"+name, "bridge").String()
}

// networkUUID derives the UUID of a new network. The slash keeps it apart from
// those of VMs, whose names have none.
func networkUUID(namespace, name string) string {
	return hwaddr.DeriveUUID(namespace, typeName+"/"+name)
}
