package cloudinit

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kindName says what a node is, for messages.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
		return "a plain value"
	}
}

// resolved follows an alias to what it stands for.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// value returns the value of a mapping's key, or nil.
func value(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return resolved(m.Content[i+1])
		}
	}
	return nil
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func boolean(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

func number(i int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(i)}
}

// quoted is a text in quotation marks. A name or address of digits alone would
// be a number without them, a MAC address even a sexagesimal one.
func quoted(s string) *yaml.Node {
	n := text(s)
	n.Style = yaml.DoubleQuotedStyle
	return n
}

// marshal writes a node with an indent of two.
func marshal(v any) (string, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return "", problem("cannot be written as YAML: %s", reason(err))
	}
	if err := e.Close(); err != nil {
		return "", problem("cannot be written as YAML: %s", reason(err))
	}
	return b.String(), nil
}
