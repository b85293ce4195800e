package domxml

import (
	"slices"
	"sort"
	"strconv"

	"github.com/beevik/etree"
)

// bootDevice is one declared device in the order in which the firmware tries
// them.
type bootDevice struct {
	class string
	el    *etree.Element
}

// setBootOrder writes the boot order per device, for libvirt refuses per-device
// order beside <boot dev=...>. Devices of others keep their numbers, which ours
// step over; an order that is already right is left alone.
func setBootOrder(root *etree.Element, s Spec) {
	dev := child(root, "devices")
	want := wantedBoot(dev, s)
	ours := managedElements(dev, s)
	osEl := child(root, "os")
	if osEl.SelectElement("boot") != nil {
		if slices.Equal(readOrder(root), orderOf(s.Boot)) {
			return // somebody's <boot dev=...> says the same
		}
	} else if slices.Equal(want, managedBoot(root, ours)) {
		return
	}
	drop(osEl, "boot")
	taken := map[string]bool{}
	for _, e := range bootable(dev) {
		switch {
		case ours[e]:
			drop(e, "boot")
		case e.SelectElement("boot") != nil:
			taken[attrOf(e, "boot", "order")] = true
		}
	}
	next := 1
	for _, d := range want {
		for taken[strconv.Itoa(next)] {
			next++
		}
		attrs(d.el.CreateElement("boot"), "order", strconv.Itoa(next))
		next++
	}
}

func orderOf(b Boot) []string {
	if len(b.Order) == 0 {
		return DefaultOrder
	}
	return b.Order
}

// wantedBoot lists the declared devices as the spec orders them: classes by
// Boot.Order, NICs of a class by BootOrder (those without one last), then as
// declared.
func wantedBoot(dev *etree.Element, s Spec) []bootDevice {
	var out []bootDevice
	for _, class := range orderOf(s.Boot) {
		switch class {
		case BootDisk:
			for _, d := range s.Disks {
				if e := findDisk(dev, d); e != nil {
					out = append(out, bootDevice{class, e})
				}
			}
		case BootNetwork:
			for _, n := range sortedNICs(s.NICs) {
				if e := findNIC(dev, n.MAC); e != nil {
					out = append(out, bootDevice{class, e})
				}
			}
		}
	}
	return out
}

func sortedNICs(nics []NIC) []NIC {
	out := slices.Clone(nics)
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].BootOrder, out[j].BootOrder
		return a != b && b == 0 && a != 0 || a != 0 && b != 0 && a < b
	})
	return out
}

// managedBoot lists those of our devices that have a boot number, by number.
func managedBoot(root *etree.Element, ours map[*etree.Element]bool) []bootDevice {
	var out []bootDevice
	for _, d := range bootSequence(root) {
		if ours[d.el] {
			out = append(out, d)
		}
	}
	return out
}

// bootSequence lists every bootable device with a boot number, by number.
func bootSequence(root *etree.Element) []bootDevice {
	type numbered struct {
		bootDevice
		n int
	}
	var found []numbered
	for _, e := range bootable(child(root, "devices")) {
		n, err := strconv.Atoi(attrOf(e, "boot", "order"))
		if err != nil {
			continue
		}
		class := BootDisk
		if e.Tag == "interface" {
			class = BootNetwork
		}
		found = append(found, numbered{bootDevice{class, e}, n})
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].n < found[j].n })
	out := make([]bootDevice, len(found))
	for i, f := range found {
		out[i] = f.bootDevice
	}
	return out
}

// readOrder returns the boot classes in order, from either form.
func readOrder(root *etree.Element) []string {
	var out []string
	add := func(class string) {
		if class != "" && !slices.Contains(out, class) {
			out = append(out, class)
		}
	}
	if osEl := root.SelectElement("os"); osEl != nil {
		for _, b := range osEl.SelectElements("boot") {
			add(map[string]string{"hd": BootDisk, "network": BootNetwork}[b.SelectAttrValue("dev", "")])
		}
	}
	for _, d := range bootSequence(root) {
		add(d.class)
	}
	return out
}

func bootable(dev *etree.Element) []*etree.Element {
	var out []*etree.Element
	for _, e := range dev.ChildElements() {
		switch e.Tag {
		case "disk", "interface", "hostdev", "redirdev":
			out = append(out, e)
		}
	}
	return out
}

func managedElements(dev *etree.Element, s Spec) map[*etree.Element]bool {
	out := map[*etree.Element]bool{}
	for _, d := range s.Disks {
		out[findDisk(dev, d)] = true
	}
	for _, n := range s.NICs {
		out[findNIC(dev, n.MAC)] = true
	}
	return out
}

func findNIC(dev *etree.Element, mac string) *etree.Element {
	for _, e := range dev.SelectElements("interface") {
		if macOf(e) == mac {
			return e
		}
	}
	return nil
}

func findDisk(dev *etree.Element, d Disk) *etree.Element {
	if d.Target != "" {
		return diskByTarget(dev, d.Target)
	}
	for _, e := range dev.SelectElements("disk") {
		if diskPath(e) == d.Path {
			return e
		}
	}
	return nil
}
