package domxml

import (
	"fmt"
	"strings"

	"github.com/beevik/etree"
)

// seedSerial is how the NoCloud seed is found in a definition.
const seedSerial = "muster-seed"

// maxSerial is the longest serial number that a virtio disk shows its guest.
const maxSerial = 20

// setDisks finds each declared disk by its target, edits what differs, adds
// what is missing and removes what is ours and no longer declared.
func setDisks(dev *etree.Element, s Spec, known Names) error {
	old := map[string]string{} // name → target until now
	for target, name := range known.Disk {
		old[name] = target
	}
	declared := map[string]bool{}
	for _, d := range s.Disks {
		declared[d.Name] = true
		target := d.Target
		if target == "" {
			target = old[d.Name]
		}
		e := diskByTarget(dev, target)
		if e == nil || target == "" {
			created, err := newDisk(dev, d)
			if err != nil {
				return err
			}
			dev.AddChild(created)
			continue
		}
		editDisk(e, d)
	}
	for name, target := range old {
		if e := diskByTarget(dev, target); !declared[name] && e != nil {
			dev.RemoveChild(e)
		}
	}
	return nil
}

func newDisk(dev *etree.Element, d Disk) (*etree.Element, error) {
	bus := d.Bus
	if bus == "" {
		bus = DefaultDiskBus
	}
	target := d.Target
	if target == "" {
		var err error
		if target, err = freeTarget(dev, bus); err != nil {
			return nil, fmt.Errorf("disk %q: %w", d.Name, err)
		}
	}
	if bus == "scsi" && !hasController(dev, "scsi") {
		attrs(dev.CreateElement("controller"), "type", "scsi", "model", "virtio-scsi")
	}
	e := attrs(etree.NewElement("disk"), "type", "file", "device", "disk")
	attrs(e.CreateElement("driver"), "name", "qemu", "type", d.Format, "discard", "unmap")
	attrs(e.CreateElement("target"), "dev", target, "bus", bus)
	serial := d.Name
	if len(serial) > maxSerial {
		serial = serial[:maxSerial]
	}
	e.CreateElement("serial").SetText(serial)
	setDiskSource(e, d.Path)
	return e, nil
}

// DefaultDiskBus is the bus of a disk that declares none.
const DefaultDiskBus = "virtio"

func editDisk(e *etree.Element, d Disk) {
	if diskPath(e) != d.Path {
		setDiskSource(e, d.Path)
	}
	if d.Format != "" && attrOf(e, "driver", "type") != d.Format {
		attrs(child(e, "driver"), "type", d.Format)
	}
	if d.Bus != "" && attrOf(e, "target", "bus") != d.Bus {
		attrs(child(e, "target"), "bus", d.Bus)
		drop(e, "address") // belongs to the old bus
	}
}

func setDiskSource(e *etree.Element, path string) {
	drop(e, "source")
	kind, attr := "file", "file"
	if strings.HasPrefix(path, "/dev/") {
		kind, attr = "block", "dev"
	}
	attrs(e, "type", kind)
	attrs(e.CreateElement("source"), attr, path)
}

func diskPath(e *etree.Element) string {
	src := e.SelectElement("source")
	if src == nil {
		return ""
	}
	for _, a := range []string{"file", "dev"} {
		if v := src.SelectAttrValue(a, ""); v != "" {
			return v
		}
	}
	return ""
}

func diskByTarget(dev *etree.Element, target string) *etree.Element {
	for _, e := range dev.SelectElements("disk") {
		if attrOf(e, "target", "dev") == target {
			return e
		}
	}
	return nil
}

// freeTarget returns the first unused device name of a bus: vda to vdz for
// virtio, sda to sdz for scsi and sata, which share their names.
func freeTarget(dev *etree.Element, bus string) (string, error) {
	prefix := "sd"
	if bus == "virtio" {
		prefix = "vd"
	}
	for c := 'a'; c <= 'z'; c++ {
		if t := prefix + string(c); diskByTarget(dev, t) == nil {
			return t, nil
		}
	}
	return "", fmt.Errorf("no device name is left on bus %s: 26 disks are the limit", bus)
}

func hasController(dev *etree.Element, kind string) bool {
	for _, c := range dev.SelectElements("controller") {
		if c.SelectAttrValue("type", "") == kind {
			return true
		}
	}
	return false
}

func isSeed(e *etree.Element) bool { return textOf(e, "serial") == seedSerial }

// setSeed attaches the NoCloud seed as a read-only virtio disk: cloud kernels
// come without the driver of a SATA cdrom, and every cloud image finds a seed
// by its volume label.
func setSeed(dev *etree.Element, path string) {
	var have *etree.Element
	for _, e := range dev.SelectElements("disk") {
		if isSeed(e) {
			have = e
		}
	}
	switch {
	case path == "" && have != nil:
		dev.RemoveChild(have)
	case path == "" || have != nil && diskPath(have) == path:
	case have != nil:
		setDiskSource(have, path)
	default:
		e := attrs(etree.NewElement("disk"), "type", "file", "device", "disk")
		attrs(e.CreateElement("driver"), "name", "qemu", "type", "raw")
		attrs(e.CreateElement("target"), "dev", seedTarget(dev), "bus", "virtio")
		e.CreateElement("readonly")
		e.CreateElement("serial").SetText(seedSerial)
		setDiskSource(e, path)
		dev.AddChild(e)
	}
}

// seedTarget takes names from the end of the alphabet, so that the disks keep
// theirs whatever comes and goes.
func seedTarget(dev *etree.Element) string {
	for c := 'z'; c > 'a'; c-- {
		if t := "vd" + string(c); diskByTarget(dev, t) == nil {
			return t
		}
	}
	return "vda"
}

func readDisk(e *etree.Element) Disk {
	return Disk{
		Target: attrOf(e, "target", "dev"),
		Path:   diskPath(e),
		Format: attrOf(e, "driver", "type"),
		Bus:    attrOf(e, "target", "bus"),
	}
}

// AssignTargets gives each disk without a device name the first one of its bus
// that is neither another disk's nor in taken. The last name of the virtio bus
// stays free for the seed.
func AssignTargets(disks []Disk, taken []string) {
	used := map[string]bool{"vdz": true}
	for _, t := range taken {
		used[t] = true
	}
	for _, d := range disks {
		used[d.Target] = true
	}
	for i := range disks {
		if disks[i].Target != "" {
			continue
		}
		prefix := "sd"
		if disks[i].Bus == "" || disks[i].Bus == DefaultDiskBus {
			prefix = "vd"
		}
		for c := 'a'; c <= 'z' && disks[i].Target == ""; c++ {
			if t := prefix + string(c); !used[t] {
				disks[i].Target, used[t] = t, true
			}
		}
	}
}
