package domxml

import (
	"fmt"
	"time"

	"github.com/beevik/etree"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// MarkURI is the XML namespace of the owner mark and MarkKey its prefix, as
// virDomainSetMetadata takes them.
const (
	MarkURI = "https://musterlab.dev/xmlns/owner/1"
	MarkKey = "muster"
)

// MarshalMark returns the mark as one XML element that stands for itself in a
// definition's <metadata>.
func MarshalMark(m owner.Mark) string { return elementText(markElement(m)) }

// MetadataMark returns the mark as virDomainSetMetadata takes it: that adds the
// namespace itself, and refuses an element that has it.
func MetadataMark(m owner.Mark) string {
	e := markElement(m)
	e.Space = ""
	e.RemoveAttr("xmlns:" + MarkKey)
	return elementText(e)
}

func markElement(m owner.Mark) *etree.Element {
	e := etree.NewElement(MarkKey + ":owner")
	attrs(e, "xmlns:"+MarkKey, MarkURI, "namespace", m.Namespace, "type", m.Type, "name", m.Name,
		"incarnation", m.Incarnation, "complete", yesNo(m.Complete))
	for _, n := range m.NICs {
		attrs(e.CreateElement("nic"), "name", n.Name, "mac", n.MAC)
	}
	for _, d := range m.Disks {
		c := e.CreateElement("disk")
		attrs(c, "name", d.Name, "target", d.Target, "pool", d.Pool, "volume", d.Volume, "created", yesNo(d.Created))
		if d.Doomed {
			attrs(c, "doomed", "yes")
		}
	}
	if m.Op != (owner.Operation{}) {
		attrs(e.CreateElement("operation"), "id", m.Op.ID, "step", m.Op.Step,
			"time", m.Op.Time.UTC().Format(time.RFC3339), "host", m.Op.Host)
	}
	return e
}

// UnmarshalMark reads a mark from its own element, with or without a prefix,
// as virDomainGetMetadata returns it.
func UnmarshalMark(xml string) (*owner.Mark, error) {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(xml); err != nil {
		return nil, fmt.Errorf("owner mark: %w", err)
	}
	root := doc.Root()
	if root == nil || root.Tag != "owner" {
		return nil, fmt.Errorf("owner mark: no owner element")
	}
	return readMark(root), nil
}

// findMark returns the mark in a definition's metadata, or nil.
func findMark(root *etree.Element) *owner.Mark {
	meta := root.SelectElement("metadata")
	if meta == nil {
		return nil
	}
	for _, e := range meta.ChildElements() {
		if e.Tag == "owner" && e.NamespaceURI() == MarkURI {
			return readMark(e)
		}
	}
	return nil
}

func readMark(e *etree.Element) *owner.Mark {
	m := &owner.Mark{
		Namespace:   e.SelectAttrValue("namespace", ""),
		Type:        e.SelectAttrValue("type", ""),
		Name:        e.SelectAttrValue("name", ""),
		Incarnation: e.SelectAttrValue("incarnation", ""),
		Complete:    e.SelectAttrValue("complete", "") == "yes",
	}
	for _, n := range e.SelectElements("nic") {
		m.NICs = append(m.NICs, owner.NIC{Name: n.SelectAttrValue("name", ""), MAC: n.SelectAttrValue("mac", "")})
	}
	for _, d := range e.SelectElements("disk") {
		m.Disks = append(m.Disks, owner.Disk{
			Name: d.SelectAttrValue("name", ""), Target: d.SelectAttrValue("target", ""),
			Pool: d.SelectAttrValue("pool", ""), Volume: d.SelectAttrValue("volume", ""),
			Created: d.SelectAttrValue("created", "") == "yes", Doomed: d.SelectAttrValue("doomed", "") == "yes",
		})
	}
	if op := e.SelectElement("operation"); op != nil {
		m.Op = owner.Operation{ID: op.SelectAttrValue("id", ""), Step: op.SelectAttrValue("step", ""), Host: op.SelectAttrValue("host", "")}
		if t, err := time.Parse(time.RFC3339, op.SelectAttrValue("time", "")); err == nil {
			m.Op.Time = t
		}
	}
	return m
}

// setMark replaces the mark in a definition and leaves other metadata alone.
func setMark(root *etree.Element, m owner.Mark) {
	meta := child(root, "metadata")
	for _, e := range meta.ChildElements() {
		if e.Tag == "owner" && e.NamespaceURI() == MarkURI {
			meta.RemoveChild(e)
		}
	}
	meta.AddChild(markElement(m))
}
