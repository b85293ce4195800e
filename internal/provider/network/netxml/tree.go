package netxml

import (
	"errors"
	"fmt"

	"github.com/beevik/etree"
)

func parse(xml string) (*etree.Document, *etree.Element, error) {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(xml); err != nil {
		return nil, nil, fmt.Errorf("network definition: %w", err)
	}
	root := doc.Root()
	if root == nil || root.Tag != "network" {
		return nil, nil, errors.New("network definition: the root element is not <network>")
	}
	return doc, root, nil
}

// child returns the first child of that tag, made if missing.
func child(e *etree.Element, tag string) *etree.Element {
	if c := e.SelectElement(tag); c != nil {
		return c
	}
	return e.CreateElement(tag)
}

// drop removes every child of that tag.
func drop(e *etree.Element, tag string) {
	if e == nil {
		return
	}
	for _, c := range e.SelectElements(tag) {
		e.RemoveChild(c)
	}
}

// dropEmpty removes the first child of that tag if nothing is in it.
func dropEmpty(e *etree.Element, tag string) {
	if c := e.SelectElement(tag); c != nil && len(c.ChildElements()) == 0 && len(c.Attr) == 0 {
		e.RemoveChild(c)
	}
}

// attrOf returns an attribute of the first child of that tag, or "".
func attrOf(e *etree.Element, tag, attr string) string {
	if e == nil {
		return ""
	}
	if c := e.SelectElement(tag); c != nil {
		return c.SelectAttrValue(attr, "")
	}
	return ""
}

// setAttr sets an attribute, or removes it when the value is empty.
func setAttr(e *etree.Element, name, value string) {
	if value == "" {
		e.RemoveAttr(name)
		return
	}
	e.CreateAttr(name, value)
}

// setChildAttr sets an attribute of the first child of that tag; with an empty
// value the child goes.
func setChildAttr(e *etree.Element, tag, attr, value string) {
	if value == "" {
		drop(e, tag)
		return
	}
	child(e, tag).CreateAttr(attr, value)
}

func write(e *etree.Element) string {
	doc := etree.NewDocument()
	doc.AddChild(e)
	s, _ := doc.WriteToString() // a string builder does not fail
	return s
}
