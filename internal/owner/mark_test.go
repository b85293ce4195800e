package owner_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

const vmType = "muster_node_vm"

func mark(namespace, name string, complete bool) *owner.Mark {
	return &owner.Mark{Namespace: namespace, Type: vmType, Name: name, Incarnation: "i1", Complete: complete}
}

func TestJudge(t *testing.T) {
	tests := []struct {
		behaviour string
		mark      *owner.Mark
		takeOver  []string
		adopt     bool
		want      owner.Verdict
	}{
		{"an unmarked object belongs to somebody else", nil, nil, false, owner.Unmarked},
		{"an unmarked object is adopted when asked", nil, nil, true, owner.Adopt},
		{"our unfinished create is continued", mark("lab", "a", false), nil, false, owner.Continue},
		{"our unfinished create is continued, adoption or not", mark("lab", "a", false), nil, true, owner.Continue},
		{"our finished object in no state is an error", mark("lab", "a", true), nil, false, owner.Finished},
		{"our finished object is adopted when asked", mark("lab", "a", true), nil, true, owner.Adopt},
		{"another namespace's object is theirs", mark("lab-b", "a", false), nil, false, owner.Other},
		{"adoption does not take from another namespace", mark("lab-b", "a", true), nil, true, owner.Other},
		{"a namespace that is taken over counts as ours", mark("lab-b", "a", false), []string{"lab-c", "lab-b"}, false, owner.Continue},
		{"a taken over finished object needs adoption", mark("lab-b", "a", true), []string{"lab-b"}, false, owner.Finished},
		{"a taken over finished object is adopted when asked", mark("lab-b", "a", true), []string{"lab-b"}, true, owner.Adopt},
		{"another resource's object is not ours", mark("lab", "b", false), nil, true, owner.Other},
		{"another type's object is not ours", &owner.Mark{Namespace: "lab", Type: "muster_mission", Name: "a"}, nil, true, owner.Other},
		{"an empty mark is nobody's", &owner.Mark{}, nil, true, owner.Other},
	}
	for _, tt := range tests {
		claim := owner.Claim{Namespace: "lab", Type: vmType, Name: "a", TakeOver: tt.takeOver, Adopt: tt.adopt}
		if got := owner.Judge(tt.mark, claim); got != tt.want {
			t.Errorf("%s: verdict %d, want %d", tt.behaviour, got, tt.want)
		}
	}
}

var names = rapid.SampledFrom([]string{"", "a", "b", "lab", "lab-b"})

func drawMark(t *rapid.T) *owner.Mark {
	if rapid.Bool().Draw(t, "unmarked") {
		return nil
	}
	return &owner.Mark{
		Namespace: names.Draw(t, "mark namespace"), Type: names.Draw(t, "mark type"), Name: names.Draw(t, "mark name"),
		Incarnation: names.Draw(t, "mark incarnation"), Complete: rapid.Bool().Draw(t, "complete"),
	}
}

// What a create may never do, whatever it meets.
func TestJudge_safety(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMark(t)
		c := owner.Claim{
			Namespace: names.Draw(t, "namespace"), Type: names.Draw(t, "type"), Name: names.Draw(t, "name"),
			TakeOver: rapid.SliceOfN(names, 0, 2).Draw(t, "take over"), Adopt: rapid.Bool().Draw(t, "adopt"),
		}
		ours := m != nil && m.Type == c.Type && m.Name == c.Name
		if ours && m.Namespace != c.Namespace {
			ours = false
			for _, n := range c.TakeOver {
				ours = ours || n == m.Namespace
			}
		}
		switch v := owner.Judge(m, c); v {
		case owner.Continue:
			if !ours || m.Complete {
				t.Fatal("went on with an object that is not an unfinished one of ours")
			}
		case owner.Adopt:
			if !c.Adopt || m != nil && !ours {
				t.Fatal("adopted without being asked, or from somebody else")
			}
		case owner.Finished:
			if !ours || !m.Complete || c.Adopt {
				t.Fatal("called something finished that is not a complete object of ours")
			}
		case owner.Other:
			if m == nil || ours {
				t.Fatal("called our own object somebody else's")
			}
		case owner.Unmarked:
			if m != nil || c.Adopt {
				t.Fatal("called a marked or adoptable object unmarked")
			}
		default:
			t.Fatalf("verdict %d is none", v)
		}
	})
}

func TestSuperseded(t *testing.T) {
	of := func(incarnation string) *owner.Mark { return &owner.Mark{Incarnation: incarnation} }
	tests := []struct {
		behaviour string
		mark      *owner.Mark
		mine      string
		want      bool
	}{
		{"the mark of our own create", of("i1"), "i1", false},
		{"the mark of a newer create", of("i2"), "i1", true},
		{"an object whose mark is gone", nil, "i1", false},
		{"a mark without an incarnation", of(""), "i1", false},
		{"an imported object has no incarnation to compare", of("i2"), "", false},
	}
	for _, tt := range tests {
		if got := tt.mark.Superseded(tt.mine); got != tt.want {
			t.Errorf("%s: superseded is %v, want %v", tt.behaviour, got, tt.want)
		}
	}
}

func TestNICLookup(t *testing.T) {
	m := &owner.Mark{NICs: []owner.NIC{{Name: "pxe", MAC: "02:00:00:00:00:01"}, {Name: "data", MAC: "02:00:00:00:00:02"}}}
	for _, n := range m.NICs {
		if got := m.MACOf(n.Name); got != n.MAC {
			t.Errorf("MACOf(%s) = %q, want %s", n.Name, got, n.MAC)
		}
		if got := m.NICOf(n.MAC); got != n.Name {
			t.Errorf("NICOf(%s) = %q, want %s", n.MAC, got, n.Name)
		}
	}
	if m.MACOf("other") != "" || m.NICOf("02:00:00:00:00:03") != "" {
		t.Error("an undeclared NIC has an identity")
	}
	var none *owner.Mark
	if none.MACOf("pxe") != "" || none.NICOf("02:00:00:00:00:01") != "" {
		t.Error("an object without a mark declares a NIC")
	}
}
