package cloudinit

import (
	"net/netip"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

// NIC is one interface of the guest as network configuration sees it.
type NIC struct {
	Name        string // the device's id in the document
	SetName     string // what the guest shall call the interface; empty: its own choice
	MAC         string // how the guest finds it
	DHCP4       bool
	Addresses   []string // "192.0.2.5/24"; either family
	Gateway     string   // default route; needs an address of its family
	Nameservers []string
	MTU         int  // bytes; 0: the device's own
	Optional    bool // the guest's start does not wait for it
}

// device is one entry under ethernets of network configuration version 2. What
// networkd would otherwise assume is written out, because it waits for what it
// assumes: for router advertisements, for a lease, for a link-local address.
type device struct {
	Match          match         `yaml:"match"`
	SetName        string        `yaml:"set-name,omitempty"`
	DHCP4          bool          `yaml:"dhcp4"`
	DHCP6          bool          `yaml:"dhcp6"`
	DHCPIdentifier string        `yaml:"dhcp-identifier,omitempty"`
	AcceptRA       bool          `yaml:"accept-ra"`
	LinkLocal      []string      `yaml:"link-local"`
	Optional       bool          `yaml:"optional"`
	MTU            int           `yaml:"mtu,omitempty"`
	Addresses      []quotedText  `yaml:"addresses,omitempty"`
	Routes         []route       `yaml:"routes,omitempty"`
	Nameservers    *nameserverIn `yaml:"nameservers,omitempty"`
}

type match struct {
	MACAddress quotedText `yaml:"macaddress"`
}

type route struct {
	To  quotedText `yaml:"to"`
	Via quotedText `yaml:"via"`
}

type nameserverIn struct {
	Addresses []quotedText `yaml:"addresses"`
}

type quotedText string

func (q quotedText) MarshalYAML() (any, error) { return quoted(string(q)), nil }

// NetworkConfig returns a complete network configuration, version 2, for the
// NICs: every link reaches systemd-networkd's state "configured", and nothing
// behind network-online.target waits for a NIC that has neither a lease to
// expect nor an address. Such a NIC is made optional whatever it says, since
// networkd counts a link without any address as not online for ever.
func NetworkConfig(nics []NIC) (string, error) {
	ethernets := &yaml.Node{Kind: yaml.MappingNode}
	names, macs := map[string]bool{}, map[string]string{}
	for _, n := range nics {
		d, err := n.device()
		if err != nil {
			return "", err
		}
		mac := string(d.Match.MACAddress)
		if names[n.Name] {
			return "", problem("NIC %q: two NICs have this name", n.Name)
		}
		if other, taken := macs[mac]; taken {
			return "", problem("NIC %q: has the MAC address %s of NIC %q", n.Name, mac, other)
		}
		names[n.Name], macs[mac] = true, n.Name
		var body yaml.Node
		if err := body.Encode(d); err != nil {
			return "", problem("NIC %q: %s", n.Name, reason(err))
		}
		ethernets.Content = append(ethernets.Content, text(n.Name), &body)
	}
	return marshal(struct {
		Version   int        `yaml:"version"`
		Ethernets *yaml.Node `yaml:"ethernets"`
	}{2, ethernets})
}

// device checks the NIC and returns its complete entry.
func (n NIC) device() (device, error) {
	mac, err := hwaddr.ParseMAC(n.MAC)
	if err != nil {
		return device{}, problem("NIC %q: %v", n.Name, err)
	}
	if n.Name == "" {
		return device{}, problem("a NIC has no name")
	}
	d := device{
		Match: match{MACAddress: quotedText(mac.String())}, SetName: n.SetName,
		DHCP4: n.DHCP4, LinkLocal: []string{}, MTU: n.MTU,
		Optional: n.Optional || !n.DHCP4 && len(n.Addresses) == 0,
	}
	if n.DHCP4 {
		// A lease by MAC address: the default, a hash of the machine id, is
		// another one after the disk was made anew.
		d.DHCPIdentifier = "mac"
	}
	families := map[bool]bool{}
	for _, a := range n.Addresses {
		p, err := netip.ParsePrefix(a)
		if err != nil {
			return device{}, problem("NIC %q: %q is not an address with its prefix length, like 192.0.2.5/24", n.Name, a)
		}
		families[p.Addr().Is6()] = true
		d.Addresses = append(d.Addresses, quotedText(p.String()))
	}
	if families[true] {
		d.LinkLocal = []string{"ipv6"} // neighbour discovery needs one
	}
	if d.Nameservers, err = n.nameservers(); err != nil {
		return device{}, err
	}
	d.Routes, err = n.defaultRoute(families)
	return d, err
}

func (n NIC) nameservers() (*nameserverIn, error) {
	if len(n.Nameservers) == 0 {
		return nil, nil
	}
	in := &nameserverIn{}
	for _, s := range n.Nameservers {
		addr, err := netip.ParseAddr(s)
		if err != nil {
			return nil, problem("NIC %q: nameserver %q is not an IP address", n.Name, s)
		}
		in.Addresses = append(in.Addresses, quotedText(addr.String()))
	}
	return in, nil
}

// defaultRoute spells the destination as a prefix: older readers do not know
// the word "default", and gateway4 is deprecated.
func (n NIC) defaultRoute(families map[bool]bool) ([]route, error) {
	if n.Gateway == "" {
		return nil, nil
	}
	addr, err := netip.ParseAddr(n.Gateway)
	if err != nil || strings.Contains(n.Gateway, "%") {
		return nil, problem("NIC %q: gateway %q is not an IP address", n.Name, n.Gateway)
	}
	if !families[addr.Is6()] {
		return nil, problem("NIC %q: gateway %s has no address of its family on this NIC", n.Name, addr)
	}
	to := quotedText("0.0.0.0/0")
	if addr.Is6() {
		to = "::/0"
	}
	return []route{{To: to, Via: quotedText(addr.String())}}, nil
}
