package domxml

import "github.com/beevik/etree"

// Action is what a live change does to a device.
type Action uint8

// The actions.
const (
	Attach Action = iota + 1
	Detach
	Update
)

// LiveChange is one change that a running domain may take without a power
// cycle.
type LiveChange struct {
	Field  string // `nic "lan"`
	Action Action
	XML    string // of the device
}

// LiveChanges lists what brings a running domain from its former spec nearer
// to the wanted one: NICs and disks plugged and unplugged, a NIC connected to
// another network, its link set. Where the network changes, the link is
// bounced, because the guest keeps its old lease otherwise. Fields that cannot
// change while the machine runs are left out. definition is the new persistent
// one, whose elements are plugged as they stand there.
func LiveChanges(live, definition string, have, want Spec) []LiveChange {
	dev, err := devicesOf(live)
	if err != nil {
		return nil
	}
	next, err := devicesOf(definition)
	if err != nil {
		return nil
	}
	return append(nicChanges(dev, next, have, want), diskChanges(dev, next, have, want)...)
}

func devicesOf(xml string) (*etree.Element, error) {
	_, root, err := parse(xml)
	if err != nil {
		return nil, err
	}
	return child(root, "devices"), nil
}

func nicChanges(dev, next *etree.Element, have, want Spec) []LiveChange {
	var out []LiveChange
	wanted := map[string]bool{}
	for _, n := range want.NICs {
		wanted[n.Name] = true
		field := `nic "` + n.Name + `"`
		e := findNIC(dev, n.MAC)
		if e == nil {
			if nicOf(have, n.Name) == nil { // a changed MAC waits for a power cycle
				out = append(out, plug(field, findNIC(next, n.MAC))...)
			}
			continue
		}
		out = append(out, reconnect(field, e, n)...)
	}
	for _, n := range have.NICs {
		if e := findNIC(dev, n.MAC); !wanted[n.Name] && e != nil {
			out = append(out, LiveChange{`nic "` + n.Name + `"`, Detach, elementText(e)})
		}
	}
	return out
}

func plug(field string, e *etree.Element) []LiveChange {
	if e == nil {
		return nil
	}
	c := e.Copy()
	drop(c, "boot") // its number may be another's in the running machine
	return []LiveChange{{field, Attach, elementText(c)}}
}

func reconnect(field string, e *etree.Element, n NIC) []LiveChange {
	have, ok := readNIC(e)
	moved := have.Network != n.Network || have.Bridge != n.Bridge
	if !ok || !moved && have.LinkDown == n.LinkDown {
		return nil
	}
	states := []bool{n.LinkDown}
	if moved && !n.LinkDown {
		states = []bool{true, false}
	}
	var out []LiveChange
	for _, down := range states {
		c := e.Copy()
		drop(c, "target") // the tap is libvirt's
		if moved && setSource(c, n) != nil {
			return nil
		}
		drop(c, "link")
		attrs(c.CreateElement("link"), "state", map[bool]string{true: "down", false: "up"}[down])
		out = append(out, LiveChange{field, Update, elementText(c)})
	}
	return out
}

func diskChanges(dev, next *etree.Element, have, want Spec) []LiveChange {
	var out []LiveChange
	wanted := map[string]bool{}
	for _, d := range want.Disks {
		wanted[d.Name] = true
		if diskByTarget(dev, d.Target) != nil || diskOf(have, d.Name) != nil {
			continue
		}
		out = append(out, plug(`disk "`+d.Name+`"`, diskByTarget(next, d.Target))...)
	}
	for _, d := range have.Disks {
		if e := diskByTarget(dev, d.Target); !wanted[d.Name] && e != nil && diskPath(e) == d.Path {
			out = append(out, LiveChange{`disk "` + d.Name + `"`, Detach, elementText(e)})
		}
	}
	return out
}

func nicOf(s Spec, name string) *NIC {
	for i := range s.NICs {
		if s.NICs[i].Name == name {
			return &s.NICs[i]
		}
	}
	return nil
}

func diskOf(s Spec, name string) *Disk {
	for i := range s.Disks {
		if s.Disks[i].Name == name {
			return &s.Disks[i]
		}
	}
	return nil
}

// ReadAll is Read with every disk and NIC that we could declare taken for
// ours, whatever the mark says.
func ReadAll(xml string) (Definition, error) {
	_, root, err := parse(xml)
	if err != nil {
		return Definition{}, err
	}
	dropMark(root)
	return Read(elementText(root), Names{})
}
