package libvirt

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestInventory_listsStateDisksAutostart(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	vol, err := h.CreateVolume(ctx, VolumeSpec{Pool: "default", Name: "d.qcow2", Format: "qcow2", CapacityBytes: 3 << 30, Owner: -1, Group: -1})
	must(t, err)
	kind, err := h.DomainType(ctx)
	must(t, err)
	off, err := h.DefineDomain(ctx, fmt.Sprintf(`<domain type='%s'><name>off</name><memory unit='MiB'>64</memory><os><type>hvm</type></os><devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/><target dev='vda' bus='virtio'/></disk></devices></domain>`, kind, vol.Path))
	must(t, err)
	on := define(t, h, "on")
	must(t, h.SetAutostart(ctx, off.UUID, true))
	must(t, h.StartDomain(ctx, on.UUID, StartOptions{Paused: true}))

	inv, err := h.Inventory(ctx, 0)
	must(t, err)
	if len(inv.All()) != 2 {
		t.Fatalf("domains: %+v", inv.All())
	}
	got, ok := inv.ByName("off")
	if !ok || got.UUID != off.UUID || got.State != StateShutoff || got.ID != -1 || !got.Autostart {
		t.Errorf("off: %+v", got)
	}
	if len(got.Disks) != 1 || got.Disks[0] != (DiskStat{Target: "vda", Path: vol.Path, CapacityBytes: 3 << 30}) {
		t.Errorf("the disk of a domain that is off: %+v", got.Disks)
	}
	got, ok = inv.ByUUID(on.UUID)
	if !ok || got.Name != "on" || got.State != StatePaused || got.ID < 0 || got.Autostart {
		t.Errorf("on: %+v", got)
	}
	if _, ok := inv.ByName("none"); ok {
		t.Error("found what is not there")
	}
}

func TestInventory_isShared(t *testing.T) {
	h, proxy := behindProxy(t, Config{})
	d := define(t, h, "known")
	counts := func(what string, want int) {
		t.Helper()
		c := proxy.Counts()
		if c["ConnectGetAllDomainStats"] != want || c["ConnectListAllDomains"] != want {
			t.Errorf("%s: listings %d and %d, want %d", what, c["ConnectGetAllDomainStats"], c["ConnectListAllDomains"], want)
		}
	}
	proxy.SetRules(libvirttest.Rule{Proc: "ConnectGetAllDomainStats", Nth: 1, Action: libvirttest.Delay, Delay: 50 * time.Millisecond})
	proxy.Reset()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			inv, err := h.Inventory(t.Context(), time.Minute)
			if err != nil {
				t.Error(err)
			} else if _, ok := inv.ByUUID(d.UUID); !ok {
				t.Error("the domain is not listed")
			}
		})
	}
	all.Wait()
	counts("200 callers", 1)

	if _, err := h.Inventory(t.Context(), 0); err != nil {
		t.Error(err)
	}
	counts("no age allowed", 2)

	must(t, h.SetAutostart(t.Context(), d.UUID, true))
	inv, err := h.Inventory(t.Context(), time.Minute)
	must(t, err)
	counts("after a write", 3)
	if got, _ := inv.ByUUID(d.UUID); !got.Autostart {
		t.Error("the listing is older than the write")
	}
}

// A listing that is under way when something is written says nothing about
// what was written.
func TestInventory_underWayIsNotUsedAfterAWrite(t *testing.T) {
	h, proxy := behindProxy(t, Config{})
	d := define(t, h, "known")
	proxy.SetRules(libvirttest.Rule{Proc: "ConnectGetAllDomainStats", Nth: 1, Action: libvirttest.Delay, Delay: 300 * time.Millisecond})
	proxy.Reset()
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := h.Inventory(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
	})
	must(t, proxy.Await(t.Context(), "ConnectGetAllDomainStats", 1))
	must(t, h.StartDomain(t.Context(), d.UUID, StartOptions{}))
	inv, err := h.Inventory(t.Context(), time.Minute)
	must(t, err)
	if got, _ := inv.ByUUID(d.UUID); got.State != StateRunning {
		t.Errorf("state %s, want running", got.State)
	}
	first.Wait()
	inv, err = h.Inventory(t.Context(), time.Minute)
	must(t, err)
	if got, _ := inv.ByUUID(d.UUID); got.State != StateRunning {
		t.Errorf("the older listing has taken the place of the newer: %s", got.State)
	}
}
