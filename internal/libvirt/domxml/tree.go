package domxml

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/beevik/etree"
)

// parse reads a domain definition and returns its root element.
func parse(xml string) (*etree.Document, *etree.Element, error) {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(xml); err != nil {
		return nil, nil, fmt.Errorf("domain definition: %w", err)
	}
	root := doc.Root()
	if root == nil || root.Tag != "domain" {
		return nil, nil, fmt.Errorf("domain definition: the root element is not <domain>")
	}
	return doc, root, nil
}

// child returns the first child of that tag, made if missing. Libvirt's parser
// does not mind the order of elements.
func child(e *etree.Element, tag string) *etree.Element {
	if c := e.SelectElement(tag); c != nil {
		return c
	}
	return e.CreateElement(tag)
}

// drop removes every child of that tag.
func drop(e *etree.Element, tag string) {
	for _, c := range e.SelectElements(tag) {
		e.RemoveChild(c)
	}
}

// attrs sets attributes from name, value pairs.
func attrs(e *etree.Element, pairs ...string) *etree.Element {
	for i := 0; i+1 < len(pairs); i += 2 {
		e.CreateAttr(pairs[i], pairs[i+1])
	}
	return e
}

// attrOf returns an attribute of the first child of that tag, or "".
func attrOf(e *etree.Element, tag, attr string) string {
	if c := e.SelectElement(tag); c != nil {
		return c.SelectAttrValue(attr, "")
	}
	return ""
}

// textOf returns the text of the first child of that tag, or "".
func textOf(e *etree.Element, tag string) string {
	if c := e.SelectElement(tag); c != nil {
		return c.Text()
	}
	return ""
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// kibOf returns a memory element in KiB; libvirt's default unit is KiB.
func kibOf(e *etree.Element) int64 {
	if e == nil {
		return 0
	}
	n, err := strconv.ParseInt(e.Text(), 10, 64)
	if err != nil {
		return 0
	}
	switch e.SelectAttrValue("unit", "KiB") {
	case "b", "bytes":
		return n / 1024
	case "KB":
		return n * 1000 / 1024
	case "MiB", "M":
		return n * 1024
	case "MB":
		return n * 1000 * 1000 / 1024
	case "GiB", "G":
		return n * 1024 * 1024
	case "GB":
		return n * 1000 * 1000 * 1000 / 1024
	default:
		return n
	}
}

// text writes a document as libvirt does, with single quotes.
func text(doc *etree.Document) string {
	doc.WriteSettings.AttrSingleQuote = true
	var b strings.Builder
	_, _ = doc.WriteTo(&b) // a builder takes everything
	return b.String()
}

// elementText writes a copy of one element.
func elementText(e *etree.Element) string {
	doc := etree.NewDocument()
	doc.AddChild(e.Copy())
	return text(doc)
}
