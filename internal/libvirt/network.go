package libvirt

import (
	"context"
	"strings"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Network is a virtual network.
type Network struct {
	Name, UUID                    string
	Bridge                        string // "" where it has none
	Active, Persistent, Autostart bool
}

// Networks returns all networks of the host: four RPCs, and one for each
// network's bridge.
func (h *Host) Networks(ctx context.Context) ([]Network, error) {
	all, err := h.networkSet(ctx, 0)
	if err != nil {
		return nil, err
	}
	var sets [3]map[golibvirt.UUID]bool
	for i, flags := range []golibvirt.ConnectListAllNetworksFlags{
		golibvirt.ConnectListNetworksActive, golibvirt.ConnectListNetworksPersistent, golibvirt.ConnectListNetworksAutostart,
	} {
		list, err := h.networkSet(ctx, flags)
		if err != nil {
			return nil, err
		}
		sets[i] = make(map[golibvirt.UUID]bool, len(list))
		for _, n := range list {
			sets[i][n.UUID] = true
		}
	}
	found := make([]Network, 0, len(all))
	for _, n := range all {
		bridge, err := h.networkBridge(ctx, n)
		if isCode(err, golibvirt.ErrNoNetwork) {
			continue // gone since it was listed
		}
		if err != nil {
			return nil, err
		}
		found = append(found, Network{
			Name: n.Name, UUID: formatUUID(n.UUID), Bridge: bridge,
			Active: sets[0][n.UUID], Persistent: sets[1][n.UUID], Autostart: sets[2][n.UUID],
		})
	}
	return found, nil
}

func (h *Host) networkSet(ctx context.Context, flags golibvirt.ConnectListAllNetworksFlags) ([]golibvirt.Network, error) {
	return call(ctx, h, request{op: "list networks"}, func(l *golibvirt.Libvirt) ([]golibvirt.Network, error) {
		nets, _, err := l.ConnectListAllNetworks(1, flags)
		return nets, err
	})
}

// networkBridge returns "" for a network that has no bridge.
func (h *Host) networkBridge(ctx context.Context, net golibvirt.Network) (string, error) {
	name, err := call(ctx, h, request{op: "read bridge of network", subject: net.Name}, func(l *golibvirt.Libvirt) (string, error) {
		return l.NetworkGetBridgeName(net)
	})
	if isCode(err, golibvirt.ErrInternalError) || isCode(err, golibvirt.ErrOperationInvalid) {
		return "", nil
	}
	return name, err
}

// lookUpNetwork asks the daemon. Where there is no such network, the error
// names those that are there.
func (h *Host) lookUpNetwork(ctx context.Context, name string) (golibvirt.Network, error) {
	r := request{op: "look up network", subject: name}
	net, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.Network, error) {
		return l.NetworkLookupByName(name)
	})
	if !fault.Is(err, fault.NotFound) {
		return net, err
	}
	all, listErr := h.networkSet(ctx, 0)
	if listErr != nil {
		return net, err
	}
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = n.Name
	}
	return net, fault.New(fault.NotFound, "libvirt: "+r.op, name, "no such network on %s; there %s", h.URI(), thereAre(names))
}

// Network returns the named network. Where there is none, the fault.NotFound
// names those that are there.
func (h *Host) Network(ctx context.Context, name string) (Network, error) {
	net, err := h.lookUpNetwork(ctx, name)
	if err != nil {
		return Network{}, err
	}
	return h.describeNetwork(ctx, net)
}

func (h *Host) describeNetwork(ctx context.Context, net golibvirt.Network) (Network, error) {
	n := Network{Name: net.Name, UUID: formatUUID(net.UUID)}
	r := request{op: "read network", subject: net.Name}
	for _, ask := range []struct {
		dst *bool
		fn  func(*golibvirt.Libvirt, golibvirt.Network) (int32, error)
	}{
		{&n.Active, (*golibvirt.Libvirt).NetworkIsActive},
		{&n.Persistent, (*golibvirt.Libvirt).NetworkIsPersistent},
		{&n.Autostart, (*golibvirt.Libvirt).NetworkGetAutostart},
	} {
		v, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (int32, error) { return ask.fn(l, net) })
		if err != nil && !isTransient(err) {
			return n, err
		}
		*ask.dst = v != 0
	}
	var err error
	n.Bridge, err = h.networkBridge(ctx, net)
	return n, err
}

// NetworkXML returns the network's description. A driver that keeps only one
// gives that.
func (h *Host) NetworkXML(ctx context.Context, name string, kind XMLKind) (string, error) {
	net, err := h.lookUpNetwork(ctx, name)
	if err != nil {
		return "", err
	}
	var flags uint32
	if kind == Persistent {
		flags = uint32(golibvirt.NetworkXMLInactive)
	}
	ask := func(flags uint32) (string, error) {
		return call(ctx, h, request{op: "read XML of network", subject: name}, func(l *golibvirt.Libvirt) (string, error) {
			return l.NetworkGetXMLDesc(net, flags)
		})
	}
	xml, err := ask(flags)
	if flags != 0 && fault.Is(err, fault.Unsupported) {
		return ask(0)
	}
	return xml, err
}

// Lease is one DHCP lease of a network. MAC is lower case.
type Lease struct {
	MAC, IP, Hostname, ClientID string
	Prefix                      int
	Expires                     time.Time // zero: never
}

// Leases returns the leases that the network's DHCP server has given.
func (h *Host) Leases(ctx context.Context, network string) ([]Lease, error) {
	net, err := h.lookUpNetwork(ctx, network)
	if err != nil {
		return nil, err
	}
	r := request{op: "read leases of network", subject: network}
	list, err := call(ctx, h, r, func(l *golibvirt.Libvirt) ([]golibvirt.NetworkDhcpLease, error) {
		leases, _, err := l.NetworkGetDhcpLeases(net, nil, 1, 0)
		return leases, err
	})
	leases := make([]Lease, len(list))
	for i, l := range list {
		leases[i] = Lease{
			MAC: strings.ToLower(strings.Join(l.Mac, "")), IP: l.Ipaddr, Prefix: int(l.Prefix),
			Hostname: strings.Join(l.Hostname, ""), ClientID: strings.Join(l.Clientid, ""),
		}
		if l.Expirytime > 0 {
			leases[i].Expires = time.Unix(l.Expirytime, 0)
		}
	}
	return leases, err
}
