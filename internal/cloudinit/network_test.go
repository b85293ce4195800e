package cloudinit_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/musterlab/terraform-provider-muster/internal/cloudinit"
)

const wantNetwork = `version: 2
ethernets:
  pxe:
    match:
      macaddress: "52:54:00:12:34:56"
    set-name: pxe0
    dhcp4: true
    dhcp6: false
    dhcp-identifier: mac
    accept-ra: false
    link-local: []
    optional: false
    mtu: 9000
  data:
    match:
      macaddress: "02:00:00:00:00:02"
    dhcp4: false
    dhcp6: false
    accept-ra: false
    link-local:
      - ipv6
    optional: false
    addresses:
      - "192.0.2.5/24"
      - "2001:db8::5/64"
    routes:
      - to: "0.0.0.0/0"
        via: "192.0.2.1"
    nameservers:
      addresses:
        - "192.0.2.53"
  spare:
    match:
      macaddress: "02:00:00:00:00:03"
    dhcp4: false
    dhcp6: false
    accept-ra: false
    link-local: []
    optional: true
`

func TestNetworkConfig_isComplete(t *testing.T) {
	got, err := cloudinit.NetworkConfig([]cloudinit.NIC{
		{Name: "pxe", SetName: "pxe0", MAC: "52:54:00:12:34:56", DHCP4: true, MTU: 9000},
		{
			Name: "data", MAC: "02:00:00:00:00:02", Addresses: []string{"192.0.2.5/24", "2001:db8::5/64"},
			Gateway: "192.0.2.1", Nameservers: []string{"192.0.2.53"},
		},
		{Name: "spare", MAC: "02:00:00:00:00:03"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got != wantNetwork {
		t.Errorf("got\n%s\nwant\n%s", got, wantNetwork)
	}
}

func TestNetworkConfig_refuses(t *testing.T) {
	mac := "02:00:00:00:00:01"
	tests := []struct {
		nics   []cloudinit.NIC
		reason string
	}{
		{[]cloudinit.NIC{{MAC: mac}}, "has no name"},
		{[]cloudinit.NIC{{Name: "a", MAC: "x"}}, `NIC "a": "x" is not a MAC address`},
		{[]cloudinit.NIC{{Name: "a", MAC: mac}, {Name: "a", MAC: "02:00:00:00:00:02"}}, `NIC "a": two NICs`},
		{[]cloudinit.NIC{{Name: "a", MAC: mac}, {Name: "b", MAC: strings.ToUpper(mac)}}, `NIC "b": has the MAC address 02:00:00:00:00:01 of NIC "a"`},
		{[]cloudinit.NIC{{Name: "a", MAC: mac, Addresses: []string{"192.0.2.5"}}}, "prefix length"},
		{[]cloudinit.NIC{{Name: "a", MAC: mac, Gateway: "192.0.2.1"}}, "no address of its family"},
		{[]cloudinit.NIC{{Name: "a", MAC: mac, Addresses: []string{"2001:db8::5/64"}, Gateway: "192.0.2.1"}}, "no address of its family"},
		{[]cloudinit.NIC{{Name: "a", MAC: mac, Gateway: "router"}}, "not an IP address"},
		{[]cloudinit.NIC{{Name: "a", MAC: mac, Nameservers: []string{"dns"}}}, "not an IP address"},
	}
	for _, tt := range tests {
		got, err := cloudinit.NetworkConfig(tt.nics)
		if err == nil || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%+v: got %q, %v; want an error with %q", tt.nics, got, err, tt.reason)
		}
	}
}

// guestView is what a guest's network service makes of a device.
type guestView struct {
	Match     struct{ Macaddress string }
	DHCP4     *bool     `yaml:"dhcp4"`
	DHCP6     *bool     `yaml:"dhcp6"`
	AcceptRA  *bool     `yaml:"accept-ra"`
	LinkLocal *[]string `yaml:"link-local"`
	Optional  *bool     `yaml:"optional"`
	Addresses []string
}

func devicesOf(t fataler, text string) map[string]guestView {
	t.Helper()
	var doc struct{ Ethernets map[string]guestView }
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return doc.Ethernets
}

// assertNothingWaits fails when the start of a guest would wait for something
// on the link that may never come.
func assertNothingWaits(t fataler, name string, d guestView) {
	t.Helper()
	if d.DHCP4 == nil || d.DHCP6 == nil || d.AcceptRA == nil || d.LinkLocal == nil || d.Optional == nil {
		t.Fatalf("%s leaves a setting to the guest's default: %+v", name, d)
	}
	addressed := *d.DHCP4 || *d.DHCP6 || *d.AcceptRA || len(d.Addresses) > 0
	if !addressed && !*d.Optional {
		t.Fatalf("%s never has an address and is waited for", name)
	}
}

func TestNetworkConfig_properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 5).Draw(t, "NICs")
		nics := make([]cloudinit.NIC, count)
		for i := range nics {
			nics[i] = cloudinit.NIC{
				Name:  string(rune('a' + i)),
				MAC:   "52:54:00:12:34:1" + string(rune('0'+i)),
				DHCP4: rapid.Bool().Draw(t, "dhcp4"), Optional: rapid.Bool().Draw(t, "optional"),
				MTU:       rapid.SampledFrom([]int{0, 1500, 9000}).Draw(t, "mtu"),
				Addresses: rapid.SliceOfN(rapid.SampledFrom([]string{"192.0.2.5/24", "2001:db8::5/64"}), 0, 2).Draw(t, "addresses"),
			}
		}
		text, err := cloudinit.NetworkConfig(nics)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if err := cloudinit.CheckNetworkConfig(text); err != nil {
			t.Fatalf("the package refuses what it wrote: %v\n%s", err, text)
		}
		devices := devicesOf(t, text)
		for _, n := range nics {
			d := devices[n.Name]
			assertNothingWaits(t, n.Name, d)
			if d.Match.Macaddress != n.MAC || *d.DHCP4 != n.DHCP4 {
				t.Fatalf("%+v became %+v", n, d)
			}
		}
		if again, err := cloudinit.Complete(text, nics); err != nil || again != text {
			t.Fatalf("what is complete changes when completed: %v\n%s", err, again)
		}
	})
}

func TestCheckNetworkConfig(t *testing.T) {
	const eth = "version: 2\nethernets:\n  a:\n    "
	tests := []faultyDocument{
		{"nothing", "", 0, ""},
		{"version 2", wantNetwork, 0, ""},
		{"an outer key", "network:\n  version: 2\n  renderer: networkd\n", 0, ""},
		{"version 1", "version: 1\nconfig:\n  - type: physical\n    name: eth0\n    mac_address: '52:54:00:12:34:56'\n", 0, ""},
		{"version 1, disabled", "version: 1\nconfig: disabled\n", 0, ""},
		{"addresses with options", eth + "addresses:\n      - 192.0.2.5/24: {label: x}\n", 0, ""},
		{"words of YAML 1.1", eth + "dhcp4: yes\n", 0, ""},
		{"a list", "- a\n", 1, "is a mapping, not a list"},
		{"network is a list", "network:\n  - a\n", 2, `"network" is a mapping`},
		{"no version", "# c\nethernets: {}\n", 2, "has no version"},
		{"version 3", "ethernets: {}\nversion: 3\n", 2, "is 1 or 2"},
		{"version 1 without devices", "version: 1\n", 1, `in the list "config"`},
		{"version 1 with a mapping", "version: 1\nconfig:\n  a: 1\n", 3, `"config" is a list`},
		{"an entry without a type", "version: 1\nconfig:\n  - name: a\n", 3, `with a "type"`},
		{"a misspelt section", "version: 2\nethernet: {}\n", 2, `"ethernet" is no section`},
		{"a section that is a list", "version: 2\nethernets:\n  - a\n", 3, "is a mapping of devices"},
		{"a device that is a list", "version: 2\nethernets:\n  a: []\n", 3, "a device is a mapping"},
		{"a MAC read as a number", eth + "match: {macaddress: 52:54:00:12:34:56}\n", 4, "quotation marks"},
		{"the same in version 1", "version: 1\nconfig:\n  - type: physical\n    mac_address: 52:54:00:12:34:56\n", 4, "quotation marks"},
		{"a MAC with letters needs none", eth + "match: {macaddress: 52:54:00:12:34:5a}\n", 0, ""},
		{"a MAC that cloud-init reads as text", eth + "match: {macaddress: 02:54:00:12:34:56}\n", 0, ""},
		{"half a MAC", eth + "match: {macaddress: '52:54'}\n", 4, "six pairs"},
		{"set-name alone", eth + "set-name: b\n", 4, `needs a "match"`},
		{"dhcp4 as text", eth + "dhcp4: hunter2\n", 4, "true or false"},
		{"an address without its prefix", eth + "addresses: [192.0.2.5/24, 192.0.2.6]\n", 4, "prefix length"},
		{"one address, no list", eth + "addresses: 192.0.2.5/24\n", 4, "is a list"},
		{"an MTU in words", eth + "mtu: hunter2\n", 4, "positive number"},
		{"broken", eth + "addresses: [\n", 4, "not valid YAML"},
	}
	for _, tt := range tests {
		tt.check(t, cloudinit.CheckNetworkConfig(tt.text))
	}
}

func FuzzCheckNetworkConfig(f *testing.F) {
	f.Add(wantNetwork)
	f.Add("network: {version: 1, config: [{type: physical, mac_address: x}]}")
	f.Add("version: 2\nethernets: {a: &x {match: *x}}\n")
	nics := []cloudinit.NIC{{Name: "a", MAC: "02:00:00:00:00:01", MTU: 1400}}
	f.Fuzz(func(t *testing.T, text string) {
		if err := cloudinit.CheckNetworkConfig(text); err != nil {
			return
		}
		done, err := cloudinit.Complete(text, nics)
		if err != nil {
			t.Fatalf("a valid document cannot be completed: %v", err)
		}
		if err := cloudinit.CheckNetworkConfig(done); err != nil {
			t.Fatalf("completed, it is no longer valid: %v\n%s", err, done)
		}
	})
}
