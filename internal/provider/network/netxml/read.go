package netxml

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/beevik/etree"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// dnsmasqURI is the namespace of options that libvirt passes on to dnsmasq.
const dnsmasqURI = "http://libvirt.org/schemas/network/dnsmasq/1.0"

// noPing is dnsmasq's option not to probe an address before it offers it.
const noPing = "no-ping"

// Read returns what is managed of a definition, and its owner mark: nil when it
// has none.
func Read(xml string) (Spec, *owner.Mark, error) {
	_, root, err := parse(xml)
	if err != nil {
		return Spec{}, nil, err
	}
	s := Spec{
		Mode:   attrOf(root, "forward", "mode"),
		Bridge: attrOf(root, "bridge", "name"),
		MAC:    strings.ToLower(attrOf(root, "mac", "address")),
		Domain: attrOf(root, "domain", "name"),
	}
	if e := root.SelectElement("name"); e != nil {
		s.Name = e.Text()
	}
	if e := root.SelectElement("uuid"); e != nil {
		s.UUID = strings.ToLower(strings.TrimSpace(e.Text()))
	}
	switch {
	case root.SelectElement("forward") == nil:
		s.Mode = ModeIsolated
	case s.Mode == "":
		s.Mode = ModeNAT // libvirt's default of the attribute
	}
	if mtu := attrOf(root, "mtu", "size"); mtu != "" {
		if s.MTU, err = strconv.Atoi(mtu); err != nil {
			return Spec{}, nil, fmt.Errorf("network definition: mtu size %q is not a number", mtu)
		}
	}
	if ip := managedIP(root); ip != nil {
		s.Address = addressOf(ip)
		s.DHCP, s.BootP = readDHCP(ip)
	}
	if s.DHCP != nil {
		s.DHCP.NoPing = dnsmasqOption(root, noPing) != nil
	}
	s.DNS = readDNS(root, s.Mode)
	mark, err := readMark(root)
	return s, mark, err
}

// managedIP returns the first IPv4 <ip> element, or nil.
func managedIP(root *etree.Element) *etree.Element {
	for _, e := range root.SelectElements("ip") {
		if f := e.SelectAttrValue("family", "ipv4"); f == "ipv4" {
			return e
		}
	}
	return nil
}

func addressOf(ip *etree.Element) netip.Prefix {
	addr, err := netip.ParseAddr(ip.SelectAttrValue("address", ""))
	if err != nil {
		return netip.Prefix{}
	}
	if bits, err := strconv.Atoi(ip.SelectAttrValue("prefix", "")); err == nil {
		return netip.PrefixFrom(addr, bits)
	}
	mask, err := netip.ParseAddr(ip.SelectAttrValue("netmask", ""))
	if err != nil || !mask.Is4() {
		return netip.PrefixFrom(addr, classfulBits(addr))
	}
	bits := 0
	for _, b := range mask.As4() {
		for ; b&0x80 != 0; b <<= 1 {
			bits++
		}
	}
	return netip.PrefixFrom(addr, bits)
}

// classfulBits is what libvirt assumes without prefix and netmask.
func classfulBits(a netip.Addr) int {
	switch first := a.As4()[0]; {
	case first < 128:
		return 8
	case first < 192:
		return 16
	default:
		return 24
	}
}

func readDHCP(ip *etree.Element) (*DHCP, *BootP) {
	e := ip.SelectElement("dhcp")
	if e == nil {
		return nil, nil
	}
	d := &DHCP{Ranges: readRanges(e)}
	for _, h := range e.SelectElements("host") {
		d.Hosts = append(d.Hosts, readHost(h))
	}
	if b := e.SelectElement("bootp"); b != nil {
		return d, &BootP{Server: b.SelectAttrValue("server", ""), File: b.SelectAttrValue("file", "")}
	}
	return d, nil
}

func readRanges(dhcp *etree.Element) []Range {
	var out []Range
	for _, r := range dhcp.SelectElements("range") {
		out = append(out, Range{r.SelectAttrValue("start", ""), r.SelectAttrValue("end", "")})
	}
	return out
}

func readHost(h *etree.Element) Host {
	return Host{
		MAC:  strings.ToLower(h.SelectAttrValue("mac", "")),
		Name: h.SelectAttrValue("name", ""), IP: h.SelectAttrValue("ip", ""),
	}
}

func readDNS(root *etree.Element, mode string) DNS {
	d := DNS{Enabled: mode != ModeBridge && attrOf(root, "dns", "enable") != "no"}
	e := root.SelectElement("dns")
	if e == nil {
		return d
	}
	for _, h := range e.SelectElements("host") {
		d.Hosts = append(d.Hosts, readDNSHost(h))
	}
	d.Forwarders = readForwarders(e)
	return d
}

func readDNSHost(h *etree.Element) DNSHost {
	out := DNSHost{IP: h.SelectAttrValue("ip", "")}
	for _, n := range h.SelectElements("hostname") {
		out.Hostnames = append(out.Hostnames, strings.TrimSpace(n.Text()))
	}
	return out
}

func readForwarders(dns *etree.Element) []Forwarder {
	var out []Forwarder
	for _, f := range dns.SelectElements("forwarder") {
		out = append(out, readForwarder(f))
	}
	return out
}

func readForwarder(f *etree.Element) Forwarder {
	return Forwarder{Address: f.SelectAttrValue("addr", ""), Domain: f.SelectAttrValue("domain", "")}
}

// dnsmasqOption returns the element of an option, or nil.
func dnsmasqOption(root *etree.Element, value string) *etree.Element {
	for _, list := range root.SelectElements("options") {
		if list.NamespaceURI() != dnsmasqURI {
			continue
		}
		for _, o := range list.SelectElements("option") {
			if o.SelectAttrValue("value", "") == value {
				return o
			}
		}
	}
	return nil
}

func findMark(root *etree.Element) *etree.Element {
	if meta := root.SelectElement("metadata"); meta != nil {
		for _, e := range meta.ChildElements() {
			if e.Tag == "owner" && e.NamespaceURI() == domxml.MarkURI {
				return e
			}
		}
	}
	return nil
}

func readMark(root *etree.Element) (*owner.Mark, error) {
	e := findMark(root)
	if e == nil {
		return nil, nil
	}
	c := e.Copy()
	if e.Space != "" && c.SelectAttr("xmlns:"+e.Space) == nil {
		c.CreateAttr("xmlns:"+e.Space, domxml.MarkURI)
	}
	return domxml.UnmarshalMark(write(c))
}
