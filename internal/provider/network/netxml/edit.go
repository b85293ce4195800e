package netxml

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/beevik/etree"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// New returns the definition of a new network.
func New(want Spec, mark owner.Mark) (string, error) {
	return Edit("<network/>", want, Spec{}, mark)
}

// Edit returns the definition xml with want and the mark written into it.
// prior is what this provider had written: hosts of it that want no longer has
// are removed, and those of others stay.
func Edit(xml string, want, prior Spec, mark owner.Mark) (string, error) {
	doc, root, err := parse(xml)
	if err != nil {
		return "", err
	}
	child(root, "name").SetText(want.Name)
	if want.UUID != "" {
		child(root, "uuid").SetText(want.UUID)
	}
	if err := setMark(root, mark); err != nil {
		return "", err
	}
	wasForeign := attrOf(root, "forward", "mode") == ModeBridge
	setForward(root, want.Mode)
	setBridge(root, want, wasForeign)
	if want.onForeignBridge() {
		for _, tag := range []string{"mac", "mtu", "domain", "dns", "ip", "route"} {
			drop(root, tag)
		}
		return doc.WriteToString()
	}
	mtu := ""
	if want.MTU > 0 {
		mtu = strconv.Itoa(want.MTU)
	}
	setChildAttr(root, "mtu", "size", mtu)
	setChildAttr(root, "domain", "name", want.Domain)
	setDNS(root, want.DNS, prior.DNS)
	setIP(root, want, prior)
	setNoPing(root, want.DHCP != nil && want.DHCP.NoPing)
	return doc.WriteToString()
}

// SetMark returns the definition with another owner mark.
func SetMark(xml string, mark owner.Mark) (string, error) {
	doc, root, err := parse(xml)
	if err != nil {
		return "", err
	}
	if err := setMark(root, mark); err != nil {
		return "", err
	}
	return doc.WriteToString()
}

func setMark(root *etree.Element, mark owner.Mark) error {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(domxml.MarshalMark(mark)); err != nil {
		return fmt.Errorf("owner mark: %w", err)
	}
	if old := findMark(root); old != nil {
		old.Parent().RemoveChild(old)
	}
	child(root, "metadata").AddChild(doc.Root())
	return nil
}

func setForward(root *etree.Element, mode string) {
	if mode == ModeIsolated {
		drop(root, "forward")
		return
	}
	f := child(root, "forward")
	f.CreateAttr("mode", mode)
	if mode != ModeNAT {
		drop(f, "nat")
	}
	if mode == ModeOpen || mode == ModeBridge {
		// Only the modes with firewall rules may name a device to leave by.
		f.RemoveAttr("dev")
		drop(f, "interface")
	}
}

// setBridge names the bridge. A name that is left open stays, unless it was
// that of a bridge of the host's own and libvirt has to make one now.
func setBridge(root *etree.Element, want Spec, wasForeign bool) {
	b := child(root, "bridge")
	switch {
	case want.Bridge != "":
		b.CreateAttr("name", want.Bridge)
	case wasForeign && !want.onForeignBridge():
		b.RemoveAttr("name")
	}
	if want.onForeignBridge() {
		b.RemoveAttr("stp")
		b.RemoveAttr("delay")
		return
	}
	if want.MAC != "" {
		child(root, "mac").CreateAttr("address", want.MAC)
	}
	if len(b.Attr) == 0 {
		root.RemoveChild(b)
	}
}

func setIP(root *etree.Element, want, prior Spec) {
	ip := managedIP(root)
	if !want.Address.IsValid() {
		if ip != nil {
			root.RemoveChild(ip)
		}
		return
	}
	if ip == nil {
		ip = root.CreateElement("ip")
	}
	if addressOf(ip) != want.Address {
		ip.CreateAttr("address", want.Address.Addr().String())
		ip.RemoveAttr("netmask")
		ip.CreateAttr("prefix", strconv.Itoa(want.Address.Bits()))
	}
	if want.DHCP == nil {
		drop(ip, "dhcp")
		return
	}
	d := child(ip, "dhcp")
	setEntries(d, "range", want.ranges(), readRanges(d), rangeKey, rangeElement,
		func(e *etree.Element) string {
			return e.SelectAttrValue("start", "") + "-" + e.SelectAttrValue("end", "")
		})
	setEntries(d, "host", want.hosts(), prior.hosts(), hostKey, hostElement,
		func(e *etree.Element) string { return readHost(e).Key() })
	setBootP(d, want.BootP)
}

func setBootP(d *etree.Element, want *BootP) {
	if want == nil {
		drop(d, "bootp")
		return
	}
	b := child(d, "bootp")
	b.CreateAttr("file", want.File)
	setAttr(b, "server", want.Server)
}

func setDNS(root *etree.Element, want, prior DNS) {
	if !want.Enabled {
		// Libvirt refuses anything else in a DNS that is off.
		drop(root, "dns")
		root.CreateElement("dns").CreateAttr("enable", "no")
		return
	}
	d := child(root, "dns")
	d.RemoveAttr("enable")
	setEntries(d, "forwarder", want.Forwarders, readForwarders(d), forwarderKey, forwarderElement,
		func(e *etree.Element) string { return forwarderKey(readForwarder(e)) })
	setEntries(d, "host", want.Hosts, prior.Hosts, dnsHostKey, dnsHostElement,
		func(e *etree.Element) string { return readDNSHost(e).IP })
	dropEmpty(root, "dns")
}

// setEntries makes the children of that tag hold what is wanted: an element
// with the same key is rewritten in its place, one that prior had and want has
// not is removed, and others stay.
func setEntries[T any](parent *etree.Element, tag string, want, prior []T, key func(T) string, fill func(*etree.Element, T), keyOf func(*etree.Element) string) {
	have := map[string]*etree.Element{}
	for _, e := range parent.SelectElements(tag) {
		have[keyOf(e)] = e
	}
	for _, p := range prior {
		if e, ok := have[key(p)]; ok && index(want, key, key(p)) < 0 {
			parent.RemoveChild(e)
		}
	}
	for _, w := range want {
		e, ok := have[key(w)]
		if !ok {
			e = parent.CreateElement(tag)
		}
		fill(e, w)
	}
}

func rangeElement(e *etree.Element, r Range) {
	e.CreateAttr("start", r.Start)
	e.CreateAttr("end", r.End)
}

func hostElement(e *etree.Element, h Host) {
	if !strings.EqualFold(e.SelectAttrValue("mac", ""), h.MAC) {
		setAttr(e, "mac", h.MAC)
	}
	setAttr(e, "name", h.Name)
	setAttr(e, "ip", h.IP)
}

func forwarderElement(e *etree.Element, f Forwarder) {
	setAttr(e, "domain", f.Domain)
	setAttr(e, "addr", f.Address)
}

func dnsHostElement(e *etree.Element, h DNSHost) {
	e.CreateAttr("ip", h.IP)
	if equalDNSHost(readDNSHost(e), h) {
		return
	}
	drop(e, "hostname")
	for _, n := range h.Hostnames {
		e.CreateElement("hostname").SetText(n)
	}
}

func setNoPing(root *etree.Element, on bool) {
	o := dnsmasqOption(root, noPing)
	switch {
	case on && o == nil:
		list := findOptions(root)
		if list == nil {
			root.CreateAttr("xmlns:dnsmasq", dnsmasqURI)
			list = root.CreateElement("dnsmasq:options")
		}
		name := "option"
		if list.Space != "" {
			name = list.Space + ":option"
		}
		list.CreateElement(name).CreateAttr("value", noPing)
	case !on && o != nil:
		list := o.Parent()
		list.RemoveChild(o)
		if len(list.ChildElements()) == 0 {
			root.RemoveChild(list)
		}
	}
}

func findOptions(root *etree.Element) *etree.Element {
	for _, e := range root.SelectElements("options") {
		if e.NamespaceURI() == dnsmasqURI {
			return e
		}
	}
	return nil
}
