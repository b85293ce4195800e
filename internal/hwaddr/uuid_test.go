package hwaddr_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

func TestDeriveUUID_golden(t *testing.T) {
	const golden = "bbef136c-a433-8609-9db5-2422721c0ca3" // of the SHA-256 over "4:uuid3:lab6:node-1"
	if got := hwaddr.DeriveUUID("lab", "node-1"); got != golden {
		t.Errorf("DeriveUUID(lab, node-1) = %s, want %s", got, golden)
	}
}

var version8 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestDeriveUUID_properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns, vm := rapid.String().Draw(t, "namespace"), rapid.String().Draw(t, "vm")
		u := hwaddr.DeriveUUID(ns, vm)
		if !version8.MatchString(u) {
			t.Fatalf("%s is not a version 8 UUID of RFC 9562", u)
		}
		if u != hwaddr.DeriveUUID(ns, vm) {
			t.Fatal("the same names gave two UUIDs")
		}
		if ns != vm && u == hwaddr.DeriveUUID(vm, ns) {
			t.Fatal("namespace and name may be swapped")
		}
		back, err := hwaddr.ParseUUID(strings.ToUpper(u))
		if err != nil || back != u {
			t.Fatalf("%s does not survive being written in capitals: %s, %v", u, back, err)
		}
	})
}

func TestParseUUID_refuses(t *testing.T) {
	for _, s := range []string{
		"", "node-1",
		"550e8400e29b41d4a716446655440000",
		"{550e8400-e29b-41d4-a716-446655440000}",
		"550e8400-e29b-41d4-a716-44665544000",
		"550e8400-e29b-41d4-a716-44665544000g",
		"550e840-0e29b-41d4-a716-4466554400000",
		"----550e8400e29b41d4a716446655440000",
	} {
		if got, err := hwaddr.ParseUUID(s); err == nil || got != "" {
			t.Errorf("ParseUUID(%q) = %q, %v; want an error", s, got, err)
		}
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("550e8400-e29b-41d4-a716-446655440000")
	f.Add("550E8400-E29B-41D4-A716-446655440000")
	f.Add("------------------------------------")
	canonical := regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := hwaddr.ParseUUID(s)
		if ok := canonical.MatchString(s); ok != (err == nil) {
			t.Fatalf("ParseUUID(%q) = %q, %v; canonical form: %v", s, got, err, ok)
		}
		if err == nil && got != strings.ToLower(s) {
			t.Fatalf("ParseUUID(%q) = %q", s, got)
		}
	})
}
