package domxml

import (
	"strconv"

	"github.com/beevik/etree"
)

// spareRootPorts is how many PCIe root ports a q35 machine gets beyond what
// its devices take, so that NICs and disks can be added while it runs. Libvirt
// makes no more ports than it has devices for.
const spareRootPorts = 3

// New returns the definition of a new domain. It fails only on a Spec that no
// XML can express.
func New(s Spec) (string, error) {
	doc := etree.NewDocument()
	root := doc.CreateElement("domain")
	attrs(root, "type", s.Type)
	root.CreateElement("name").SetText(s.Name)
	root.CreateElement("uuid").SetText(s.UUID)
	attrs(root.CreateElement("memory"), "unit", "MiB").SetText(strconv.FormatInt(s.MemoryMiB, 10))
	root.CreateElement("vcpu").SetText(strconv.FormatInt(s.VCPUs, 10))
	newOS(root, s)
	features := root.CreateElement("features")
	features.CreateElement("acpi")
	features.CreateElement("apic")
	attrs(root.CreateElement("clock"), "offset", "utc")
	root.CreateElement("on_poweroff").SetText("destroy")
	root.CreateElement("on_reboot").SetText("restart")
	root.CreateElement("on_crash").SetText("destroy")
	newDevices(root, s)
	if err := apply(root, s, Names{}); err != nil {
		return "", err
	}
	return text(doc), nil
}

func newOS(root *etree.Element, s Spec) {
	osEl := root.CreateElement("os")
	typ := osEl.CreateElement("type")
	if s.Arch != "" {
		attrs(typ, "arch", s.Arch)
	}
	if m := machineOf(s.Firmware); s.Type != "test" {
		attrs(typ, "machine", m)
	}
	typ.SetText("hvm")
}

func machineOf(f Firmware) string {
	if f.Machine == "" {
		return "q35"
	}
	return f.Machine
}

func newDevices(root *etree.Element, s Spec) {
	dev := root.CreateElement("devices")
	if s.Emulator != "" && s.Type != "test" {
		dev.CreateElement("emulator").SetText(s.Emulator)
	}
	if s.Type == "test" { // the test driver knows few devices
		return
	}
	attrs(dev.CreateElement("controller"), "type", "usb", "model", "qemu-xhci")
	if sameMachine("q35", machineOf(s.Firmware)) {
		attrs(dev.CreateElement("controller"), "type", "pci", "index", "0", "model", "pcie-root")
		for range pciDevices(s) + spareRootPorts {
			attrs(dev.CreateElement("controller"), "type", "pci", "model", "pcie-root-port")
		}
	}
	agent := attrs(dev.CreateElement("channel"), "type", "unix")
	attrs(agent.CreateElement("target"), "type", "virtio", "name", "org.qemu.guest_agent.0")
	rng := attrs(dev.CreateElement("rng"), "model", "virtio")
	attrs(rng.CreateElement("backend"), "model", "random").SetText("/dev/urandom")
	balloon := attrs(dev.CreateElement("memballoon"), "model", "virtio")
	attrs(balloon.CreateElement("stats"), "period", "10")
}

// pciDevices counts the devices that take a root port each: USB controller,
// virtio-serial, balloon and random numbers besides the declared ones.
func pciDevices(s Spec) int {
	n := 4 + len(s.NICs)
	if s.Seed != "" {
		n++
	}
	scsi := 0
	for _, d := range s.Disks {
		switch d.Bus {
		case "", DefaultDiskBus:
			n++
		case "scsi":
			scsi = 1
		}
	}
	return n + scsi
}
