package vm

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
)

// macIndex knows the owner of every MAC on one host. Libvirt checks none of
// it: two domains may be defined with one address. The host's definitions are
// read once, when the first new address asks, and ours are added as they come.
type macIndex struct {
	host *libvirt.Host

	mu     sync.Mutex
	loaded bool
	owners map[string]Holder
}

// Holder is the domain that holds a MAC.
type Holder struct{ Name, UUID string }

// Holder returns who on this host holds a MAC, if anybody does.
func (m *Manager) Holder(ctx context.Context, mac string) (Holder, bool, error) {
	if err := m.macs.load(ctx); err != nil {
		return Holder{}, false, err
	}
	m.macs.mu.Lock()
	defer m.macs.mu.Unlock()
	h, ok := m.macs.owners[mac]
	return h, ok, nil
}

func (x *macIndex) load(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.loaded {
		return nil
	}
	inv, err := x.host.Inventory(ctx, 0)
	if err != nil {
		return err
	}
	owners := map[string]Holder{}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for _, d := range inv.All() {
		g.Go(func() error {
			xml, err := x.host.DomainXML(gctx, d.UUID, libvirt.Persistent)
			if fault.Is(err, fault.NotFound) {
				return nil // removed in the meantime
			}
			if err != nil {
				return err
			}
			macs, err := domxml.MACs(xml)
			if err != nil {
				return fmt.Errorf("domain %s: %w", d.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, mac := range macs {
				owners[mac] = Holder{Name: d.Name, UUID: d.UUID}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	x.owners, x.loaded = owners, true
	return nil
}

// set records the addresses of a domain that we have defined; nil forgets it.
func (x *macIndex) set(h Holder, nics []domxml.NIC) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.loaded {
		return
	}
	for mac, old := range x.owners {
		if old.UUID == h.UUID {
			delete(x.owners, mac)
		}
	}
	for _, n := range nics {
		x.owners[n.MAC] = h
	}
}
