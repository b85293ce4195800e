package cloudinit

import (
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

// Complete returns the network configuration text with what the NICs know
// filled in: a device under ethernets of version 2 that bears the name of a
// NIC and has no "match" of its own gets the NIC's MAC address to match, its
// MTU, and every setting that would otherwise leave the link waiting. So a
// configuration can speak of the NICs by the names that they have beside it.
// What the text says is kept, every other device stays as it is, and text of
// version 1 is returned unchanged.
func Complete(text string, nics []NIC) (string, error) {
	if err := CheckNetworkConfig(text); err != nil {
		return "", err
	}
	doc, err := parse(text)
	if err != nil || doc == nil {
		return text, err
	}
	config, err := networkRoot(doc)
	if err != nil {
		return "", err
	}
	ethernets := value(config, "ethernets")
	if ethernets == nil || value(config, "version").Value != "2" {
		return text, nil
	}
	changed := false
	for _, n := range nics {
		d := value(ethernets, n.Name)
		if d == nil || value(d, "match") != nil {
			continue
		}
		if err := n.complete(d); err != nil {
			return "", err
		}
		changed = true
	}
	if !changed {
		return text, nil
	}
	return marshal(doc)
}

// complete adds to the device d what it does not say.
func (n NIC) complete(d *yaml.Node) error {
	mac, err := hwaddr.ParseMAC(n.MAC)
	if err != nil {
		return problem("NIC %q: %v", n.Name, err)
	}
	static, six := staticAddresses(d)
	auto6 := isTrue(value(d, "dhcp6")) || isTrue(value(d, "accept-ra"))
	linkLocal := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	if six || auto6 {
		linkLocal.Content = []*yaml.Node{text("ipv6")}
	}
	macNode := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("macaddress"), quoted(mac.String())}}
	add := []struct {
		key   string
		value *yaml.Node
	}{
		{"match", macNode},
		{"dhcp4", boolean(false)},
		{"dhcp6", boolean(false)},
		{"accept-ra", boolean(false)},
		{"link-local", linkLocal},
		{"optional", boolean(!static && !auto6 && !isTrue(value(d, "dhcp4")))},
	}
	for _, a := range add {
		if value(d, a.key) == nil {
			d.Content = append(d.Content, text(a.key), a.value)
		}
	}
	if n.MTU > 0 && value(d, "mtu") == nil {
		d.Content = append(d.Content, text("mtu"), number(n.MTU))
	}
	return nil
}

// staticAddresses reports whether the device has any, and whether one of them
// is IPv6.
func staticAddresses(d *yaml.Node) (some, six bool) {
	list := value(d, "addresses")
	if list == nil {
		return false, false
	}
	for _, a := range list.Content {
		p, err := netip.ParsePrefix(addressOf(a))
		some = some || err == nil
		six = six || err == nil && p.Addr().Is6()
	}
	return some, six
}
