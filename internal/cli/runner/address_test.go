package runner

import (
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/store"
)

func TestAddresses(t *testing.T) {
	vm := func(kind, name, id string) store.Operation {
		return store.Operation{Kind: kind, Type: "muster_node_vm", Name: name, Object: id}
	}
	for _, c := range []struct {
		behaviour string
		lines     []string
		op        store.Operation
		want      string
	}{
		{"the only one", []string{"muster_node_vm.node: Creating..."}, vm("create", "lab-7", ""), "muster_node_vm.node"},
		{"none was said", nil, vm("create", "lab-7", ""), ""},
		{"coloured", []string{"\x1b[0m\x1b[1mmuster_node_vm.node: Creating...\x1b[0m\x1b[0m\r"}, vm("create", "lab-7", ""), "muster_node_vm.node"},
		{
			"by key",
			[]string{`module.lab["x.y"].muster_node_vm.node["lab-7"]: Creating...`, `module.lab["x.y"].muster_node_vm.node["lab-8"]: Creating...`},
			vm("create", "lab-8", ""), `module.lab["x.y"].muster_node_vm.node["lab-8"]`,
		},
		{"two without a difference", []string{"muster_node_vm.a[0]: Creating...", "muster_node_vm.a[1]: Creating..."}, vm("create", "lab-7", ""), ""},
		{
			"by id, in the end",
			[]string{
				"muster_node_vm.a[0]: Creating...", "muster_node_vm.a[1]: Creating...", "muster_node_vm.a[1]: Creation complete after 3s [id=u1]",
			},
			vm("create", "lab-7", "u1"), "muster_node_vm.a[1]",
		},
		{"by id", []string{"muster_node_vm.a: Modifying... [id=u1]", "muster_node_vm.b: Modifying... [id=u2]"}, vm("update", "x", "u2"), "muster_node_vm.b"},
		{"another type", []string{"muster_image.a: Creating..."}, vm("create", "a", ""), ""},
		{"another action", []string{"muster_node_vm.a: Destroying... [id=u1]"}, vm("create", "a", "u1"), ""},
		{"a restart is part of an update", []string{"muster_node_vm.a: Modifying... [id=u1]"}, vm("restart", "x", "u1"), "muster_node_vm.a"},
		{"deposed", []string{"muster_node_vm.a (deposed object 0a1b2c3d): Destroying... [id=u1]"}, vm("destroy", "x", "u1"), "muster_node_vm.a"},
		{
			"machine-readable",
			[]string{`{"@level":"info","hook":{"resource":{"addr":"muster_node_vm.a"},"action":"create"},"type":"apply_start"}`},
			vm("create", "x", ""), "muster_node_vm.a",
		},
		{"other lines", []string{"Apply complete! Resources: 1 added", "{not json", "muster_node_vm.a: Still creating... [10s elapsed]"}, vm("create", "a", ""), ""},
	} {
		var a addresses
		for _, line := range c.lines {
			a.hear(line)
		}
		if got := a.find(c.op); got != c.want {
			t.Errorf("%s: %q, want %q", c.behaviour, got, c.want)
		}
	}
}

// What one operation was given no other gets.
func TestAddresses_onceEach(t *testing.T) {
	var a addresses
	a.hear("muster_node_vm.a[0]: Creating...")
	a.hear("muster_node_vm.a[1]: Creating... ")
	a.hear("muster_node_vm.a[0]: Creation complete after 1s [id=u0]")
	first := a.find(store.Operation{Kind: "create", Type: "muster_node_vm", Object: "u0"})
	second := a.find(store.Operation{Kind: "create", Type: "muster_node_vm", Object: "u1"})
	if first != "muster_node_vm.a[0]" || second != "muster_node_vm.a[1]" {
		t.Errorf("%q and %q", first, second)
	}
}

func TestLineTracker(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a": false, "a\n": true, "a\n\x1b[0m\x1b[1m": true, "a\n\x1b[": false, "a\r\n": true, "Enter a value: ": false,
		"a\n\x1b]0;title\x07": true, "a\n\x1b]0;title\x1b\\": true, "a\n\x1b[31mred": false,
	} {
		var l lineTracker
		for i := range len(text) { // however it is cut
			l.track([]byte{text[i]})
		}
		if l.start() != want {
			t.Errorf("%q: at the start of a line is %v", text, l.start())
		}
	}
}
