package domxml

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/beevik/etree"
)

// qemuURI is the namespace of libvirt's pass-through of QEMU arguments
// (https://libvirt.org/drvqemu.html#pass-through-of-arbitrary-qemu-commands).
const qemuURI = "http://libvirt.org/schemas/domain/qemu/1.0"

// captureID begins the id of every filter-dump object of ours.
const captureID = "muster-capture-"

// setCapture writes one filter-dump object per tap. A NIC is named to QEMU by
// an alias of its own, because the aliases that libvirt gives by position
// change when a NIC comes or goes.
func setCapture(root *etree.Element, s Spec) {
	if sameTaps(readCapture(root), s.Capture) {
		return
	}
	cmd := commandline(root, len(s.Capture) > 0)
	if cmd == nil {
		return
	}
	removeTaps(cmd)
	dev := child(root, "devices")
	for _, t := range s.Capture {
		for _, n := range s.NICs {
			if e := findNIC(dev, n.MAC); n.Name == t.NIC && e != nil {
				addTap(cmd, "host"+userAlias(e, n.Name), t)
			}
		}
	}
	if len(cmd.ChildElements()) == 0 {
		root.RemoveChild(cmd)
	}
}

// SetCapture changes only the capture of a definition, to what the spec says.
func SetCapture(xml string, s Spec) (string, error) {
	doc, root, err := parse(xml)
	if err != nil {
		return "", err
	}
	setCapture(root, s)
	return text(doc), nil
}

func addTap(cmd *etree.Element, netdev string, t Tap) {
	attrs(cmd.CreateElement("qemu:arg"), "value", "-object")
	attrs(cmd.CreateElement("qemu:arg"), "value", FilterDump(t, netdev))
}

// FilterDump returns the QEMU object of one tap, as the -object option takes
// it. The length limit is per packet, in bytes.
func FilterDump(t Tap, netdev string) string {
	return fmt.Sprintf("filter-dump,id=%s,netdev=%s,file=%s,maxlen=65535", CaptureObject(t.NIC), netdev, strings.ReplaceAll(t.File, ",", ",,"))
}

// CaptureObject returns the QEMU id of the filter-dump object of a NIC.
func CaptureObject(nic string) string { return captureID + nic }

// CapturedNIC returns the NIC of a QEMU object of ours.
func CapturedNIC(object string) (string, bool) { return strings.CutPrefix(object, captureID) }

// userAlias returns the NIC's alias in the definition, given if missing.
// Libvirt keeps aliases that begin with "ua-".
func userAlias(e *etree.Element, name string) string {
	if a := attrOf(e, "alias", "name"); strings.HasPrefix(a, "ua-") {
		return a
	}
	alias := "ua-" + name
	attrs(child(e, "alias"), "name", alias)
	return alias
}

// commandline returns the pass-through element, made when asked for.
func commandline(root *etree.Element, create bool) *etree.Element {
	for _, e := range root.ChildElements() {
		if e.Tag == "commandline" && e.NamespaceURI() == qemuURI {
			return e
		}
	}
	if !create {
		return nil
	}
	attrs(root, "xmlns:qemu", qemuURI)
	return root.CreateElement("qemu:commandline")
}

// removeTaps removes our objects, each with the -object before it.
func removeTaps(cmd *etree.Element) {
	args := cmd.SelectElements("arg")
	for i, a := range args {
		if i > 0 && strings.HasPrefix(a.SelectAttrValue("value", ""), "filter-dump,id="+captureID) {
			cmd.RemoveChild(args[i-1])
			cmd.RemoveChild(a)
		}
	}
}

func readCapture(root *etree.Element) []Tap {
	cmd := commandline(root, false)
	if cmd == nil {
		return nil
	}
	var out []Tap
	for _, a := range cmd.SelectElements("arg") {
		rest, ok := strings.CutPrefix(a.SelectAttrValue("value", ""), "filter-dump,id="+captureID)
		if !ok {
			continue
		}
		nic, opts, _ := strings.Cut(rest, ",")
		_, file, _ := strings.Cut(opts, "file=")
		file, _, _ = strings.Cut(file, ",maxlen=")
		out = append(out, Tap{NIC: nic, File: strings.ReplaceAll(file, ",,", ",")})
	}
	return out
}

func sameTaps(a, b []Tap) bool {
	return maps.Equal(tapSet(a), tapSet(b))
}

func tapSet(taps []Tap) map[Tap]bool {
	out := map[Tap]bool{}
	for _, t := range taps {
		out[t] = true
	}
	return out
}

// sameTapped compares which NICs are captured, whatever the file: every start
// has one of its own.
func sameTapped(a, b []Tap) bool {
	return maps.Equal(tapSet(withoutFiles(a)), tapSet(withoutFiles(b)))
}

func withoutFiles(taps []Tap) []Tap {
	out := make([]Tap, len(taps))
	for i, t := range taps {
		out[i] = Tap{NIC: t.NIC}
	}
	return out
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// CaptureTrial returns a machine that is good for one thing: to find out
// whether QEMU can open a capture file. It has no disk and no network.
func CaptureTrial(name, domainType, file string) string {
	doc := etree.NewDocument()
	root := attrs(doc.CreateElement("domain"), "type", domainType, "xmlns:qemu", qemuURI)
	root.CreateElement("name").SetText(name)
	attrs(root.CreateElement("memory"), "unit", "MiB").SetText("16")
	root.CreateElement("vcpu").SetText("1")
	osEl := root.CreateElement("os")
	osEl.CreateElement("type").SetText("hvm")
	dev := root.CreateElement("devices")
	attrs(dev.CreateElement("memballoon"), "model", "none")
	cmd := root.CreateElement("qemu:commandline")
	for _, arg := range []string{"-netdev", "hubport,id=muster-trial,hubid=0", "-object", FilterDump(Tap{NIC: "trial", File: file}, "muster-trial")} {
		attrs(cmd.CreateElement("qemu:arg"), "value", arg)
	}
	return text(doc)
}
