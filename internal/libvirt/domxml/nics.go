package domxml

import (
	"strconv"
	"strings"

	"github.com/beevik/etree"
)

// setNICs finds each declared NIC by the MAC that it had, edits what differs,
// adds what is missing and removes what is ours and no longer declared.
func setNICs(dev *etree.Element, s Spec, known Names) error {
	old := map[string]string{} // name → MAC until now
	for mac, name := range known.NIC {
		old[name] = mac
	}
	byMAC := map[string]*etree.Element{}
	for _, e := range dev.SelectElements("interface") {
		byMAC[macOf(e)] = e
	}
	declared := map[string]bool{}
	for _, n := range s.NICs {
		declared[n.Name] = true
		e := byMAC[old[n.Name]]
		if e == nil {
			e = byMAC[n.MAC]
		}
		if e == nil {
			created, err := newNIC(n)
			if err != nil {
				return err
			}
			dev.AddChild(created)
			continue
		}
		if err := editNIC(e, n); err != nil {
			return err
		}
	}
	for name, mac := range old {
		if e := byMAC[mac]; !declared[name] && e != nil {
			dev.RemoveChild(e)
		}
	}
	return nil
}

func newNIC(n NIC) (*etree.Element, error) {
	e := etree.NewElement("interface")
	attrs(e.CreateElement("mac"), "address", n.MAC)
	if err := editNIC(e, n); err != nil {
		return nil, err
	}
	return e, nil
}

func editNIC(e *etree.Element, n NIC) error {
	if macOf(e) != n.MAC {
		attrs(child(e, "mac"), "address", n.MAC)
	}
	if err := setSource(e, n); err != nil {
		return err
	}
	model := n.Model
	if model == "" {
		model = DefaultNICModel
	}
	if attrOf(e, "model", "type") != model {
		attrs(child(e, "model"), "type", model)
	}
	if mtuOf(e) != n.MTU {
		drop(e, "mtu")
		if n.MTU != 0 {
			attrs(e.CreateElement("mtu"), "size", strconv.FormatInt(n.MTU, 10))
		}
	}
	if down := attrOf(e, "link", "state") == "down"; down != n.LinkDown {
		drop(e, "link")
		if n.LinkDown {
			attrs(e.CreateElement("link"), "state", "down")
		}
	}
	return nil
}

// DefaultNICModel is the device model of a NIC that declares none.
const DefaultNICModel = "virtio"

func setSource(e *etree.Element, n NIC) error {
	kind, value := "network", n.Network
	if n.Bridge != "" {
		kind, value = "bridge", n.Bridge
	}
	if value == "" {
		return sourceNICError(n)
	}
	if e.SelectAttrValue("type", "") == kind && attrOf(e, "source", kind) == value {
		return nil
	}
	attrs(e, "type", kind)
	drop(e, "source")
	attrs(e.CreateElement("source"), kind, value)
	return nil
}

func macOf(e *etree.Element) string {
	return strings.ToLower(attrOf(e, "mac", "address"))
}

func mtuOf(e *etree.Element) int64 {
	n, err := strconv.ParseInt(attrOf(e, "mtu", "size"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// readNIC returns an interface as a NIC; ok is false for kinds that we do not
// declare (hostdev, direct, user).
func readNIC(e *etree.Element) (n NIC, ok bool) {
	n = NIC{MAC: macOf(e), Model: attrOf(e, "model", "type"), MTU: mtuOf(e), LinkDown: attrOf(e, "link", "state") == "down"}
	switch e.SelectAttrValue("type", "") {
	case "network":
		n.Network = attrOf(e, "source", "network")
	case "bridge":
		n.Bridge = attrOf(e, "source", "bridge")
	default:
		return n, false
	}
	return n, true
}
