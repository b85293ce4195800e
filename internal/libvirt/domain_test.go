package libvirt

import (
	"strings"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

const noDomain = "11111111-2222-4333-8444-000000000001"

// onBothDrivers runs a test on QEMU and on the test driver of one daemon.
func onBothDrivers(t *testing.T, test func(t *testing.T, h *Host)) {
	t.Helper()
	lh := libvirttest.Start(t)
	t.Run("qemu", func(t *testing.T) { test(t, open(t, Config{URI: lh.URI()})) })
	uri := lh.TestURI()
	t.Run("test", func(t *testing.T) { test(t, open(t, Config{URI: uri})) })
}

func TestDomain_life(t *testing.T) {
	onBothDrivers(t, func(t *testing.T, h *Host) {
		ctx := t.Context()
		d := define(t, h, "vm")
		if d.Name != "vm" || len(d.UUID) != 36 || d.ID != -1 || d.State != StateShutoff {
			t.Errorf("defined: %+v", d)
		}
		wantState(t, h, d.UUID, StateShutoff, "")

		if h.ep.driver == "qemu:///system" { // the test driver cannot start paused
			must(t, h.StartDomain(ctx, d.UUID, StartOptions{Paused: true, ForceBoot: true}))
			wantState(t, h, d.UUID, StatePaused, "")
			must(t, h.ResumeDomain(ctx, d.UUID))
		} else {
			wantKind(t, h.StartDomain(ctx, d.UUID, StartOptions{Paused: true}), fault.Unsupported)
			must(t, h.StartDomain(ctx, d.UUID, StartOptions{ForceBoot: true}))
		}
		wantState(t, h, d.UUID, StateRunning, "")
		err := h.StartDomain(ctx, d.UUID, StartOptions{})
		if err == nil || !strings.Contains(err.Error(), "start domain "+d.UUID) || !strings.Contains(err.Error(), "already running") {
			t.Errorf("started twice: %v", err)
		}
		must(t, h.SetAutostart(ctx, d.UUID, true))

		got, err := h.DomainByName(ctx, "vm")
		must(t, err)
		if got.UUID != d.UUID || got.State != StateRunning || got.ID < 0 || !got.Autostart {
			t.Errorf("by name: %+v", got)
		}
		got, err = h.DomainByUUID(ctx, strings.ToUpper(d.UUID))
		must(t, err)
		if got.Name != "vm" {
			t.Errorf("by UUID: %+v", got)
		}

		must(t, h.DestroyDomain(ctx, d.UUID))
		must(t, h.DestroyDomain(ctx, d.UUID))
		must(t, h.ShutdownDomain(ctx, d.UUID))
		wantState(t, h, d.UUID, StateShutoff, "destroyed")
		must(t, h.UndefineDomain(ctx, d.UUID))
		_, err = h.DomainByUUID(ctx, d.UUID)
		wantKind(t, err, fault.NotFound, d.UUID)
	})
}

func wantState(t *testing.T, h *Host, uuid string, want State, reason string) {
	t.Helper()
	got, why, err := h.DomainState(t.Context(), uuid)
	must(t, err)
	if got != want || reason != "" && why != reason {
		t.Errorf("state %s (%s), want %s (%s)", got, why, want, reason)
	}
}

func TestDomain_shutdownPressesThePowerButton(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	d := define(t, h, "vm")
	must(t, h.StartDomain(t.Context(), d.UUID, StartOptions{}))
	must(t, h.ShutdownDomain(t.Context(), d.UUID)) // SeaBIOS does not listen
	wantState(t, h, d.UUID, StateRunning, "")
	must(t, h.DestroyDomain(t.Context(), d.UUID))
}

// Each call that names a domain says not found when there is none, and nothing
// else does.
func TestDomain_notThere(t *testing.T) {
	onBothDrivers(t, func(t *testing.T, h *Host) {
		ctx := t.Context()
		for name, call := range map[string]func() error{
			"by name":    func() error { _, err := h.DomainByName(ctx, "none"); return err },
			"by UUID":    func() error { _, err := h.DomainByUUID(ctx, noDomain); return err },
			"state":      func() error { _, _, err := h.DomainState(ctx, noDomain); return err },
			"XML":        func() error { _, err := h.DomainXML(ctx, noDomain, Persistent); return err },
			"start":      func() error { return h.StartDomain(ctx, noDomain, StartOptions{}) },
			"resume":     func() error { return h.ResumeDomain(ctx, noDomain) },
			"shutdown":   func() error { return h.ShutdownDomain(ctx, noDomain) },
			"destroy":    func() error { return h.DestroyDomain(ctx, noDomain) },
			"undefine":   func() error { return h.UndefineDomain(ctx, noDomain) },
			"autostart":  func() error { return h.SetAutostart(ctx, noDomain, true) },
			"save":       func() error { _, err := h.HasManagedSave(ctx, noDomain); return err },
			"metadata":   func() error { _, err := h.Metadata(ctx, noDomain, "urn:x"); return err },
			"set":        func() error { return h.SetMetadata(ctx, noDomain, "urn:x", "x", "<a/>", false) },
			"messages":   func() error { _, err := h.Messages(ctx, noDomain); return err },
			"addresses":  func() error { _, err := h.Addresses(ctx, noDomain, AddressLease); return err },
			"blockresiz": func() error { return h.ResizeBlock(ctx, noDomain, "vda", 1<<20) },
		} {
			err := call()
			if h.ep.driver == "test:///default" && fault.Is(err, fault.Unsupported) {
				continue
			}
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %s: %v", name, fault.KindOf(err), err)
			}
		}
		_, err := h.DomainXML(ctx, "no-uuid", Live)
		wantKind(t, err, fault.Invalid, "not a UUID")
	})
}

func TestDomain_refusedDefinitionChangesNothing(t *testing.T) {
	onBothDrivers(t, func(t *testing.T, h *Host) {
		ctx := t.Context()
		d := define(t, h, "vm")
		before, err := h.DomainXML(ctx, d.UUID, Persistent)
		must(t, err)
		_, err = h.DefineDomain(ctx, strings.NewReplacer("<vcpu", "<vcpuu", "</vcpu", "</vcpuu").Replace(before))
		wantKind(t, err, fault.Invalid, "define domain vm")
		_, err = h.DefineDomain(ctx, "no XML at all")
		wantKind(t, err, fault.Invalid)
		_, err = h.DefineDomain(ctx, emptyVM(t, h, "vm"))
		wantKind(t, err, fault.Conflict, "vm")
		after, err := h.DomainXML(ctx, d.UUID, Persistent)
		must(t, err)
		if after != before {
			t.Errorf("changed:\n%s\n%s", before, after)
		}
	})
}

func TestDomain_xmlKeepsPasswords(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	xml := strings.Replace(emptyVM(t, h, "vm"), "<devices>", "<devices><graphics type='vnc' port='-1' autoport='yes' passwd='hush'/>", 1)
	d, err := h.DefineDomain(t.Context(), xml)
	must(t, err)
	for _, kind := range []XMLKind{Live, Persistent} {
		got, err := h.DomainXML(t.Context(), d.UUID, kind)
		must(t, err)
		if !strings.Contains(got, "passwd='hush'") {
			t.Errorf("kind %d: the password is lost", kind)
		}
	}
}

func TestDomain_liveAndPersistentDiffer(t *testing.T) {
	onBothDrivers(t, func(t *testing.T, h *Host) {
		ctx := t.Context()
		d := define(t, h, "vm")
		must(t, h.StartDomain(ctx, d.UUID, StartOptions{}))
		defer func() { must(t, h.DestroyDomain(t.Context(), d.UUID)) }()
		xml, err := h.DomainXML(ctx, d.UUID, Persistent)
		must(t, err)
		again, err := h.DefineDomain(ctx, strings.NewReplacer("65536", "131072").Replace(xml))
		must(t, err)
		if again.UUID != d.UUID || again.ID < 0 || again.State != StateNone {
			t.Errorf("redefined while on: %+v", again)
		}
		live, err := h.DomainXML(ctx, d.UUID, Live)
		must(t, err)
		persistent, err := h.DomainXML(ctx, d.UUID, Persistent)
		must(t, err)
		if !strings.Contains(live, ">65536<") || !strings.Contains(persistent, ">131072<") {
			t.Error("the change is not in the persistent description alone")
		}
	})
}

func TestDomain_metadata(t *testing.T) {
	onBothDrivers(t, func(t *testing.T, h *Host) {
		ctx := t.Context()
		d := define(t, h, "vm")
		_, err := h.Metadata(ctx, d.UUID, "urn:x")
		wantKind(t, err, fault.NotFound)
		must(t, h.SetMetadata(ctx, d.UUID, "urn:x", "x", "<a b='1'/>", false))
		got, err := h.Metadata(ctx, d.UUID, "urn:x")
		must(t, err)
		if !strings.Contains(got, "b='1'") && !strings.Contains(got, `b="1"`) {
			t.Errorf("metadata: %s", got)
		}
		must(t, h.StartDomain(ctx, d.UUID, StartOptions{}))
		must(t, h.SetMetadata(ctx, d.UUID, "urn:x", "x", "<a b='2'/>", true))
		live, err := h.DomainXML(ctx, d.UUID, Live)
		must(t, err)
		if !strings.Contains(live, `b="2"`) && !strings.Contains(live, "b='2'") {
			t.Error("the running description has the old metadata")
		}
		must(t, h.SetMetadata(ctx, d.UUID, "urn:x", "x", "", true))
		_, err = h.Metadata(ctx, d.UUID, "urn:x")
		wantKind(t, err, fault.NotFound)
		must(t, h.DestroyDomain(ctx, d.UUID))
	})
}

func TestDomain_undefineTakesAllThatHangsOnIt(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	vol, err := h.CreateVolume(ctx, VolumeSpec{Pool: "default", Name: "d.qcow2", Format: "qcow2", CapacityBytes: 1 << 20, Owner: -1, Group: -1})
	must(t, err)
	xml := strings.Replace(emptyVM(t, h, "vm"), "<devices>", `<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='`+vol.Path+`'/><target dev='vda' bus='virtio'/></disk>`, 1)
	d, err := h.DefineDomain(ctx, xml)
	must(t, err)
	lh.Virsh("snapshot-create-as", "vm", "s1")
	must(t, h.StartDomain(ctx, d.UUID, StartOptions{}))
	lh.Virsh("managedsave", "vm")
	saved, err := h.HasManagedSave(ctx, d.UUID)
	must(t, err)
	if !saved {
		t.Error("the managed save is not seen")
	}
	must(t, h.UndefineDomain(ctx, d.UUID))
	_, err = h.DomainByName(ctx, "vm")
	wantKind(t, err, fault.NotFound)
}

func TestDomain_managedSave(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	d := define(t, h, "vm")
	must(t, h.RemoveManagedSave(ctx, d.UUID))
	must(t, h.StartDomain(ctx, d.UUID, StartOptions{}))
	lh.Virsh("managedsave", "vm")
	wantState(t, h, d.UUID, StateShutoff, "saved")
	must(t, h.RemoveManagedSave(ctx, d.UUID))
	saved, err := h.HasManagedSave(ctx, d.UUID)
	must(t, err)
	if saved {
		t.Error("the managed save is still there")
	}
	must(t, h.StartDomain(ctx, d.UUID, StartOptions{}))
	wantState(t, h, d.UUID, StateRunning, "booted")
	must(t, h.DestroyDomain(ctx, d.UUID))
}

func TestDomain_transientOneIsRead(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	file := t.TempDir() + "/vm.xml"
	writeFile(t, file, emptyVM(t, h, "passing"))
	lh.Virsh("create", file, "--paused")
	d, err := h.DomainByName(t.Context(), "passing")
	must(t, err)
	if d.State != StatePaused || d.Autostart {
		t.Errorf("%+v", d)
	}
	must(t, h.DestroyDomain(t.Context(), d.UUID))
	_, err = h.DomainByUUID(t.Context(), d.UUID)
	wantKind(t, err, fault.NotFound)
}

func TestTryDomain_leavesNothing(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	xml := emptyVM(t, h, "trial")
	must(t, h.TryDomain(ctx, xml))
	broken := strings.Replace(xml, "<devices>", `<devices><disk type='file' device='disk'><source file='/no/such/disk'/><target dev='vda' bus='virtio'/></disk>`, 1)
	if err := h.TryDomain(ctx, broken); err == nil || !strings.Contains(err.Error(), "/no/such/disk") {
		t.Errorf("a disk that is not there: %v", err)
	}
	inv, err := h.Inventory(ctx, 0)
	must(t, err)
	if len(inv.All()) != 0 {
		t.Errorf("left: %+v", inv.All())
	}
}

func TestDomain_devices(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	vol, err := h.CreateVolume(ctx, VolumeSpec{Pool: "default", Name: "d.raw", Format: "raw", CapacityBytes: 1 << 20, Owner: -1, Group: -1})
	must(t, err)
	d := define(t, h, "vm")
	disk := `<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='` + vol.Path + `'/><target dev='vda' bus='virtio'/></disk>`
	must(t, h.StartDomain(ctx, d.UUID, StartOptions{}))
	must(t, h.AttachDevice(ctx, d.UUID, disk, AffectConfig|AffectLive))
	must(t, h.ResizeBlock(ctx, d.UUID, "vda", 2<<20))
	got, err := h.DomainByUUID(ctx, d.UUID)
	must(t, err)
	if len(got.Disks) != 1 || got.Disks[0].CapacityBytes != 2<<20 {
		t.Errorf("after a live resize: %+v", got.Disks)
	}
	must(t, h.UpdateDevice(ctx, d.UUID, strings.Replace(disk, "<target", "<shareable/><target", 1), AffectConfig))
	must(t, h.DetachDevice(ctx, d.UUID, disk, AffectConfig))
	err = h.DetachDevice(ctx, d.UUID, disk, AffectConfig)
	if err == nil {
		t.Error("detached what is not there")
	}
	must(t, h.DestroyDomain(ctx, d.UUID))
}

func TestDomain_monitorAndAgent(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	xml := strings.Replace(emptyVM(t, h, "vm"), "<devices>", `<devices><channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>`, 1)
	d, err := h.DefineDomain(ctx, xml)
	must(t, err)
	must(t, h.StartDomain(ctx, d.UUID, StartOptions{}))
	reply, err := h.Monitor(ctx, d.UUID, `{"execute":"query-status"}`)
	must(t, err)
	if !strings.Contains(reply, `"running":true`) {
		t.Errorf("monitor: %s", reply)
	}
	_, err = h.Monitor(ctx, d.UUID, `{"execute":"no-such-command"}`)
	wantKind(t, err, fault.Invalid, "CommandNotFound")
	within(t, 2*time.Second, "a missing agent", func() {
		_, err = h.Agent(ctx, d.UUID, `{"execute":"guest-ping"}`, 5*time.Second)
		wantKind(t, err, fault.Busy, "not connected")
		_, err = h.Addresses(ctx, d.UUID, AddressAgent)
		wantKind(t, err, fault.Busy, "not connected")
	})
	_, err = h.Addresses(ctx, d.UUID, "dns")
	wantKind(t, err, fault.Invalid, "unknown source")
	msgs, err := h.Messages(ctx, d.UUID)
	must(t, err)
	if !strings.Contains(strings.Join(msgs, "\n"), "monitor") {
		t.Errorf("messages: %q", msgs)
	}
	must(t, h.DestroyDomain(ctx, d.UUID))
}
