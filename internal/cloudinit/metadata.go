package cloudinit

import (
	"go.yaml.in/yaml/v3"
)

// CheckMetaData reports whether text can be a NoCloud meta-data document: a
// YAML mapping (JSON is one), or nothing.
func CheckMetaData(text string) error {
	return checkYAML(text, "meta-data", yaml.MappingNode)
}

// metaData returns the meta-data document of the seed: what the seed says of
// the instance, and the caller's own keys, which win.
func metaData(s Seed) (string, error) {
	if err := CheckMetaData(s.MetaData); err != nil {
		return "", err
	}
	doc, err := parse(s.MetaData)
	if err != nil {
		return "", err
	}
	if doc == nil {
		doc = &yaml.Node{Kind: yaml.MappingNode}
	}
	own := []struct{ key, value string }{{"instance-id", s.InstanceID}, {"local-hostname", s.Hostname}}
	var head []*yaml.Node
	for _, o := range own {
		if o.value != "" && value(doc, o.key) == nil {
			head = append(head, text(o.key), quoted(o.value))
		}
	}
	doc.Content = append(head, doc.Content...)
	return marshal(doc)
}
