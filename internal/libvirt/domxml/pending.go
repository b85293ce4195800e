package domxml

import (
	"slices"
	"strings"

	"github.com/beevik/etree"
)

// Pending names the declared fields in which a running machine still differs
// from its persistent definition, and so waits for a power cycle. Both XMLs are
// of one domain; run-time values (ids, tap names, expanded CPU models, pinned
// addresses) are not differences. Each name is an argument, or a block with
// the name of its element: "memory_mib", `nic "lan"`, "console".
func Pending(live, persistent string, known Names) ([]string, error) {
	_, root, err := parse(persistent)
	if err != nil {
		return nil, err
	}
	want, err := Read(persistent, known)
	if err != nil {
		return nil, err
	}
	names := namesOfSpec(want.Spec)
	_, liveRoot, err := parse(live)
	if err != nil {
		return nil, err
	}
	if old := findMark(liveRoot); old != nil { // what was ours when the machine started
		addMissing(names, namesOf(old))
	}
	dropMark(liveRoot)
	have, err := Read(elementText(liveRoot), names)
	if err != nil {
		return nil, err
	}
	return pendingFields(have.Spec, want.Spec, managedOrder(liveRoot, have.Spec), managedOrder(root, want.Spec)), nil
}

func pendingFields(have, want Spec, haveOrder, wantOrder []string) []string {
	var out []string
	add := func(differs bool, field string) {
		if differs {
			out = append(out, field)
		}
	}
	add(have.MemoryMiB != want.MemoryMiB, "memory_mib")
	add(have.VCPUs != want.VCPUs, "vcpus")
	add(cpuDiffers(have.CPU, want.CPU), "cpu")
	add(firmwareDiffers(have.Firmware, want.Firmware), "firmware")
	add(have.Boot.Kernel != want.Boot.Kernel || have.Boot.Initrd != want.Boot.Initrd ||
		have.Boot.Cmdline != want.Boot.Cmdline || !slices.Equal(have.Boot.Order, want.Boot.Order) || !sameSequence(haveOrder, wantOrder), "boot")
	add(have.ConsoleLog != want.ConsoleLog, "console")
	add(have.Seed != want.Seed, "cloud_init")
	add(!sameTapped(have.Capture, want.Capture), "capture")
	return append(out, pendingDevices(have, want)...)
}

// sameSequence compares the order of what both have: a device that was plugged
// in has no place in the running machine's order, and needs none.
func sameSequence(have, want []string) bool {
	both := func(list, other []string) []string {
		var out []string
		for _, s := range list {
			if slices.Contains(other, s) {
				out = append(out, s)
			}
		}
		return out
	}
	return slices.Equal(both(have, want), both(want, have))
}

func pendingDevices(have, want Spec) []string {
	var out []string
	nics := map[string]NIC{}
	for _, n := range have.NICs {
		n.BootOrder = 0
		nics[n.Name] = n
	}
	for _, n := range want.NICs {
		n.BootOrder = 0
		if nics[n.Name] != n {
			out = append(out, `nic "`+n.Name+`"`)
		}
		delete(nics, n.Name)
	}
	disks := map[string]Disk{}
	for _, d := range have.Disks {
		disks[d.Name] = d
	}
	for _, d := range want.Disks {
		if disks[d.Name] != d {
			out = append(out, `disk "`+d.Name+`"`)
		}
		delete(disks, d.Name)
	}
	for name := range nics {
		out = append(out, `nic "`+name+`"`)
	}
	for name := range disks {
		out = append(out, `disk "`+name+`"`)
	}
	slices.Sort(out)
	return out
}

// addMissing adds devices whose name n does not know yet.
func addMissing(n, older Names) {
	for _, pair := range [][2]map[string]string{{n.NIC, older.NIC}, {n.Disk, older.Disk}} {
		taken := map[string]bool{}
		for _, name := range pair[0] {
			taken[name] = true
		}
		for id, name := range pair[1] {
			if !taken[name] && pair[0][id] == "" {
				pair[0][id] = name
			}
		}
	}
}

// cpuDiffers leaves out models that libvirt expands while the machine runs.
func cpuDiffers(live, want CPU) bool {
	if want.Mode == "custom" && live.Mode == "custom" {
		return live.Model != want.Model
	}
	return live.Mode != want.Mode && live.Mode != "custom"
}

func firmwareDiffers(live, want Firmware) bool {
	return live.UEFI != want.UEFI || live.TPM != want.TPM || live.Machine != want.Machine ||
		want.UEFI && live.SecureBoot != want.SecureBoot
}

// managedOrder names our devices in boot order.
func managedOrder(root *etree.Element, s Spec) []string {
	dev := root.SelectElement("devices")
	if dev == nil {
		return nil
	}
	var out []string
	for _, d := range managedBoot(root, managedElements(dev, s)) {
		id := macOf(d.el)
		if d.el.Tag == "disk" {
			id = attrOf(d.el, "target", "dev")
		}
		out = append(out, id)
	}
	return out
}

// BootSequence names the declared devices in the order in which the firmware
// tries them: "nic NAME" and "disk NAME".
func BootSequence(s Spec) []string {
	var out []string
	for _, class := range orderOf(s.Boot) {
		if class == BootDisk {
			for _, d := range s.Disks {
				out = append(out, "disk "+d.Name)
			}
			continue
		}
		for _, n := range sortedNICs(s.NICs) {
			out = append(out, "nic "+n.Name)
		}
	}
	return out
}

func namesOfSpec(s Spec) Names {
	n := Names{NIC: map[string]string{}, Disk: map[string]string{}}
	for _, nic := range s.NICs {
		n.NIC[nic.MAC] = nic.Name
	}
	for _, d := range s.Disks {
		n.Disk[d.Target] = d.Name
	}
	return n
}

func dropMark(root *etree.Element) {
	meta := root.SelectElement("metadata")
	if meta == nil {
		return
	}
	for _, e := range meta.ChildElements() {
		if strings.EqualFold(e.NamespaceURI(), MarkURI) {
			meta.RemoveChild(e)
		}
	}
}

// MACs returns the lower-case address of every interface in a definition,
// whoever put it there.
func MACs(xml string) ([]string, error) {
	_, root, err := parse(xml)
	if err != nil {
		return nil, err
	}
	var out []string
	if dev := root.SelectElement("devices"); dev != nil {
		for _, e := range dev.SelectElements("interface") {
			if m := macOf(e); m != "" {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// LiveAlias returns the alias that a running domain's NIC has, by its MAC, or
// "". QEMU's netdev is "host" followed by it.
func LiveAlias(live, mac string) (string, error) {
	_, root, err := parse(live)
	if err != nil {
		return "", err
	}
	if dev := root.SelectElement("devices"); dev != nil {
		if e := findNIC(dev, mac); e != nil {
			return attrOf(e, "alias", "name"), nil
		}
	}
	return "", nil
}
