package libvirt

import (
	"context"
	"sync"

	golibvirt "github.com/digitalocean/go-libvirt"
)

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
