package hwaddr_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

func TestParseMAC(t *testing.T) {
	tests := []struct{ in, want, reason string }{
		{"52:54:00:12:34:56", "52:54:00:12:34:56", ""},
		{"52:54:00:AB:cd:Ef", "52:54:00:ab:cd:ef", ""},
		{"02:00:00:00:00:00", "02:00:00:00:00:00", ""},
		{"", "", "six pairs"},
		{"52-54-00-12-34-56", "", "six pairs"},
		{"525400123456", "", "six pairs"},
		{"5254.0012.3456", "", "six pairs"},
		{"52:54:00:12:34", "", "six pairs"},
		{"52:54:00:12:34:56:78", "", "six pairs"},
		{"52:54:00:12:34:5", "", `"5" is not a pair`},
		{"52:54:00:12:34:567", "", `"567" is not a pair`},
		{"52:54:00:12:34:5g", "", `"5g" is not a pair`},
		{" 52:54:00:12:34:56", "", `" 52" is not a pair`},
		{"52:54:00:12:34:56\n", "", `"56\n" is not a pair`},
		{"53:54:00:12:34:56", "", "multicast"},
		{"ff:ff:ff:ff:ff:ff", "", "multicast"},
		{"00:00:00:00:00:00", "", "all-zero"},
	}
	for _, tt := range tests {
		got, err := hwaddr.ParseMAC(tt.in)
		if tt.reason == "" {
			if err != nil || got.String() != tt.want {
				t.Errorf("ParseMAC(%q) = %v, %v; want %s", tt.in, got, err, tt.want)
			}
			continue
		}
		if err == nil {
			t.Errorf("ParseMAC(%q) = %v, want an error about %q", tt.in, got, tt.reason)
			continue
		}
		if !strings.Contains(err.Error(), tt.reason) || got != (hwaddr.MAC{}) {
			t.Errorf("ParseMAC(%q) = %v, %v; want no address and %q", tt.in, got, err, tt.reason)
		}
	}
}

func TestParsePrefix(t *testing.T) {
	tests := []struct{ in, want, reason string }{
		{"02", "02", ""},
		{"52:54:00", "52:54:00", ""},
		{"AE:10:20:30", "ae:10:20:30", ""},
		{"", "", "one to four"},
		{"02:00:00:00:00", "", "one to four"},
		{"2", "", "not a pair"},
		{"02:", "", "not a pair"},
		{"zz", "", "not a pair"},
		{"00:16:3e", "", "locally administered"},
		{"03", "", "locally administered"},
	}
	for _, tt := range tests {
		got, err := hwaddr.ParsePrefix(tt.in)
		switch {
		case tt.reason == "" && (err != nil || got.String() != tt.want):
			t.Errorf("ParsePrefix(%q) = %v, %v; want %s", tt.in, got, err, tt.want)
		case tt.reason != "" && (err == nil || !strings.Contains(err.Error(), tt.reason)):
			t.Errorf("ParsePrefix(%q) = %v, %v; want an error about %q", tt.in, got, err, tt.reason)
		}
	}
}

// The derived addresses are a promise over releases: a changed one makes every
// machine that is booked under it a stranger.
func TestDeriveMAC_golden(t *testing.T) {
	qemu, err := hwaddr.ParsePrefix("52:54:00")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		prefix             hwaddr.Prefix
		namespace, vm, nic string
		want               string
	}{
		{hwaddr.Prefix{}, "lab", "node-1", "pxe", "02:66:75:f0:51:c0"},
		{hwaddr.DefaultPrefix, "lab", "node-1", "pxe", "02:66:75:f0:51:c0"},
		{hwaddr.Prefix{}, "lab", "node-1", "data", "02:95:0b:49:60:e8"},
		{qemu, "lab", "node-1", "pxe", "52:54:00:66:75:f0"},
	}
	for _, tt := range tests {
		if got := hwaddr.DeriveMAC(tt.prefix, tt.namespace, tt.vm, tt.nic).String(); got != tt.want {
			t.Errorf("DeriveMAC(%v, %q, %q, %q) = %s, want %s", tt.prefix, tt.namespace, tt.vm, tt.nic, got, tt.want)
		}
	}
}

// genPrefix draws any prefix that ParsePrefix accepts.
func genPrefix(t *rapid.T) hwaddr.Prefix {
	octets := rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "prefix")
	parts := make([]string, len(octets))
	for i, o := range octets {
		if i == 0 {
			o = o&^3 | 2
		}
		parts[i] = fmt.Sprintf("%02x", o)
	}
	p, err := hwaddr.ParsePrefix(strings.Join(parts, ":"))
	if err != nil {
		t.Fatalf("a valid prefix was refused: %v", err)
	}
	return p
}

func TestDeriveMAC_properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPrefix(t)
		ns, vm, nic := rapid.String().Draw(t, "namespace"), rapid.String().Draw(t, "vm"), rapid.String().Draw(t, "nic")
		m := hwaddr.DeriveMAC(p, ns, vm, nic)
		if m != hwaddr.DeriveMAC(p, ns, vm, nic) {
			t.Fatal("the same names gave two addresses")
		}
		if !strings.HasPrefix(m.String(), p.String()+":") {
			t.Fatalf("%v does not start with the prefix %v", m, p)
		}
		if m[0]&3 != 2 {
			t.Fatalf("%v is not a locally administered unicast address", m)
		}
		back, err := hwaddr.ParseMAC(strings.ToUpper(m.String()))
		if err != nil || back != m {
			t.Fatalf("%v does not survive being written in capitals: %v, %v", m, back, err)
		}
	})
}

// Moving a character from one name to its neighbour is another machine.
func TestDeriveMAC_namesDoNotRunTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.StringMatching(`[a-z0-9:]{3,12}`).Draw(t, "all")
		cut := func(label string) [3]string {
			i := rapid.IntRange(0, len(all)).Draw(t, label+" first cut")
			j := rapid.IntRange(i, len(all)).Draw(t, label+" second cut")
			return [3]string{all[:i], all[i:j], all[j:]}
		}
		a, b := cut("a"), cut("b")
		ma := hwaddr.DeriveMAC(hwaddr.Prefix{}, a[0], a[1], a[2])
		mb := hwaddr.DeriveMAC(hwaddr.Prefix{}, b[0], b[1], b[2])
		if (a == b) != (ma == mb) {
			t.Fatalf("%q gives %v, %q gives %v", a, ma, b, mb)
		}
	})
}

// Ten thousand NICs of one namespace: with 40 bits the odds of any clash are
// below one in ten thousand, and the hash is fixed, so this cannot flake.
func TestDeriveMAC_spreads(t *testing.T) {
	seen := make(map[hwaddr.MAC]string, 10000)
	for vm := range 5000 {
		for _, nic := range []string{"pxe", "data"} {
			name := fmt.Sprintf("node-%d/%s", vm, nic)
			m := hwaddr.DeriveMAC(hwaddr.Prefix{}, "lab", fmt.Sprintf("node-%d", vm), nic)
			if other, taken := seen[m]; taken {
				t.Fatalf("%s and %s share %v", other, name, m)
			}
			seen[m] = name
		}
	}
}

// The standard library's parser is the oracle for what is an address at all.
func FuzzParseMAC(f *testing.F) {
	for _, s := range []string{"52:54:00:12:34:56", "52:54:00:AB:CD:EF", "ff:ff:ff:ff:ff:ff", "52-54-00-12-34-56", "::::::", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := hwaddr.ParseMAC(s)
		ref, refErr := net.ParseMAC(s)
		if err != nil {
			usable := refErr == nil && len(ref) == 6 && strings.Count(s, ":") == 5 && ref[0]&1 == 0 && ref.String() != "00:00:00:00:00:00"
			if usable {
				t.Fatalf("%q was refused: %v", s, err)
			}
			return
		}
		if refErr != nil || ref.String() != m.String() {
			t.Fatalf("%q became %v; the standard library says %v, %v", s, m, ref, refErr)
		}
	})
}

func FuzzParsePrefix(f *testing.F) {
	for _, s := range []string{"02", "52:54:00", "ae:ff:00:11", "00:16:3e", "02:", ":", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := hwaddr.ParsePrefix(s)
		if err != nil {
			return
		}
		if p.String() != strings.ToLower(s) {
			t.Fatalf("%q became %v", s, p)
		}
		if m := hwaddr.DeriveMAC(p, "n", "v", "i"); m[0]&3 != 2 {
			t.Fatalf("prefix %q gives %v, which no guest may own", s, m)
		}
	})
}
