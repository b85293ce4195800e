package libvirt

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Pool is a storage pool.
type Pool struct {
	Name, UUID, Type, Path        string
	Active                        bool
	CapacityBytes, AvailableBytes uint64 // 0 while inactive
}

// PoolSpec describes a directory pool.
type PoolSpec struct {
	Name, Path   string
	Mode         os.FileMode // permission bits of the directory; 0: libvirt's default
	Owner, Group int         // -1: libvirt's default
}

// poolIDs remembers the UUID of a pool's name: the daemon looks pools up by
// UUID, and a lookup before each call would double the calls.
type poolIDs struct {
	mu   sync.Mutex
	uuid map[string]golibvirt.UUID
}

func (p *poolIDs) get(name string) (golibvirt.UUID, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, ok := p.uuid[name]
	return u, ok
}

func (p *poolIDs) set(name string, u golibvirt.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.uuid == nil {
		p.uuid = map[string]golibvirt.UUID{}
	}
	p.uuid[name] = u
}

func (p *poolIDs) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.uuid, name)
}

// lookUpPool asks the daemon. Where there is no such pool, the error names
// those that are there.
func (h *Host) lookUpPool(ctx context.Context, name string) (golibvirt.StoragePool, error) {
	r := request{op: "look up pool", subject: name}
	pool, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.StoragePool, error) {
		return l.StoragePoolLookupByName(name)
	})
	if err == nil {
		h.pools.set(name, pool.UUID)
		return pool, nil
	}
	if !fault.Is(err, fault.NotFound) {
		return pool, err
	}
	h.pools.forget(name)
	names, listErr := h.poolNames(ctx)
	if listErr != nil {
		return pool, err
	}
	return pool, fault.New(fault.NotFound, "libvirt: "+r.op, name, "no such pool on %s; there %s", h.URI(), thereAre(names))
}

func thereAre(names []string) string {
	switch len(names) {
	case 0:
		return "are none"
	case 1:
		return "is only " + names[0]
	}
	slices.Sort(names)
	return "are " + strings.Join(names, ", ")
}

func (h *Host) poolNames(ctx context.Context) ([]string, error) {
	return call(ctx, h, request{op: "list pools"}, func(l *golibvirt.Libvirt) ([]string, error) {
		pools, _, err := l.ConnectListAllStoragePools(1, 0)
		names := make([]string, len(pools))
		for i, p := range pools {
			names[i] = p.Name
		}
		return names, err
	})
}

// withPool makes one call on the named pool. A remembered UUID that the daemon
// no longer knows is looked up again: such a call has changed nothing.
func withPool[T any](ctx context.Context, h *Host, name string, r request, fn func(*golibvirt.Libvirt, golibvirt.StoragePool) (T, error)) (T, error) {
	u, known := h.pools.get(name)
	pool := golibvirt.StoragePool{Name: name, UUID: u}
	for {
		if !known {
			var err error
			if pool, err = h.lookUpPool(ctx, name); err != nil {
				var zero T
				return zero, err
			}
		}
		v, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (T, error) { return fn(l, pool) })
		if known && isCode(err, golibvirt.ErrNoStoragePool) {
			known = false
			continue
		}
		return v, err
	}
}

// Pool returns the named pool. Where there is none, the fault.NotFound names
// those that are there.
func (h *Host) Pool(ctx context.Context, name string) (Pool, error) {
	r := request{op: "read pool", subject: name}
	doc, err := withPool(ctx, h, name, r, func(l *golibvirt.Libvirt, p golibvirt.StoragePool) (string, error) {
		return l.StoragePoolGetXMLDesc(p, 0)
	})
	if err != nil {
		return Pool{}, err
	}
	active, err := withPool(ctx, h, name, r, func(l *golibvirt.Libvirt, p golibvirt.StoragePool) (int32, error) {
		return l.StoragePoolIsActive(p)
	})
	if err != nil {
		return Pool{}, err
	}
	p, err := parsePool(doc)
	if err != nil {
		return p, fault.New(fault.Unknown, "libvirt: "+r.op, name, "%w", err)
	}
	p.Active = active != 0
	return p, nil
}

func parsePool(doc string) (Pool, error) {
	var x struct {
		Type      string `xml:"type,attr"`
		Name      string `xml:"name"`
		UUID      string `xml:"uuid"`
		Capacity  uint64 `xml:"capacity"` // bytes, always
		Available uint64 `xml:"available"`
		Path      string `xml:"target>path"`
	}
	if err := xml.Unmarshal([]byte(doc), &x); err != nil {
		return Pool{}, err
	}
	return Pool{Name: x.Name, UUID: x.UUID, Type: x.Type, Path: x.Path, CapacityBytes: x.Capacity, AvailableBytes: x.Available}, nil
}

// StartPool makes an inactive pool active; one that is active already is no
// error.
func (h *Host) StartPool(ctx context.Context, name string) error {
	_, err := withPool(ctx, h, name, request{op: "start pool", subject: name, class: write},
		func(l *golibvirt.Libvirt, p golibvirt.StoragePool) (struct{}, error) {
			return struct{}{}, l.StoragePoolCreate(p, golibvirt.StoragePoolCreateNormal)
		})
	if err == nil || !isCode(err, golibvirt.ErrOperationInvalid) {
		return err
	}
	if p, readErr := h.Pool(ctx, name); readErr == nil && p.Active {
		return nil
	}
	return err
}

// RefreshPool makes the daemon read the pool's directory again: volumes made
// by others appear only then.
func (h *Host) RefreshPool(ctx context.Context, name string) error {
	_, err := withPool(ctx, h, name, request{op: "refresh pool", subject: name, class: slow},
		func(l *golibvirt.Libvirt, p golibvirt.StoragePool) (struct{}, error) {
			return struct{}{}, l.StoragePoolRefresh(p, 0)
		})
	return err
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
