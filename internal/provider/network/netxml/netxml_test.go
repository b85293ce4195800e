package netxml

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

var mark = owner.Mark{Namespace: "lab-a", Type: "muster_network", Name: "lab", Incarnation: "0123456789abcdef", Op: owner.Operation{Step: "define"}}

func anySpec(t *rapid.T) Spec {
	host := func(i int) Host {
		h := Host{MAC: "52:54:00:00:00:0" + string(rune('0'+i)), IP: "10.0.0." + string(rune('1'+i))}
		if rapid.Bool().Draw(t, "named") {
			h.Name = "h" + string(rune('a'+i))
		}
		return h
	}
	s := Spec{
		Name: "lab", UUID: "00000000-0000-8000-8000-000000000001", MAC: "02:00:00:00:00:01",
		Mode:   rapid.SampledFrom([]string{ModeNAT, ModeRoute, ModeOpen, ModeIsolated}).Draw(t, "mode"),
		Bridge: rapid.SampledFrom([]string{"lab0", "lab1"}).Draw(t, "bridge"),
		MTU:    rapid.SampledFrom([]int{0, 1400, 9000}).Draw(t, "mtu"),
		Domain: rapid.SampledFrom([]string{"", "lab.test"}).Draw(t, "domain"),
	}
	if rapid.Bool().Draw(t, "addressed") {
		s.Address = netip.MustParsePrefix(rapid.SampledFrom([]string{"10.0.0.254/24", "10.0.0.253/16"}).Draw(t, "address"))
	}
	if s.Address.IsValid() && rapid.Bool().Draw(t, "dhcp") {
		s.DHCP = &DHCP{NoPing: rapid.Bool().Draw(t, "no ping"), Ranges: []Range{{"10.0.0.100", "10.0.0.199"}}}
		for i := range rapid.IntRange(0, 4).Draw(t, "hosts") {
			s.DHCP.Hosts = append(s.DHCP.Hosts, host(i))
		}
		if rapid.Bool().Draw(t, "bootp") {
			s.BootP = &BootP{File: "x", Server: rapid.SampledFrom([]string{"", "10.0.0.9"}).Draw(t, "server")}
		}
	}
	if s.DNS.Enabled = rapid.Bool().Draw(t, "dns"); s.DNS.Enabled {
		for i := range rapid.IntRange(0, 3).Draw(t, "dns hosts") {
			s.DNS.Hosts = append(s.DNS.Hosts, DNSHost{IP: "10.0.0." + string(rune('1'+i)), Hostnames: []string{"n" + string(rune('a'+i))}})
		}
		if rapid.Bool().Draw(t, "forwarder") {
			s.DNS.Forwarders = []Forwarder{{Address: "10.9.9.9"}}
		}
	}
	return s
}

// What is written is what is read, whatever was there before.
func TestEdit_readsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := anySpec(t), anySpec(t)
		xml, err := New(first, mark)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := Read(xml)
		if err != nil || !same(got, first) {
			t.Fatalf("%v\ngot  %+v\nwant %+v\n%s", err, got, first, xml)
		}
		if xml, err = Edit(xml, second, first, mark); err != nil {
			t.Fatal(err)
		}
		got, m, err := Read(xml)
		if err != nil || !same(got, second) {
			t.Fatalf("%v\ngot  %+v\nwant %+v\n%s", err, got, second, xml)
		}
		if m == nil || m.Incarnation != mark.Incarnation || m.Op.Step != mark.Op.Step {
			t.Fatalf("mark %+v", m)
		}
	})
}

// An edit that changes nothing leaves nothing pending.
func same(a, b Spec) bool {
	return len(Pending(a, b)) == 0 && len(Unmanaged(a, b)) == 0 && a.UUID == b.UUID && a.MAC == b.MAC
}

const foreign = `<network xmlns:dnsmasq="http://libvirt.org/schemas/network/dnsmasq/1.0">
  <name>lab</name>
  <uuid>00000000-0000-8000-8000-000000000001</uuid>
  <metadata><x:y xmlns:x="urn:other">kept</x:y></metadata>
  <forward mode="nat"><nat><port start="1024" end="65535"/></nat></forward>
  <bridge name="lab0" stp="off" delay="3" macTableManager="libvirt"/>
  <mac address="52:54:00:11:22:33"/>
  <bandwidth><inbound average="1000"/></bandwidth>
  <dns><txt name="t" value="v"/><host ip="10.0.0.77"><hostname>theirs</hostname></host></dns>
  <ip address="10.0.0.1" netmask="255.255.255.0">
    <dhcp><range start="10.0.0.10" end="10.0.0.20"><lease expiry="2"/></range><host mac="52:54:00:99:00:01" ip="10.0.0.99"/></dhcp>
  </ip>
  <ip family="ipv6" address="fd00::1" prefix="64"/>
  <portgroup name="p"/>
  <dnsmasq:options><dnsmasq:option value="cache-size=7"/></dnsmasq:options>
</network>`

func TestEdit_keepsWhatIsNotOurs(t *testing.T) {
	have, m, err := Read(foreign)
	if err != nil || m != nil {
		t.Fatal(m, err)
	}
	want := have
	want.MTU, want.Domain = 1400, "lab.test"
	want.DHCP = &DHCP{NoPing: true, Ranges: have.DHCP.Ranges, Hosts: []Host{{MAC: "52:54:00:00:00:01", IP: "10.0.0.11"}}}
	want.DNS = DNS{Enabled: true, Hosts: []DNSHost{{IP: "10.0.0.11", Hostnames: []string{"ours"}}}}
	xml, err := Edit(foreign, want, Spec{}, mark)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{
		"urn:other", `end="65535"`, `delay="3"`, `macTableManager="libvirt"`, "52:54:00:11:22:33", "<bandwidth>", `name="t"`, "theirs",
		`netmask="255.255.255.0"`, `expiry="2"`, "52:54:00:99:00:01", "fd00::1", "<portgroup", "cache-size=7",
		"no-ping", "ours", `size="1400"`, "10.0.0.11",
	} {
		if !strings.Contains(xml, kept) {
			t.Errorf("%s is not in the definition any more:\n%s", kept, xml)
		}
	}
	got, _, err := Read(xml)
	if err != nil {
		t.Fatal(err)
	}
	if u, w := Unmanaged(got, want), []string{"dhcp.host 52:54:00:99:00:01 10.0.0.99", "dns.host 10.0.0.77 theirs"}; !slices.Equal(u, w) {
		t.Errorf("unmanaged %q, want %q", u, w)
	}
	// Ours goes, theirs stays.
	less := want
	less.DHCP = &DHCP{Ranges: have.DHCP.Ranges}
	less.DNS = DNS{Enabled: true}
	if xml, err = Edit(xml, less, want, mark); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(xml, "52:54:00:00:00:01") || strings.Contains(xml, "ours") || !strings.Contains(xml, "theirs") || !strings.Contains(xml, "52:54:00:99:00:01") {
		t.Error(xml)
	}
}

func TestEdit_modeOfABridgeAndBack(t *testing.T) {
	xml, err := Edit(foreign, Spec{Name: "lab", Mode: ModeBridge, Bridge: "br0"}, Spec{}, mark)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := Read(xml)
	if err != nil || !reflect.DeepEqual(got, Spec{Name: "lab", UUID: "00000000-0000-8000-8000-000000000001", Mode: ModeBridge, Bridge: "br0"}) {
		t.Fatalf("%v %+v\n%s", err, got, xml)
	}
	if xml, err = Edit(xml, Spec{Name: "lab", Mode: ModeIsolated}, got, mark); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(xml, "br0") {
		t.Errorf("libvirt would take the host's bridge for its own:\n%s", xml)
	}
}

// Changes bring one list of hosts to another, and touch nobody else's.
func TestChanges_reachWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have, want := anySpec(t), anySpec(t)
		have.Address, want.Address = netip.MustParsePrefix("10.0.0.254/24"), netip.MustParsePrefix("10.0.0.254/24")
		have.DNS.Enabled, want.DNS.Enabled = true, true
		for _, s := range []*Spec{&have, &want} {
			if s.DHCP == nil {
				s.DHCP = &DHCP{}
			}
		}
		theirs := Host{MAC: "52:54:00:99:00:01", IP: "10.0.0.99"}
		prior := have
		have.DHCP.Hosts = append(slices.Clone(have.DHCP.Hosts), theirs)
		prior.DHCP = &DHCP{Hosts: have.DHCP.Hosts[:len(have.DHCP.Hosts)-1], Ranges: have.DHCP.Ranges}
		hosts := map[string]bool{}
		for _, h := range have.DHCP.Hosts {
			hosts[h.MAC] = true
		}
		for _, u := range Changes(have, have, want, prior) {
			if u.Section != "ip-dhcp-host" {
				continue
			}
			mac := u.XML[strings.Index(u.XML, "mac=\"")+5:][:17]
			switch u.Command {
			case "add-last":
				if hosts[mac] {
					t.Fatalf("adds %s, which is there", mac)
				}
				hosts[mac] = true
			case "delete":
				delete(hosts, mac)
			case "modify":
				if !hosts[mac] {
					t.Fatalf("modifies %s, which is not there", mac)
				}
			case "add-first":
				t.Fatal("nothing is put first")
			}
		}
		if len(hosts) != len(want.DHCP.Hosts)+1 || !hosts[theirs.MAC] {
			t.Fatalf("ends with %v, want %v and theirs", hosts, want.DHCP.Hosts)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(foreign)
	f.Add("<network/>")
	f.Fuzz(func(t *testing.T, xml string) {
		s, _, err := Read(xml)
		if err != nil {
			return
		}
		if out, err := Edit(xml, s, s, mark); err == nil {
			if _, _, err := Read(out); err != nil {
				t.Errorf("what was written cannot be read: %v\n%s", err, out)
			}
		}
	})
}
