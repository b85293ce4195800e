package domxml

import (
	"fmt"
	"strconv"

	"github.com/beevik/etree"
)

// Names says which devices of a definition without an owner mark are ours: the
// NICs by lower-case MAC, the disks by target, each with its declared name. It
// is what the caller knows from its own records.
type Names struct {
	NIC   map[string]string
	Disk  map[string]string
	Order []string // of the NICs' names
}

// Edit changes an existing persistent definition into one that fulfils the
// spec, and returns it. Only what is declared and differs is touched. Devices
// that the mark (or known, where there is no mark) calls ours and the spec no
// longer has are removed. UUID and name stay.
func Edit(xml string, s Spec, known Names) (string, error) {
	doc, root, err := parse(xml)
	if err != nil {
		return "", err
	}
	if mark := findMark(root); mark != nil {
		known = namesOf(mark)
	}
	known = known.drifted(root)
	if err := apply(root, s, known); err != nil {
		return "", err
	}
	return text(doc), nil
}

// apply writes every managed field that differs.
func apply(root *etree.Element, s Spec, known Names) error {
	setMemory(root, s.MemoryMiB)
	setVCPUs(root, s.VCPUs)
	if typ := root.SelectAttrValue("type", ""); typ != "test" {
		setCPU(root, s.CPU, typ)
	}
	setFirmware(root, s.Firmware)
	setKernel(root, s.Boot)
	dev := child(root, "devices")
	setConsole(dev, s.ConsoleLog)
	setTPM(dev, s.Firmware.TPM)
	if err := setDisks(dev, s, known); err != nil {
		return err
	}
	if err := setNICs(dev, s, known); err != nil {
		return err
	}
	setSeed(dev, s.Seed)
	setBootOrder(root, s)
	setCapture(root, s)
	setMark(root, s.Mark)
	return nil
}

func setMemory(root *etree.Element, mib int64) {
	mem := child(root, "memory")
	if kibOf(mem) == mib*1024 {
		return
	}
	attrs(mem, "unit", "MiB").SetText(strconv.FormatInt(mib, 10))
	drop(root, "currentMemory")
}

func setVCPUs(root *etree.Element, n int64) {
	e := child(root, "vcpu")
	if vcpusOf(root) == n {
		return
	}
	e.RemoveAttr("current")
	e.SetText(strconv.FormatInt(n, 10))
	drop(root, "vcpus")
}

func vcpusOf(root *etree.Element) int64 {
	e := root.SelectElement("vcpu")
	if e == nil {
		return 0
	}
	n, err := strconv.ParseInt(e.SelectAttrValue("current", e.Text()), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// setCPU replaces mode and model and leaves topology, features and NUMA cells.
func setCPU(root *etree.Element, c CPU, domainType string) {
	if c == (CPU{}) {
		c = DefaultCPU(domainType)
	}
	if readCPU(root) == c {
		return
	}
	e := child(root, "cpu")
	attrs(e, "mode", c.Mode)
	for _, a := range []string{"match", "check", "migratable"} {
		e.RemoveAttr(a)
	}
	drop(e, "model")
	drop(e, "feature")
	if c.Model != "" {
		attrs(e, "match", "exact", "check", "partial")
		attrs(e.CreateElement("model"), "fallback", "forbid").SetText(c.Model)
	}
}

func setFirmware(root *etree.Element, f Firmware) {
	osEl := child(root, "os")
	if typ := osEl.SelectElement("type"); f.Machine != "" && typ != nil && !sameMachine(f.Machine, typ.SelectAttrValue("machine", "")) {
		attrs(typ, "machine", f.Machine)
	}
	have := readFirmware(root)
	if have.UEFI == f.UEFI && have.SecureBoot == f.SecureBoot {
		return
	}
	for _, tag := range []string{"firmware", "loader", "nvram"} {
		drop(osEl, tag)
	}
	if !f.UEFI {
		osEl.RemoveAttr("firmware")
		return
	}
	attrs(osEl, "firmware", "efi")
	fw := osEl.CreateElement("firmware")
	for _, feature := range []string{"secure-boot", "enrolled-keys"} {
		attrs(fw.CreateElement("feature"), "enabled", yesNo(f.SecureBoot), "name", feature)
	}
	if f.SecureBoot { // the variable store is protected by system management mode
		attrs(child(child(root, "features"), "smm"), "state", "on")
	}
}

// setKernel writes direct kernel boot. The qemu driver wants the elements
// absent rather than empty.
func setKernel(root *etree.Element, b Boot) {
	osEl := child(root, "os")
	for tag, v := range map[string]string{"kernel": b.Kernel, "initrd": b.Initrd, "cmdline": b.Cmdline} {
		switch {
		case v == "":
			drop(osEl, tag)
		case textOf(osEl, tag) != v:
			child(osEl, tag).SetText(v)
		}
	}
}

// setConsole gives the first serial port a log kept by virtlogd, or takes
// console and serial port away. Libvirt mirrors the port in a <console>
// element, which has to say the same.
func setConsole(dev *etree.Element, log string) {
	if consoleOf(dev) == log {
		return
	}
	if log == "" {
		drop(dev, "console")
		drop(dev, "serial")
		return
	}
	serial := dev.SelectElement("serial")
	if serial == nil {
		serial = attrs(dev.CreateElement("serial"), "type", "pty")
	}
	drop(dev, "console")
	attrs(child(serial, "log"), "file", log, "append", "on")
}

func consoleOf(dev *etree.Element) string {
	if serial := dev.SelectElement("serial"); serial != nil {
		return attrOf(serial, "log", "file")
	}
	return ""
}

func setTPM(dev *etree.Element, want bool) {
	have := dev.SelectElement("tpm") != nil
	switch {
	case want && !have:
		tpm := attrs(dev.CreateElement("tpm"), "model", "tpm-crb")
		attrs(tpm.CreateElement("backend"), "type", "emulator", "version", "2.0")
	case !want && have:
		drop(dev, "tpm")
	}
}

func sourceNICError(n NIC) error {
	return fmt.Errorf("nic %q has neither a network nor a bridge", n.Name)
}
