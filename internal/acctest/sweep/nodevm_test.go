package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

const networkXML = `<network><name>lab</name><bridge name='lab0' stp='off'/></network>`

// newVMLab is a host with what a VM stands on: a network and an image.
func newVMLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{host: libvirttest.Start(t)}
	l.proxy = libvirttest.NewProxy(t, l.host.Socket)
	acctest.DefineNetwork(t, l.host, networkXML)
	l.host.Virsh("vol-create-as", "default", "base.qcow2", "8M", "--format", "qcow2")
	l.known = l.files(t)
	return l
}

// files are those in the pool's folder.
func (l *lab) files(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(l.host.Dir, "images"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (l *lab) lines(args ...string) []string { return strings.Fields(l.host.Virsh(args...)) }

var nodeVM = subject{
	resource: "muster_node_vm",
	config:   vmConfig,
	reached:  vmReached,
	gone:     vmGone,
}

// vmConfig is a VM with all that makes calls while it is off. Odd generations
// have another disk, NIC, seed, console and autostart; the first disk grows
// with each.
func vmConfig(name string, generation int) tfcore.Values {
	odd := generation%2 == 1
	second, lastNIC, memory := "data", "san", 128
	if odd {
		second, lastNIC, memory = "scratch", "wan", 192
	}
	return tfcore.Values{
		"name": name, "memory_mib": memory, "power": "off", "autostart": !odd,
		"disk": []tfcore.Values{
			{"name": "root", "image": "default/base.qcow2", "size_mib": 16 + generation},
			{"name": second, "size_mib": 8},
		},
		"nic":        []tfcore.Values{{"name": "lan", "network": "lab"}, {"name": lastNIC, "network": "lab"}},
		"console":    []tfcore.Values{{"enabled": !odd}},
		"cloud_init": []tfcore.Values{{"user_data": fmt.Sprintf("#cloud-config\nhostname: h%d\n", generation)}},
	}
}

func vmReached(t *testing.T, l *lab, name string, generation int) {
	t.Helper()
	got := l.ask("list --all --name", "pool-list --all --name")
	if !slices.Equal(got[0], []string{name}) || !slices.Equal(got[1], []string{"default", "muster-console"}) {
		t.Fatalf("domains on the host: %q, pools: %q", got[0], got[1])
	}
	xml := l.host.Virsh("dumpxml", "--inactive", name)
	def, err := domxml.Read(xml, domxml.Names{})
	if err != nil {
		t.Fatal(err)
	}
	if want := hwaddr.DeriveUUID(namespace, name); def.UUID != want {
		t.Errorf("uuid %s, want %s", def.UUID, want)
	}
	if def.Mark == nil || !def.Mark.Complete && def.Mark.Op.Step != "made" || len(def.Unmanaged) > 0 {
		t.Errorf("mark %+v, unmanaged %q", def.Mark, def.Unmanaged)
	}
	config := vmConfig(name, generation)
	wantMACs := map[string]string{}
	for _, n := range config["nic"].([]tfcore.Values) {
		nic := n["name"].(string)
		wantMACs[nic] = hwaddr.DeriveMAC(hwaddr.Prefix{}, namespace, name, nic).String()
	}
	gotMACs := map[string]string{}
	for _, n := range def.NICs {
		gotMACs[n.Name] = n.MAC
	}
	if !maps.Equal(gotMACs, wantMACs) || strings.Count(xml, "<mac address=") != len(wantMACs) {
		t.Errorf("MACs %v, want %v", gotMACs, wantMACs)
	}
	volumesReached(t, l, def, config)
}

// volumesReached fails the test unless the pool holds the domain's volumes,
// whole, and no others.
func volumesReached(t *testing.T, l *lab, def domxml.Definition, config tfcore.Values) {
	t.Helper()
	want := slices.Clone(l.known)
	for _, d := range def.Disks {
		want = append(want, filepath.Base(d.Path))
	}
	if declared := config["disk"].([]tfcore.Values); len(declared) != len(def.Disks) {
		t.Errorf("disks %+v, want %v", def.Disks, declared)
	}
	seed := filepath.Base(def.Seed)
	want = append(want, seed)
	slices.Sort(want)
	if got := l.files(t); !slices.Equal(got, want) {
		t.Errorf("files in the pool: %q, want %q", got, want)
	}
	content, err := os.ReadFile(filepath.Join(l.host.Dir, "images", seed))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(content); !strings.Contains(seed, hex.EncodeToString(sum[:8])) {
		t.Errorf("the seed %s was not written whole", seed)
	}
}

func vmGone(t *testing.T, l *lab) {
	t.Helper()
	got := l.ask("list --all --name", "pool-list --all --name")
	if len(got[0]) > 0 {
		t.Errorf("domains left: %q", got[0])
	}
	if got := l.files(t); !slices.Equal(got, l.known) {
		t.Errorf("files left in the pool: %q", got)
	}
	if slices.Contains(got[1], "muster-console") {
		if got := l.lines("vol-list", "muster-console"); len(got) > 0 {
			t.Errorf("console logs left: %q", got)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func TestSweep_nodeVM(t *testing.T) {
	for _, f := range []fault{killAfter, loseReply} {
		for kind, sweep := range map[string]func(*testing.T, *lab, fault, points, func() engine){
			"create": nodeVM.creates, "update": nodeVM.updates, "destroy": nodeVM.deletes,
		} {
			t.Run(kind+" "+f.name, func(t *testing.T) {
				t.Parallel()
				l := newVMLab(t)
				sweep(t, l, f, everyCall, func() engine {
					return &protocol{tb: t, provider: l.provider(), resource: nodeVM.resource}
				})
			})
		}
	}
}

// A sample of the points at which the daemon has not seen the call, and of
// those from which the next apply goes somewhere else.
func TestSweep_nodeVMSample(t *testing.T) {
	for _, c := range []struct {
		name  string
		sweep func(*testing.T, *lab, fault, points, func() engine)
		fault fault
		p     points
	}{
		{"create", nodeVM.creates, killBefore, points{first: 3, every: 8}},
		{"update", nodeVM.updates, killBefore, points{first: 3, every: 8}},
		{"destroy", nodeVM.deletes, killBefore, points{first: 2, every: 4}},
		{"turn back", nodeVM.turnsBack, killAfter, points{first: 1, every: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newVMLab(t)
			c.sweep(t, l, c.fault, c.p, func() engine { return &protocol{tb: t, provider: l.provider(), resource: nodeVM.resource} })
		})
	}
}

// A sample of the points, and those at which a create has done everything, with
// the real terraform.
func TestSweep_nodeVMWithTerraform(t *testing.T) {
	for kind, sweep := range map[string]func(*testing.T, *lab, fault, points, func() engine){
		"create": nodeVM.creates, "update": nodeVM.updates, "destroy": nodeVM.deletes,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newVMLab(t)
			sweep(t, l, killAfter, points{first: 7, every: 13}, func() engine { return newTerraform(t, l.provider(), nodeVM.resource) })
		})
	}
}
