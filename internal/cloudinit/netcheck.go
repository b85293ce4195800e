package cloudinit

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// deviceKinds are the sections of version 2, cloud-init's and netplan's.
var deviceKinds = []string{
	"ethernets", "bonds", "bridges", "vlans", "wifis", "modems", "tunnels", "vrfs",
	"dummy-devices", "virtual-ethernets", "nm-devices", "openvswitch",
}

// sexagesimal is what YAML 1.1, which cloud-init speaks, reads as a number to
// the base of 60: an unquoted MAC address without letters among them.
var sexagesimal = regexp.MustCompile(`^[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+$`)

// CheckNetworkConfig reports whether text can be a network configuration of
// version 1 or 2, with or without the outer key "network".
func CheckNetworkConfig(text string) error {
	doc, err := parse(text)
	if err != nil || doc == nil {
		return err
	}
	config, err := networkRoot(doc)
	if err != nil {
		return err
	}
	v := value(config, "version")
	switch {
	case v == nil:
		return problemAt(config, "network configuration has no version; add \"version: 2\"")
	case v.Value == "1" && v.Kind == yaml.ScalarNode:
		return checkVersion1(config)
	case v.Value == "2" && v.Kind == yaml.ScalarNode:
		return checkVersion2(config)
	}
	return problemAt(v, "the version of network configuration is 1 or 2")
}

// networkRoot returns the mapping that holds the version.
func networkRoot(doc *yaml.Node) (*yaml.Node, error) {
	if doc.Kind != yaml.MappingNode {
		return nil, problemAt(doc, "network configuration is a mapping, not %s", kindName(doc))
	}
	inner := value(doc, "network")
	if inner == nil {
		return doc, nil
	}
	if inner.Kind != yaml.MappingNode {
		return nil, problemAt(inner, "\"network\" is a mapping, not %s", kindName(inner))
	}
	return inner, nil
}

func checkVersion1(config *yaml.Node) error {
	list := value(config, "config")
	switch {
	case list == nil:
		return problemAt(config, "version 1 has its devices in the list \"config\", which is not there")
	case list.Kind == yaml.ScalarNode && list.Value == "disabled":
		return nil
	case list.Kind != yaml.SequenceNode:
		return problemAt(list, "\"config\" is a list, not %s", kindName(list))
	}
	for _, item := range list.Content {
		item = resolved(item)
		if item.Kind != yaml.MappingNode || value(item, "type") == nil {
			return problemAt(item, "each entry of \"config\" is a mapping with a \"type\"")
		}
		if err := checkMAC(value(item, "mac_address")); err != nil {
			return err
		}
		if err := checkNumber(value(item, "mtu"), "mtu"); err != nil {
			return err
		}
	}
	return nil
}

func checkVersion2(config *yaml.Node) error {
	for i := 0; i+1 < len(config.Content); i += 2 {
		key, section := config.Content[i], resolved(config.Content[i+1])
		if key.Value == "version" || key.Value == "renderer" {
			continue
		}
		if !slices.Contains(deviceKinds, key.Value) {
			return problemAt(key, "%q is no section of version 2; the sections are %s", key.Value, strings.Join(deviceKinds, ", "))
		}
		if section.Kind != yaml.MappingNode {
			return problemAt(section, "%q is a mapping of devices, not %s", key.Value, kindName(section))
		}
		if key.Value == "openvswitch" {
			continue
		}
		if err := checkDevices(section); err != nil {
			return err
		}
	}
	return nil
}

func checkDevices(section *yaml.Node) error {
	for i := 0; i+1 < len(section.Content); i += 2 {
		d := resolved(section.Content[i+1])
		if d.Kind != yaml.MappingNode {
			return problemAt(d, "a device is a mapping, not %s", kindName(d))
		}
		if err := checkDevice(d); err != nil {
			return err
		}
	}
	return nil
}

func checkDevice(d *yaml.Node) error {
	if m := value(d, "match"); m != nil {
		if m.Kind != yaml.MappingNode {
			return problemAt(m, "\"match\" is a mapping, not %s", kindName(m))
		}
		if err := checkMAC(value(m, "macaddress")); err != nil {
			return err
		}
	} else if n := value(d, "set-name"); n != nil {
		return problemAt(n, "\"set-name\" needs a \"match\" beside it")
	}
	for _, key := range []string{"dhcp4", "dhcp6", "accept-ra", "optional"} {
		if v := value(d, key); v != nil && !isBool(v) {
			return problemAt(v, "%q is true or false", key)
		}
	}
	if err := checkMAC(value(d, "macaddress")); err != nil {
		return err
	}
	if err := checkNumber(value(d, "mtu"), "mtu"); err != nil {
		return err
	}
	return checkAddresses(value(d, "addresses"))
}

func checkAddresses(list *yaml.Node) error {
	if list == nil {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return problemAt(list, "\"addresses\" is a list, not %s", kindName(list))
	}
	for _, a := range list.Content {
		if _, err := netip.ParsePrefix(addressOf(a)); err != nil {
			return problemAt(a, "an address is written with its prefix length, like 192.0.2.5/24")
		}
	}
	return nil
}

// addressOf returns the text of an entry under addresses, which may be a
// mapping of the address to its options.
func addressOf(entry *yaml.Node) string {
	entry = resolved(entry)
	if entry.Kind == yaml.MappingNode && len(entry.Content) > 0 {
		entry = entry.Content[0]
	}
	return entry.Value
}

var macPattern = regexp.MustCompile(`^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$`)

func checkMAC(n *yaml.Node) error {
	switch {
	case n == nil:
		return nil
	case n.Kind != yaml.ScalarNode || !macPattern.MatchString(n.Value):
		return problemAt(n, "a MAC address is six pairs of hexadecimal digits separated by colons")
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && sexagesimal.MatchString(n.Value):
		return problemAt(n, "this MAC address must stand in quotation marks: without them cloud-init reads it as a number to the base of 60")
	}
	return nil
}

func checkNumber(n *yaml.Node, key string) error {
	if n == nil {
		return nil
	}
	if v, err := strconv.Atoi(n.Value); n.Kind != yaml.ScalarNode || err != nil || v <= 0 {
		return problemAt(n, "%q is a positive number", key)
	}
	return nil
}

// isBool knows the words of YAML 1.1.
func isBool(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	return slices.Contains([]string{"true", "false", "yes", "no", "on", "off"}, strings.ToLower(n.Value))
}

func isTrue(n *yaml.Node) bool {
	return n != nil && slices.Contains([]string{"true", "yes", "on"}, strings.ToLower(n.Value))
}
