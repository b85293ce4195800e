package libvirt

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// PoolSpec describes a directory pool.
type PoolSpec struct {
	Name, Path   string
	Mode         os.FileMode // permission bits of the directory; 0: libvirt's default
	Owner, Group int         // -1: libvirt's default
}

// EnsureDirPool returns the active directory pool of that name, and defines,
// builds and starts it as far as that is wanting. Two may do so at once. A
// pool of that name with another path is fault.Conflict.
func (h *Host) EnsureDirPool(ctx context.Context, s PoolSpec) (Pool, error) {
	p, err := h.Pool(ctx, s.Name)
	if fault.Is(err, fault.NotFound) {
		if err = h.defineDirPool(ctx, s); err == nil {
			p, err = h.Pool(ctx, s.Name)
		}
	}
	if err != nil {
		return Pool{}, err
	}
	if p.Type != "dir" || p.Path != s.Path {
		return p, fault.New(fault.Conflict, "libvirt: ensure pool", s.Name,
			"there is a pool of that name, type %s, path %s; type dir, path %s is wanted", p.Type, p.Path, s.Path)
	}
	if p.Active {
		return p, nil
	}
	if err := h.buildPool(ctx, s.Name); err != nil {
		return p, err
	}
	if err := h.StartPool(ctx, s.Name); err != nil {
		return p, err
	}
	return h.Pool(ctx, s.Name)
}

// defineDirPool defines and enlists the pool; that another did it first is no
// error.
func (h *Host) defineDirPool(ctx context.Context, s PoolSpec) error {
	r := request{op: "define pool", subject: s.Name, class: write}
	pool, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.StoragePool, error) {
		return l.StoragePoolDefineXML(poolXML(s), 0)
	})
	if err != nil {
		if fault.Is(err, fault.Conflict) {
			if _, lookErr := h.lookUpPool(ctx, s.Name); lookErr == nil {
				return nil
			}
		}
		return err
	}
	h.pools.set(s.Name, pool.UUID)
	r.op = "set autostart of pool"
	return do(ctx, h, r, func(l *golibvirt.Libvirt) error { return l.StoragePoolSetAutostart(pool, 1) })
}

// buildPool makes the directory; one that is there is kept. A pool that
// another has started in between cannot be built any more.
func (h *Host) buildPool(ctx context.Context, name string) error {
	_, err := withPool(ctx, h, name, request{op: "build pool", subject: name, class: write},
		func(l *golibvirt.Libvirt, p golibvirt.StoragePool) (struct{}, error) {
			return struct{}{}, l.StoragePoolBuild(p, golibvirt.StoragePoolBuildNew)
		})
	if isCode(err, golibvirt.ErrOperationInvalid) {
		return nil
	}
	return err
}

func poolXML(s PoolSpec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<pool type='dir'><name>%s</name><target><path>%s</path>", escape(s.Name), escape(s.Path))
	b.WriteString(permissionsXML(s.Mode, s.Owner, s.Group))
	b.WriteString("</target></pool>")
	return b.String()
}

func permissionsXML(mode os.FileMode, owner, group int) string {
	if mode == 0 && owner < 0 && group < 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<permissions>")
	if mode != 0 {
		fmt.Fprintf(&b, "<mode>0%o</mode>", mode.Perm())
	}
	if owner >= 0 {
		fmt.Fprintf(&b, "<owner>%d</owner>", owner)
	}
	if group >= 0 {
		fmt.Fprintf(&b, "<group>%d</group>", group)
	}
	b.WriteString("</permissions>")
	return b.String()
}

func escape(s string) string {
	var b strings.Builder
	// A strings.Builder never fails.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
