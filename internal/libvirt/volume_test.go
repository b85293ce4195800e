package libvirt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestVolume_life(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	base, err := h.CreateVolume(ctx, VolumeSpec{Pool: "default", Name: "base & co.raw", Format: "raw", CapacityBytes: 8 << 20, Owner: -1, Group: -1})
	must(t, err)
	want := Volume{Pool: "default", Name: "base & co.raw", Path: filepath.Join(lh.Dir, "images", "base & co.raw"), Format: "raw", CapacityBytes: 8 << 20}
	base.AllocationBytes = 0
	if base != want {
		t.Errorf("made %+v, want %+v", base, want)
	}
	over, err := h.CreateVolume(ctx, VolumeSpec{
		Pool: "default", Name: "over.qcow2", Format: "qcow2", BackingPath: base.Path, BackingFormat: "raw", Mode: 0o640, Owner: 12345, Group: 12346,
	})
	must(t, err)
	if over.CapacityBytes != 8<<20 || over.BackingPath != base.Path || over.Format != "qcow2" {
		t.Errorf("overlay: %+v", over)
	}
	if info, err := os.Stat(over.Path); err != nil || info.Mode().Perm() != 0o640 || owner(info) != "12345:12346" {
		t.Errorf("overlay's file: %v %s, %v", info.Mode(), owner(info), err)
	}
	_, err = h.CreateVolume(ctx, VolumeSpec{Pool: "default", Name: "over.qcow2", Format: "raw", CapacityBytes: 1, Owner: -1, Group: -1})
	wantKind(t, err, fault.Conflict, "default/over.qcow2")

	names, err := h.Volumes(ctx, "default")
	must(t, err)
	slices.Sort(names)
	if !slices.Equal(names, []string{"base & co.raw", "over.qcow2"}) {
		t.Errorf("names %q", names)
	}
	must(t, h.ResizeVolume(ctx, "default", "over.qcow2", 16<<20))
	size, err := h.VolumeSize(ctx, over.Path)
	must(t, err)
	if size != 16<<20 {
		t.Errorf("size %d after the resize", size)
	}
	if err := h.ResizeVolume(ctx, "default", "over.qcow2", 4<<20); err == nil {
		t.Error("a volume has shrunk")
	}
	must(t, h.DeleteVolume(ctx, "default", "over.qcow2"))
	must(t, h.DeleteVolume(ctx, "default", "over.qcow2"))
	must(t, os.Remove(base.Path))
	must(t, h.DeleteVolume(ctx, "default", base.Name))
	if names, err := h.Volumes(ctx, "default"); err != nil || len(names) != 0 {
		t.Errorf("left: %q, %v", names, err)
	}
}

func owner(info os.FileInfo) string {
	st := sysStat(info)
	return fmt.Sprintf("%d:%d", st.Uid, st.Gid)
}

func TestVolume_notThere(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	for name, call := range map[string]func(pool string) error{
		"read":     func(pool string) error { _, err := h.Volume(ctx, pool, "v"); return err },
		"resize":   func(pool string) error { return h.ResizeVolume(ctx, pool, "v", 1) },
		"upload":   func(pool string) error { return h.Upload(ctx, pool, "v", nil, 0, nil) },
		"download": func(pool string) error { _, err := h.Download(ctx, pool, "v", 0, 0, &countWriter{}); return err },
	} {
		wantKind(t, call("default"), fault.NotFound, "default/v")
		wantKind(t, call("nope"), fault.NotFound, "nope", "there is only default")
		_ = name
	}
	wantKind(t, h.DeleteVolume(ctx, "nope", "v"), fault.NotFound, "there is only default")
	_, err := h.CreateVolume(ctx, VolumeSpec{Pool: "nope", Name: "v", CapacityBytes: 1, Owner: -1, Group: -1})
	wantKind(t, err, fault.NotFound, "there is only default")
	_, err = h.VolumeSize(ctx, "/no/such/file")
	wantKind(t, err, fault.NotFound, "/no/such/file")
}

// A read of a volume, and of a pool whose UUID is known, is one call.
func TestVolume_callsAreFew(t *testing.T) {
	lh := libvirttest.Start(t)
	proxy := libvirttest.NewProxy(t, lh.Socket)
	h := open(t, Config{URI: proxy.URI()})
	ctx := t.Context()
	_, err := h.CreateVolume(ctx, VolumeSpec{Pool: "default", Name: "v", Format: "raw", CapacityBytes: 1 << 20, Owner: -1, Group: -1})
	must(t, err)
	for what, c := range map[string]struct {
		most int
		call func() error
	}{
		"Volume":       {1, func() error { _, err := h.Volume(ctx, "default", "v"); return err }},
		"Volumes":      {1, func() error { _, err := h.Volumes(ctx, "default"); return err }},
		"VolumeSize":   {2, func() error { _, err := h.VolumeSize(ctx, filepath.Join(lh.Dir, "images", "v")); return err }},
		"DeleteVolume": {1, func() error { return h.DeleteVolume(ctx, "default", "other") }},
	} {
		proxy.Reset()
		must(t, c.call())
		if n := len(proxy.Calls()); n > c.most {
			t.Errorf("%s made %d calls, at most %d are allowed: %v", what, n, c.most, proxy.Calls())
		}
	}
}

func TestVolume_fullDisk(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	dir := filepath.Join(lh.Dir, "small")
	if out, err := lh.Exec("sh", "-c", "mkdir -p "+dir+" && mount -t tmpfs -o size=1m tmpfs "+dir); err != nil {
		t.Fatal(out, err)
	}
	_, err := h.EnsureDirPool(ctx, PoolSpec{Name: "small", Path: dir, Owner: -1, Group: -1})
	must(t, err)
	_, err = h.CreateVolume(ctx, VolumeSpec{Pool: "small", Name: "v", Format: "raw", CapacityBytes: 4 << 20, Owner: -1, Group: -1})
	must(t, err)
	// The daemon races with itself: it may answer the end of the stream before
	// its own writer has met the full disk. What it does tell has to be told on.
	const tries = 40
	for range tries {
		if err = h.Upload(ctx, "small", "v", endless{}, 4<<20, nil); err != nil {
			break
		}
	}
	wantKind(t, err, fault.Exhausted, "small/v", "No space left")
}
