package domxml_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func read(t *testing.T, xml string) domxml.Definition {
	t.Helper()
	d, err := domxml.Read(xml, domxml.Names{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// declared is the spec that a definition of ours was made from.
func declared(d domxml.Definition) domxml.Spec {
	s := d.Spec
	s.Mark = *d.Mark
	return s
}

// Case 3: nothing that only exists at run time is a difference.
func TestPending_ignoresRunTimeValues(t *testing.T) {
	got, err := domxml.Pending(fixture(t, "running-live.xml"), fixture(t, "running-persistent.xml"), domxml.Names{})
	if err != nil || len(got) != 0 {
		t.Errorf("pending %q, %v; want nothing", got, err)
	}
}

func TestPending_namesWhatDiffers(t *testing.T) {
	live, persistent := fixture(t, "running-live.xml"), fixture(t, "running-persistent.xml")
	for field, change := range map[string]func(*domxml.Spec){
		"memory_mib":   func(s *domxml.Spec) { s.MemoryMiB++ },
		"vcpus":        func(s *domxml.Spec) { s.VCPUs++ },
		"cpu":          func(s *domxml.Spec) { s.CPU = domxml.CPU{Mode: "custom", Model: "qemu64"} },
		"firmware":     func(s *domxml.Spec) { s.Firmware.UEFI = true },
		"boot":         func(s *domxml.Spec) { s.Boot.Order = []string{domxml.BootNetwork, domxml.BootDisk} },
		"console":      func(s *domxml.Spec) { s.ConsoleLog = "" },
		"cloud_init":   func(s *domxml.Spec) { s.Seed += "x" },
		"capture":      func(s *domxml.Spec) { s.Capture = []domxml.Tap{{NIC: "lan", File: "/x.pcap"}} },
		`nic "lan"`:    func(s *domxml.Spec) { s.NICs[0].MTU = 1400 },
		`disk "root"`:  func(s *domxml.Spec) { s.Disks[0].Bus = "sata" },
		`nic "second"`: func(s *domxml.Spec) { addNIC(s, "second", "02:00:00:00:00:02") },
	} {
		t.Run(field, func(t *testing.T) {
			s := declared(read(t, persistent))
			change(&s)
			edited, err := domxml.Edit(persistent, s, domxml.Names{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := domxml.Pending(live, edited, domxml.Names{})
			if err != nil || !slices.Equal(got, []string{field}) {
				t.Errorf("pending %q, %v; want %q", got, err, field)
			}
		})
	}
}

func addNIC(s *domxml.Spec, name, mac string) {
	s.NICs = append(slices.Clone(s.NICs), domxml.NIC{Name: name, MAC: mac, Network: "lab", Model: "virtio"})
	s.Mark.NICs = append(slices.Clone(s.Mark.NICs), owner.NIC{Name: name, MAC: mac})
}

// What is read and written again unchanged is the same, to the byte.
func TestEdit_withoutAChangeTouchesNothing(t *testing.T) {
	xml := fixture(t, "running-persistent.xml")
	edited, err := domxml.Edit(xml, declared(read(t, xml)), domxml.Names{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := domxml.Edit(edited, declared(read(t, edited)), domxml.Names{})
	if err != nil {
		t.Fatal(err)
	}
	if again != edited {
		t.Error("a second edit changes the text again")
	}
	if a, b := stripMark(xml), stripMark(edited); a != b {
		t.Errorf("beside the mark the text changed:\n%s\n---\n%s", a, b)
	}
}

func stripMark(xml string) string {
	begin, end := strings.Index(xml, "<metadata>"), strings.Index(xml, "</metadata>")
	return strings.TrimSpace(xml[:begin]) + strings.TrimSpace(xml[end:])
}

// Everything that is not ours survives every change of ours.
func TestEdit_keepsWhatOthersPutThere(t *testing.T) {
	xml := fixture(t, "foreign.xml")
	d := read(t, xml)
	s := declared(d)
	s.MemoryMiB, s.VCPUs, s.ConsoleLog = 512, 4, ""
	s.Firmware.TPM = true
	s.NICs[0].MTU = 9000
	s.Boot.Order = []string{domxml.BootNetwork, domxml.BootDisk}
	edited, err := domxml.Edit(xml, s, domxml.Names{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{
		"<title>rack 7</title>", "http://tool.example/1", "i6300esb", "/dev/random", "52:54:00:00:00:99", "pc-q35-5.2",
		"<hostdev", "<iotune>", "cpuset='0-1'", "<topology", "portgroup='blue'", "filterref", "memtune", "<qemu:arg value='-foo'", `dev='vdq'`,
	} {
		if !strings.Contains(edited, kept) && !strings.Contains(edited, strings.ReplaceAll(kept, "'", `"`)) {
			t.Errorf("lost %s:\n%s", kept, edited)
		}
	}
	want := []string{
		"channel com.example.x", "description", "disk vdq", "hostdev usb", "metadata http://tool.example/1",
		"nic 52:54:00:00:00:99 (network lab)", "rng", "title", "watchdog i6300esb",
	}
	if got := read(t, edited).Unmanaged; !slices.Equal(got, want) {
		t.Errorf("unmanaged\n%q, want\n%q", got, want)
	}
}

// A NIC is known by its name: whatever is done to the list, each keeps its MAC.
func TestRead_recognisesADriftedMAC(t *testing.T) {
	xml := fixture(t, "running-persistent.xml")
	d := read(t, xml)
	old := d.NICs[0].MAC
	drifted := strings.Replace(xml, "<mac address='"+old+"'/>", "<mac address='52:54:00:aa:bb:cc'/>", 1)
	got := read(t, drifted)
	if len(got.NICs) != 1 || got.NICs[0].Name != "lan" || got.NICs[0].MAC != "52:54:00:aa:bb:cc" {
		t.Fatalf("read %+v", got.NICs)
	}
	repaired, err := domxml.Edit(drifted, declared(d), domxml.Names{})
	if err != nil {
		t.Fatal(err)
	}
	if n := read(t, repaired).NICs; len(n) != 1 || n[0].MAC != old {
		t.Errorf("repaired to %+v, want %s", n, old)
	}
}

// Case 23: anything in the XML is read without a panic.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"running-live.xml", "running-persistent.xml", "foreign.xml"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("<domain/>")
	f.Add("<domain><devices><interface/><disk/><interface type='hostdev'/></devices><os/><cpu/></domain>")
	f.Fuzz(func(t *testing.T, xml string) {
		d, err := domxml.Read(xml, domxml.Names{})
		if err != nil {
			return
		}
		_, _ = domxml.Pending(xml, xml, domxml.Names{})
		_, _ = domxml.Edit(xml, d.Spec, domxml.Names{})
	})
}

func TestMatch(t *testing.T) {
	have := domxml.Spec{NICs: []domxml.NIC{{Name: "nic0", MAC: "a"}, {Name: "nic1", MAC: "b"}, {Name: "nic2", MAC: "c"}}}
	want := []domxml.NIC{{Name: "san", MAC: "c"}, {Name: "lan"}, {Name: "ctl"}}
	got := domxml.Match(want, nil, have).NIC
	for mac, name := range map[string]string{"c": "san", "a": "lan", "b": "ctl"} {
		if got[mac] != name {
			t.Errorf("%s is %q, want %q (all: %v)", mac, got[mac], name, got)
		}
	}
}

func TestMark_roundTrip(t *testing.T) {
	m := *read(t, fixture(t, "running-persistent.xml")).Mark
	for form, text := range map[string]string{"definition": domxml.MarshalMark(m), "metadata": domxml.MetadataMark(m)} {
		got, err := domxml.UnmarshalMark(text)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := domxml.MarshalMark(*got), domxml.MarshalMark(m); a != b {
			t.Errorf("%s: %s, want %s", form, a, b)
		}
	}
}
