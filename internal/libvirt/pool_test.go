package libvirt

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestPool_readStartRefresh(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	p, err := h.Pool(ctx, "default")
	must(t, err)
	if p.Type != "dir" || p.Path != filepath.Join(lh.Dir, "images") || !p.Active || p.CapacityBytes == 0 || p.AvailableBytes == 0 {
		t.Errorf("%+v", p)
	}
	_, err = h.Pool(ctx, "nope")
	wantKind(t, err, fault.NotFound, "nope", h.URI(), "there is only default")
	wantKind(t, h.StartPool(ctx, "nope"), fault.NotFound, "there is only default")
	wantKind(t, h.RefreshPool(ctx, "nope"), fault.NotFound, "there is only default")

	lh.Virsh("pool-destroy", "default")
	all, err := h.Pools(ctx)
	must(t, err)
	if len(all) != 1 || all[0].Name != "default" || all[0].Active {
		t.Errorf("all pools: %+v", all)
	}
	p, err = h.Pool(ctx, "default")
	must(t, err)
	if p.Active {
		t.Error("an inactive pool reads active")
	}
	_, err = h.Volumes(ctx, "default")
	wantKind(t, err, fault.Invalid, "not active")
	must(t, h.StartPool(ctx, "default"))
	must(t, h.StartPool(ctx, "default"))

	writeFile(t, filepath.Join(p.Path, "new.img"), "content")
	if names, err := h.Volumes(ctx, "default"); err != nil || len(names) != 0 {
		t.Errorf("before the refresh: %q, %v", names, err)
	}
	must(t, h.RefreshPool(ctx, "default"))
	if names, err := h.Volumes(ctx, "default"); err != nil || !slices.Equal(names, []string{"new.img"}) {
		t.Errorf("after the refresh: %q, %v", names, err)
	}
}

// A pool that was removed and made anew has another UUID under its name.
func TestPool_madeAnew(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	must(t, h.RefreshPool(ctx, "default"))
	lh.Virsh("pool-destroy", "default")
	lh.Virsh("pool-undefine", "default")
	_, err := h.Volumes(ctx, "default")
	wantKind(t, err, fault.NotFound, "there are none")
	lh.Virsh("pool-create-as", "default", "dir", "--target", filepath.Join(lh.Dir, "images"))
	_, err = h.Volumes(ctx, "default")
	must(t, err)
	lh.Virsh("pool-destroy", "default")
	lh.Virsh("pool-create-as", "default", "dir", "--target", filepath.Join(lh.Dir, "images"))
	must(t, h.RefreshPool(ctx, "default"))
}

func TestEnsureDirPool(t *testing.T) {
	lh := libvirttest.Start(t)
	ctx := t.Context()
	spec := PoolSpec{Name: "muster & co", Path: filepath.Join(lh.Dir, "a", "b"), Mode: 0o711, Owner: -1, Group: -1}
	var all sync.WaitGroup
	for range 8 {
		h := open(t, Config{URI: lh.URI()}) // each like a process of its own
		all.Go(func() {
			p, err := h.EnsureDirPool(ctx, spec)
			if err != nil || !p.Active || p.Path != spec.Path || p.Name != spec.Name {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	all.Wait()
	if info, err := os.Stat(spec.Path); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	h := open(t, Config{URI: lh.URI()})
	lh.Virsh("pool-destroy", spec.Name)
	p, err := h.EnsureDirPool(ctx, spec)
	must(t, err)
	if !p.Active {
		t.Error("an inactive pool was not started")
	}
	lh.RestartDaemon()
	p, err = h.Pool(ctx, spec.Name)
	must(t, err)
	if !p.Active {
		t.Error("the pool does not start with the daemon")
	}
	spec.Path += "c"
	_, err = h.EnsureDirPool(ctx, spec)
	wantKind(t, err, fault.Conflict, "path "+p.Path)
	_, err = h.EnsureDirPool(ctx, PoolSpec{Name: "other", Path: p.Path, Owner: -1, Group: -1})
	wantKind(t, err, fault.Conflict, p.Name)
}
