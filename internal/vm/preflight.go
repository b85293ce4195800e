package vm

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/beevik/etree"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
)

// Preflight reads whether the host can carry the request: networks, bridges,
// MTUs and addresses. The first obstacle is a Problem. It changes nothing, and
// serves at plan as well as before a create or update. uuid is the domain's
// own, which may hold its own addresses.
func (m *Manager) Preflight(ctx context.Context, r Request, uuid string) error {
	for _, n := range r.Spec.NICs {
		if err := m.checkLink(ctx, n); err != nil {
			return err
		}
		holder, held, err := m.Holder(ctx, n.MAC)
		if err != nil {
			return err
		}
		if held && holder.UUID != uuid {
			return &Problem{
				Field:    fmt.Sprintf("nic %q", n.Name),
				Happened: fmt.Sprintf("the MAC %s belongs to the domain %q (uuid %s) on this host", n.MAC, holder.Name, holder.UUID),
				Expected: fmt.Sprintf("%q would be its second owner.", r.Spec.Name),
				Todo:     "Give the NIC another mac, or remove the other domain's.",
				Err:      fault.New(fault.Conflict, "vm: check mac", n.MAC, "two owners"),
			}
		}
	}
	return nil
}

// checkLink says whether the NIC's network or bridge is there and takes its
// MTU.
func (m *Manager) checkLink(ctx context.Context, n domxml.NIC) error {
	field := fmt.Sprintf("nic %q", n.Name)
	if n.Bridge != "" {
		return m.checkMTU(ctx, field, n, "bridge "+n.Bridge, n.Bridge, 0)
	}
	net, err := m.host.Network(ctx, n.Network)
	if fault.Is(err, fault.NotFound) {
		return &Problem{
			Field: field + ".network", Happened: err.Error(), Err: err,
			Expected: fmt.Sprintf("The libvirt network %q is defined on the host.", n.Network),
			Todo:     "Create it with muster_network, or name one that exists.",
		}
	}
	if err != nil {
		return err
	}
	if !net.Active {
		return &Problem{
			Field:    field + ".network",
			Happened: fmt.Sprintf("the libvirt network %q is defined and not active", n.Network),
			Expected: "A VM cannot start on an inactive network.",
			Todo:     fmt.Sprintf("Start it: `virsh net-start %s`.", n.Network),
			Err:      fault.New(fault.Unavailable, "libvirt: check network", n.Network, "not active"),
		}
	}
	if n.MTU == 0 {
		return nil
	}
	xml, err := m.host.NetworkXML(ctx, n.Network, libvirt.Live)
	if err != nil {
		return err
	}
	return m.checkMTU(ctx, field, n, "network "+n.Network, net.Bridge, networkMTU(xml))
}

// checkMTU compares with the declared MTU of a network, or with the live one
// of its bridge. A NIC above it would come up and lose its large frames.
func (m *Manager) checkMTU(ctx context.Context, field string, n domxml.NIC, where, bridge string, declared int64) error {
	if n.MTU == 0 {
		return nil
	}
	limit := declared
	if limit == 0 {
		live, known, err := m.host.BridgeMTU(ctx, bridge)
		if err != nil {
			return err
		}
		switch {
		case known:
			limit = int64(live)
		case n.Network != "":
			limit = 1500 // a libvirt network without <mtu> makes its bridge with the kernel's default
		default:
			return nil // libvirt cannot tell
		}
	}
	if n.MTU <= limit {
		return nil
	}
	return &Problem{
		Field:    field + ".mtu",
		Happened: fmt.Sprintf("an MTU of %d does not fit the %s, whose MTU is %d", n.MTU, where, limit),
		Expected: "The NIC would come up, and every frame above the bridge's MTU would be lost in silence.",
		Todo:     fmt.Sprintf("Lower the NIC's mtu to %d, or raise the %s to %d first.", limit, where, n.MTU),
		Err:      fault.New(fault.Invalid, "vm: check mtu", n.Name, "%d > %d", n.MTU, limit),
	}
}

// networkMTU returns the <mtu> of a network's XML, or 0.
func networkMTU(xml string) int64 {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(xml); err != nil || doc.Root() == nil {
		return 0
	}
	e := doc.Root().SelectElement("mtu")
	if e == nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(e.SelectAttrValue("size", "")), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
