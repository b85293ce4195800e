package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// NetworkCommand is what an update of a network does with the given element.
type NetworkCommand string

// The commands.
const (
	NetworkAdd      NetworkCommand = "add-last"
	NetworkAddFirst NetworkCommand = "add-first"
	NetworkModify   NetworkCommand = "modify"
	NetworkDelete   NetworkCommand = "delete"
)

var networkCommands = map[NetworkCommand]golibvirt.NetworkUpdateCommand{
	NetworkAdd:      golibvirt.NetworkUpdateCommandAddLast,
	NetworkAddFirst: golibvirt.NetworkUpdateCommandAddFirst,
	NetworkModify:   golibvirt.NetworkUpdateCommandModify,
	NetworkDelete:   golibvirt.NetworkUpdateCommandDelete,
}

// NetworkSection is the part of a network that an update changes, spelt as
// virsh net-update does.
type NetworkSection string

// The sections that libvirt can change in place.
const (
	SectionDHCPHost  NetworkSection = "ip-dhcp-host"
	SectionDHCPRange NetworkSection = "ip-dhcp-range"
	SectionDNSHost   NetworkSection = "dns-host"
	SectionDNSTXT    NetworkSection = "dns-txt"
	SectionDNSSRV    NetworkSection = "dns-srv"
)

var networkSections = map[NetworkSection]golibvirt.NetworkUpdateSection{
	SectionDHCPHost:  golibvirt.NetworkSectionIPDhcpHost,
	SectionDHCPRange: golibvirt.NetworkSectionIPDhcpRange,
	SectionDNSHost:   golibvirt.NetworkSectionDNSHost,
	SectionDNSTXT:    golibvirt.NetworkSectionDNSTxt,
	SectionDNSSRV:    golibvirt.NetworkSectionDNSSrv,
}

// NetworkUpdate is one change in place.
type NetworkUpdate struct {
	Command NetworkCommand
	Section NetworkSection
	Parent  int    // index of the <ip> the element belongs to; -1: libvirt chooses
	XML     string // the element
}

// UpdateNetwork makes one change of the persistent description and, where the
// network is active, of the running one. What is there already under that name
// is fault.Conflict.
func (h *Host) UpdateNetwork(ctx context.Context, name string, u NetworkUpdate) error {
	r := request{op: "update network", subject: name, class: write}
	command, section := networkCommands[u.Command], networkSections[u.Section]
	if command == 0 || section == 0 {
		return fault.New(fault.Invalid, "libvirt: "+r.op, name, "libvirt cannot %s section %q", u.Command, u.Section)
	}
	n, err := h.Network(ctx, name)
	if err != nil {
		return err
	}
	var flags golibvirt.NetworkUpdateFlags
	if n.Active {
		flags |= golibvirt.NetworkUpdateAffectLive
	}
	if n.Persistent {
		flags |= golibvirt.NetworkUpdateAffectConfig
	}
	uuid, err := parseUUID(n.UUID)
	if err != nil {
		return err
	}
	return do(ctx, h, r, func(l *golibvirt.Libvirt) error {
		return l.NetworkUpdateCompat(golibvirt.Network{Name: name, UUID: uuid}, command, section, int32(u.Parent), u.XML, flags)
	})
}

// DefineNetwork writes the persistent description, new or in the place of the
// one with its UUID. Keep the <mac> of its bridge in it: libvirt makes one up
// otherwise. fault.Conflict for a name that is taken.
func (h *Host) DefineNetwork(ctx context.Context, xml string) (Network, error) {
	r := request{op: "define network", subject: nameIn(xml), class: write}
	net, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.Network, error) {
		return l.NetworkDefineXMLFlags(xml, uint32(golibvirt.NetworkDefineValidate))
	})
	if fault.Is(err, fault.Unsupported) {
		net, err = call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.Network, error) {
			return l.NetworkDefineXML(xml)
		})
	}
	if err != nil {
		return Network{}, err
	}
	return h.describeNetwork(ctx, net)
}

// changeNetwork makes one call that changes the named network. With unless,
// the refusal of an operation is no error where the network reads so already.
func (h *Host) changeNetwork(ctx context.Context, name, op string, unless func(Network) bool, fn func(*golibvirt.Libvirt, golibvirt.Network) error) error {
	net, err := h.lookUpNetwork(ctx, name)
	if err != nil {
		return err
	}
	r := request{op: op, subject: name, class: write}
	err = do(ctx, h, r, func(l *golibvirt.Libvirt) error { return fn(l, net) })
	if unless == nil || !isCode(err, golibvirt.ErrOperationInvalid) {
		return err
	}
	if n, readErr := h.describeNetwork(ctx, net); readErr == nil && unless(n) {
		return nil
	}
	return err
}

// StartNetwork makes an inactive network active; an active one is no error.
func (h *Host) StartNetwork(ctx context.Context, name string) error {
	return h.changeNetwork(ctx, name, "start network", func(n Network) bool { return n.Active }, (*golibvirt.Libvirt).NetworkCreate)
}

// DestroyNetwork makes an active network inactive; an inactive one is no
// error. A transient network is gone then.
func (h *Host) DestroyNetwork(ctx context.Context, name string) error {
	return h.changeNetwork(ctx, name, "stop network", func(n Network) bool { return !n.Active }, (*golibvirt.Libvirt).NetworkDestroy)
}

// UndefineNetwork removes the persistent description.
func (h *Host) UndefineNetwork(ctx context.Context, name string) error {
	return h.changeNetwork(ctx, name, "undefine network", nil, (*golibvirt.Libvirt).NetworkUndefine)
}

// SetNetworkAutostart says whether the network starts with the host.
func (h *Host) SetNetworkAutostart(ctx context.Context, name string, on bool) error {
	return h.changeNetwork(ctx, name, "set autostart of network", nil, func(l *golibvirt.Libvirt, net golibvirt.Network) error {
		return l.NetworkSetAutostart(net, flag(on))
	})
}
