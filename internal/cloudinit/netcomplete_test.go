package cloudinit_test

import (
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/cloudinit"
)

var labNICs = []cloudinit.NIC{
	{Name: "pxe", MAC: "52:54:00:12:34:56"},
	{Name: "data", MAC: "02:00:00:00:00:02", MTU: 9000},
}

func TestComplete_fillsInWhatTheNICsKnow(t *testing.T) {
	const text = `# kept
network:
  version: 2
  ethernets:
    pxe:
      dhcp4: true
    data: # the jumbo side
      addresses: [192.0.2.5/24]
    other:
      match:
        macaddress: "02:00:00:00:00:09"
`
	const want = `# kept
network:
  version: 2
  ethernets:
    pxe:
      dhcp4: true
      match:
        macaddress: "52:54:00:12:34:56"
      dhcp6: false
      accept-ra: false
      link-local: []
      optional: false
    data: # the jumbo side
      addresses: [192.0.2.5/24]
      match:
        macaddress: "02:00:00:00:00:02"
      dhcp4: false
      dhcp6: false
      accept-ra: false
      link-local: []
      optional: false
      mtu: 9000
    other:
      match:
        macaddress: "02:00:00:00:00:09"
`
	got, err := cloudinit.Complete(text, labNICs)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestComplete_keepsWhatIsSaid(t *testing.T) {
	const text = "version: 2\nethernets:\n  data:\n    optional: false\n    link-local: [ipv4]\n    accept-ra: true\n    mtu: 1400\n"
	got, err := cloudinit.Complete(text, labNICs)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"optional: false", "link-local: [ipv4]", "accept-ra: true", "mtu: 1400", `macaddress: "02:00:00:00:00:02"`} {
		if strings.Count(got, line) != 1 {
			t.Errorf("%q is not there once:\n%s", line, got)
		}
	}
	if strings.Contains(got, "9000") || strings.Contains(got, "optional: true") {
		t.Errorf("a stated value was replaced:\n%s", got)
	}
}

func TestComplete_nothingWaits(t *testing.T) {
	for behaviour, body := range map[string]string{
		"an empty device":      "{}",
		"a static address":     "{addresses: [192.0.2.5/24]}",
		"a static v6 address":  "{addresses: ['2001:db8::5/64']}",
		"a lease":              "{dhcp4: true}",
		"router announcements": "{accept-ra: true}",
	} {
		got, err := cloudinit.Complete("version: 2\nethernets: {data: "+body+"}\n", labNICs)
		if err != nil {
			t.Fatalf("%s: %v", behaviour, err)
		}
		d := devicesOf(t, got)["data"]
		assertNothingWaits(t, behaviour, d)
		if needs6 := strings.Contains(body, "2001") || strings.Contains(body, "ra"); needs6 != (len(*d.LinkLocal) == 1) {
			t.Errorf("%s: link-local is %v", behaviour, *d.LinkLocal)
		}
	}
}

func TestComplete_leavesTheRestAlone(t *testing.T) {
	for _, text := range []string{
		"",
		"version: 1\nconfig: []   # as written\n",
		"version:   2\nethernets: {enp1s0: {dhcp4: true}}\n",
		"version: 2\nbonds: {pxe: {interfaces: [a]}}\n",
		"version: 2\nethernets: {pxe: {match: {name: en*}, dhcp4:   true}}\n",
	} {
		if got, err := cloudinit.Complete(text, labNICs); err != nil || got != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
	if _, err := cloudinit.Complete("version: 2\nethernets: []\n", labNICs); err == nil {
		t.Error("an invalid document was completed")
	}
}
