package netxml

import (
	"net/netip"
	"slices"
	"strings"
)

// The modes: how a network reaches the world.
const (
	ModeNAT      = "nat"
	ModeRoute    = "route"
	ModeOpen     = "open"     // routed, and libvirt sets no firewall rules
	ModeIsolated = "isolated" // no <forward> element
	ModeBridge   = "bridge"   // guests go straight on a bridge of the host
)

// Spec is what is managed of a network definition.
type Spec struct {
	Name, UUID string
	Mode       string
	Bridge     string       // name of the bridge device; "": libvirt chooses
	MAC        string       // of that bridge; "": kept, or chosen by libvirt
	MTU        int          // 0: libvirt's default
	Domain     string       // DNS domain; "": none
	Address    netip.Prefix // the host's own IPv4 address and the subnet; zero: none
	DHCP       *DHCP        // nil: no DHCP
	BootP      *BootP       // nil: no network boot by libvirt
	DNS        DNS
}

// DHCP is what the network's DHCP server gives.
type DHCP struct {
	Ranges []Range
	Hosts  []Host
	NoPing bool // offer an address without probing it for three seconds first
}

// Range is a span of addresses, both ends included.
type Range struct{ Start, End string }

// Host is a fixed address for a MAC or, without one, a name.
type Host struct {
	MAC  string // lower case
	Name string
	IP   string
}

// Key is the host's identity in libvirt.
func (h Host) Key() string {
	if h.MAC != "" {
		return h.MAC
	}
	return "name " + h.Name
}

// BootP is where guests that boot from the network find their loader.
type BootP struct{ Server, File string }

// DNS is what the network's DNS server answers.
type DNS struct {
	Enabled    bool
	Hosts      []DNSHost
	Forwarders []Forwarder
}

// DNSHost gives names to an address.
type DNSHost struct {
	IP        string
	Hostnames []string
}

// Forwarder sends questions (for a domain, or all) to another server.
type Forwarder struct{ Address, Domain string }

func equalDNSHost(a, b DNSHost) bool {
	return a.IP == b.IP && slices.Equal(a.Hostnames, b.Hostnames)
}

// onForeignBridge reports whether the mode leaves addressing to others.
func (s Spec) onForeignBridge() bool { return s.Mode == ModeBridge }

// ranges and hosts of a network that may have no DHCP.
func (s Spec) ranges() []Range {
	if s.DHCP == nil {
		return nil
	}
	return s.DHCP.Ranges
}

func (s Spec) hosts() []Host {
	if s.DHCP == nil {
		return nil
	}
	return s.DHCP.Hosts
}

func hostKey(h Host) string           { return h.Key() }
func rangeKey(r Range) string         { return r.Start + "-" + r.End }
func dnsHostKey(h DNSHost) string     { return h.IP }
func forwarderKey(f Forwarder) string { return f.Address + " " + f.Domain }

// index returns the place of the element with that key, or -1.
func index[T any](all []T, key func(T) string, want string) int {
	return slices.IndexFunc(all, func(e T) bool { return key(e) == want })
}

// Unmanaged lists what a definition has beside ours: hosts that somebody else
// put there, which stay. Ranges and forwarders are managed as a whole.
func Unmanaged(have, ours Spec) []string {
	var out []string
	for _, h := range have.hosts() {
		if index(ours.hosts(), hostKey, h.Key()) < 0 {
			out = append(out, "dhcp.host "+h.Key()+" "+h.IP)
		}
	}
	for _, h := range have.DNS.Hosts {
		if index(ours.DNS.Hosts, dnsHostKey, h.IP) < 0 {
			out = append(out, "dns.host "+h.IP+" "+strings.Join(h.Hostnames, ","))
		}
	}
	return out
}

// Pending lists the fields in which the running network differs from its
// definition: what takes effect when it is restarted.
func Pending(live, persistent Spec) []string {
	var out []string
	add := func(field string, differs bool) {
		if differs {
			out = append(out, field)
		}
	}
	add("mode", live.Mode != persistent.Mode)
	add("bridge", live.Bridge != persistent.Bridge)
	add("mtu", live.MTU != persistent.MTU)
	add("domain", live.Domain != persistent.Domain)
	add("address", live.Address != persistent.Address)
	switch {
	case (live.DHCP == nil) != (persistent.DHCP == nil):
		add("dhcp", true)
	case live.DHCP != nil:
		add("dhcp.range", !sameSet(live.DHCP.Ranges, persistent.DHCP.Ranges, rangeKey, func(a, b Range) bool { return a == b }))
		add("dhcp.host", !sameSet(live.DHCP.Hosts, persistent.DHCP.Hosts, hostKey, func(a, b Host) bool { return a == b }))
		add("dhcp.ping_check", live.DHCP.NoPing != persistent.DHCP.NoPing)
	}
	add("bootp", (live.BootP == nil) != (persistent.BootP == nil) || live.BootP != nil && *live.BootP != *persistent.BootP)
	add("dns.enabled", live.DNS.Enabled != persistent.DNS.Enabled)
	add("dns.host", !sameSet(live.DNS.Hosts, persistent.DNS.Hosts, dnsHostKey, equalDNSHost))
	add("dns.forwarder", !sameSet(live.DNS.Forwarders, persistent.DNS.Forwarders, forwarderKey, func(a, b Forwarder) bool { return a == b }))
	return out
}

func sameSet[T any](a, b []T, key func(T) string, equal func(T, T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for _, e := range a {
		if i := index(b, key, key(e)); i < 0 || !equal(e, b[i]) {
			return false
		}
	}
	return true
}
