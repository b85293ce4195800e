package domxml

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/beevik/etree"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// Definition is what a domain's XML says.
type Definition struct {
	Spec                  // what is ours, in the order of the definition
	Mark      *owner.Mark // nil: no mark
	Unmanaged []string    // what others put there, one label each, sorted
	Targets   []string    // device names of all disks, whoever put them there
}

// Read returns what a definition says. The owner mark decides which NICs and
// disks are ours; without one, known does; where known is empty too, every NIC
// and disk that we could declare is ours, NICs named nic0, nic1, ... and disks
// after their targets.
func Read(xml string, known Names) (Definition, error) {
	_, root, err := parse(xml)
	if err != nil {
		return Definition{}, err
	}
	d := Definition{Mark: findMark(root)}
	if d.Mark != nil {
		known = namesOf(d.Mark)
	}
	known = known.drifted(root)
	d.Name = textOf(root, "name")
	d.UUID = strings.ToLower(textOf(root, "uuid"))
	d.Type = root.SelectAttrValue("type", "")
	d.MemoryMiB = kibOf(root.SelectElement("memory")) / 1024
	d.VCPUs = vcpusOf(root)
	d.CPU = readCPU(root)
	d.Firmware = readFirmware(root)
	if osEl := root.SelectElement("os"); osEl != nil {
		d.Arch = attrOf(osEl, "type", "arch")
		d.Boot = Boot{Kernel: textOf(osEl, "kernel"), Initrd: textOf(osEl, "initrd"), Cmdline: textOf(osEl, "cmdline")}
	}
	d.Boot.Order = readOrder(root)
	if dev := root.SelectElement("devices"); dev != nil {
		d.readDevices(dev, known)
	}
	d.Capture = readCapture(root)
	d.Unmanaged = append(d.Unmanaged, foreignMetadata(root)...)
	slices.Sort(d.Unmanaged)
	return d, nil
}

// namesOf returns the names that a mark gives. NICs and disks that it does not
// list belong to others.
func namesOf(m *owner.Mark) Names {
	n := Names{NIC: map[string]string{}, Disk: map[string]string{}}
	for _, nic := range m.NICs {
		n.NIC[nic.MAC] = nic.Name
		n.Order = append(n.Order, nic.Name)
	}
	for _, d := range m.Disks {
		if d.Target != "" && !d.Doomed {
			n.Disk[d.Target] = d.Name
		}
	}
	return n
}

// drifted recognises NICs of ours whose MAC was changed by somebody: a name
// whose address is gone, where the interface in its place has an address that
// nobody declared. What it finds is the same NIC with a wrong address, not a
// new NIC.
func (n Names) drifted(root *etree.Element) Names {
	dev := root.SelectElement("devices")
	if dev == nil || len(n.Order) == 0 {
		return n
	}
	interfaces := dev.SelectElements("interface")
	present := map[string]bool{}
	for _, e := range interfaces {
		present[macOf(e)] = true
	}
	macOfName := map[string]string{}
	for mac, name := range n.NIC {
		macOfName[name] = mac
	}
	out := n
	out.NIC = maps.Clone(n.NIC)
	for i, name := range n.Order {
		if present[macOfName[name]] || i >= len(interfaces) {
			continue
		}
		if actual := macOf(interfaces[i]); out.NIC[actual] == "" {
			delete(out.NIC, macOfName[name])
			out.NIC[actual] = name
		}
	}
	return out
}

func (d *Definition) readDevices(dev *etree.Element, known Names) {
	all := known.NIC == nil && known.Disk == nil
	d.Emulator = textOf(dev, "emulator")
	d.ConsoleLog = consoleOf(dev)
	for _, e := range dev.ChildElements() {
		switch e.Tag {
		case "interface":
			n, ok := readNIC(e)
			n.BootOrder = int64(atoi(attrOf(e, "boot", "order")))
			n.Name = known.NIC[n.MAC]
			if all && ok {
				n.Name = fmt.Sprintf("nic%d", len(d.NICs))
			}
			if n.Name == "" || !ok {
				d.Unmanaged = append(d.Unmanaged, nicLabel(e, n))
				continue
			}
			d.NICs = append(d.NICs, n)
		case "disk":
			d.readDisk(e, known, all)
		default:
			if label := foreignDevice(e); label != "" {
				d.Unmanaged = append(d.Unmanaged, label)
			}
		}
	}
	d.Unmanaged = append(d.Unmanaged, surplus(dev)...)
}

func (d *Definition) readDisk(e *etree.Element, known Names, all bool) {
	d.Targets = append(d.Targets, attrOf(e, "target", "dev"))
	if isSeed(e) {
		d.Seed = diskPath(e)
		return
	}
	disk := readDisk(e)
	disk.Name = known.Disk[disk.Target]
	if all && e.SelectAttrValue("device", "disk") == "disk" && disk.Path != "" {
		disk.Name = disk.Target
	}
	if disk.Name == "" {
		d.Unmanaged = append(d.Unmanaged, strings.TrimSpace("disk "+disk.Target))
		return
	}
	d.Disks = append(d.Disks, disk)
}

func nicLabel(e *etree.Element, n NIC) string {
	where := e.SelectAttrValue("type", "")
	for _, s := range []string{n.Network, n.Bridge, attrOf(e, "source", "dev")} {
		if s != "" {
			where += " " + s
			break
		}
	}
	return "nic " + n.MAC + " (" + where + ")"
}

// foreignDevice labels a device of a kind that we never write.
func foreignDevice(e *etree.Element) string {
	switch e.Tag {
	case "hostdev", "filesystem", "redirdev", "smartcard", "sound", "vsock", "shmem", "iommu", "parallel", "graphics", "memory", "crypto", "panic":
		if t := e.SelectAttrValue("type", ""); t != "" {
			return e.Tag + " " + t
		}
		return e.Tag
	case "watchdog":
		if m := e.SelectAttrValue("model", ""); m != "itco" { // itco comes with the machine
			return "watchdog " + m
		}
	}
	return ""
}

// surplus labels devices of kinds of which we write one.
func surplus(dev *etree.Element) []string {
	var out []string
	for _, tag := range []string{"rng", "serial", "tpm"} {
		for i := 1; i < len(dev.SelectElements(tag)); i++ {
			out = append(out, tag)
		}
	}
	for _, e := range dev.SelectElements("channel") {
		if name := attrOf(e, "target", "name"); name != "org.qemu.guest_agent.0" {
			out = append(out, strings.TrimSpace("channel "+name))
		}
	}
	return out
}

// foreignMetadata labels title, description and the metadata of other tools.
func foreignMetadata(root *etree.Element) []string {
	var out []string
	for _, tag := range []string{"title", "description"} {
		if textOf(root, tag) != "" {
			out = append(out, tag)
		}
	}
	if meta := root.SelectElement("metadata"); meta != nil {
		for _, e := range meta.ChildElements() {
			if uri := e.NamespaceURI(); uri != MarkURI {
				out = append(out, "metadata "+uri)
			}
		}
	}
	return out
}

func readCPU(root *etree.Element) CPU {
	e := root.SelectElement("cpu")
	if e == nil {
		return CPU{}
	}
	return CPU{Mode: e.SelectAttrValue("mode", ""), Model: textOf(e, "model")}
}

func readFirmware(root *etree.Element) Firmware {
	var f Firmware
	osEl := root.SelectElement("os")
	if osEl == nil {
		return f
	}
	f.Machine = attrOf(osEl, "type", "machine")
	f.UEFI = osEl.SelectAttrValue("firmware", "") == "efi" || attrOf(osEl, "loader", "type") == "pflash"
	f.SecureBoot = attrOf(osEl, "loader", "secure") == "yes"
	if fw := osEl.SelectElement("firmware"); fw != nil {
		for _, feature := range fw.SelectElements("feature") {
			if feature.SelectAttrValue("name", "") == "secure-boot" {
				f.SecureBoot = feature.SelectAttrValue("enabled", "") == "yes"
			}
		}
	}
	if dev := root.SelectElement("devices"); dev != nil {
		f.TPM = dev.SelectElement("tpm") != nil
	}
	return f
}

// sameMachine reports whether a declared machine type and an actual one agree:
// libvirt resolves an alias such as "q35" to a pinned version once, at the
// first definition.
func sameMachine(declared, actual string) bool {
	switch declared {
	case actual:
		return true
	case "q35":
		return strings.HasPrefix(actual, "pc-q35-")
	case "pc":
		return strings.HasPrefix(actual, "pc-i440fx-")
	default:
		return false
	}
}

// SameMachine is sameMachine for callers that compare a declared machine type
// with a definition's. An empty declared type stands for "q35".
func SameMachine(declared, actual string) bool {
	if declared == "" {
		declared = "q35"
	}
	return sameMachine(declared, actual)
}
