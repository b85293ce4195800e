package libvirt

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestFacts(t *testing.T) {
	lh := libvirttest.Start(t, libvirttest.WithUnprivilegedQEMU(), libvirttest.WithoutKVM())
	proxy := libvirttest.NewProxy(t, lh.Socket)
	h := open(t, Config{URI: proxy.URI()})
	f, err := h.Facts(t.Context())
	must(t, err)
	if f.Hostname != lh.Name || len(f.HostUUID) != 36 || f.Driver != "QEMU" || f.CPUs < 1 || f.MachineDefault == "" ||
		!strings.HasPrefix(f.Emulator, "/") || f.Arch == "" || strings.Count(f.LibvirtVersion, ".") != 2 || strings.Count(f.HypervisorVersion, ".") != 2 {
		t.Errorf("%+v", f)
	}
	if strings.Join(f.DomainTypes, " ") != "qemu" {
		t.Errorf("domain types %q without KVM", f.DomainTypes)
	}
	if f.QEMUUser <= 0 || f.QEMUGroup <= 0 {
		t.Errorf("QEMU runs as %d:%d", f.QEMUUser, f.QEMUGroup)
	}
	if want := memTotalMiB(t); f.MemoryMiB != want || f.FreeMiB <= 0 || f.FreeMiB > f.MemoryMiB {
		t.Errorf("memory %d MiB, free %d, want %d in all", f.MemoryMiB, f.FreeMiB, want)
	}
	proxy.Reset()
	if _, err := h.Facts(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(proxy.Calls()); n != 1 {
		t.Errorf("a second reading takes %d calls, want 1: %v", n, proxy.Calls())
	}
	kind, err := h.DomainType(t.Context())
	if kind != "qemu" || err != nil {
		t.Errorf("domain type %q, %v", kind, err)
	}
	caps, err := h.DomainCapabilities(t.Context(), "", "", "q35", kind)
	must(t, err)
	if !strings.Contains(caps, "<domainCapabilities>") {
		t.Errorf("domain capabilities: %.80s", caps)
	}
}

func memTotalMiB(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/meminfo")
	must(t, err)
	kib, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	must(t, err)
	return kib / 1024
}

func TestFacts_testDriver(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.TestURI()})
	f, err := h.Facts(t.Context())
	must(t, err)
	if f.Driver != "TEST" || f.QEMUUser != -1 || f.QEMUGroup != -1 || f.MemoryMiB != 3072 {
		t.Errorf("%+v", f)
	}
	kind, err := h.DomainType(t.Context())
	if kind != "test" || err != nil {
		t.Errorf("domain type %q, %v", kind, err)
	}
}

func TestParseCapabilities(t *testing.T) {
	const doc = `<capabilities><host><uuid>u</uuid><cpu><arch>x86_64</arch></cpu>
<secmodel><model>apparmor</model><baselabel type='kvm'>x</baselabel></secmodel>
<secmodel><model>dac</model><baselabel type='kvm'>+64055:+109</baselabel></secmodel></host>
<guest><os_type>hvm</os_type><arch name='i686'><emulator>/e32</emulator><domain type='qemu'/></arch></guest>
<guest><os_type>hvm</os_type><arch name='x86_64'><emulator>/e64</emulator><machine canonical='pc-i440fx-7.2'>pc</machine>
<machine>q35x</machine><domain type='qemu'/><domain type='kvm'/></arch></guest></capabilities>`
	got, err := parseCapabilities(doc)
	must(t, err)
	if got.user != 64055 || got.group != 109 || got.arch != "x86_64" || got.emulator != "/e64" || got.machine != "pc" ||
		strings.Join(got.types, " ") != "kvm qemu" {
		t.Errorf("%+v", got)
	}
	if _, err := parseCapabilities("no XML"); err == nil {
		t.Error("read what is no XML")
	}
}
