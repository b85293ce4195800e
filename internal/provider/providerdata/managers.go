package providerdata

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

// vmManagers holds one manager per opened host, for what it knows of a host
// (who holds which MAC, whose turn a restart is) serves all resources.
type vmManagers struct {
	mu     sync.Mutex
	byHost map[*libvirt.Host]*vm.Manager
}

// VMs returns the manager of the domains of a host.
func (d *Data) VMs(h *libvirt.Host) *vm.Manager {
	d.vms.mu.Lock()
	defer d.vms.mu.Unlock()
	if d.vms.byHost == nil {
		d.vms.byHost = map[*libvirt.Host]*vm.Manager{}
	}
	m := d.vms.byHost[h]
	if m == nil {
		m = vm.New(h, d.Logger(), time.Now)
		d.vms.byHost[h] = m
	}
	return m
}

// Finish does what is left to do when Terraform has saved its state and ends
// this process, as far as ctx leaves time.
func (d *Data) Finish(ctx context.Context) {
	d.vms.mu.Lock()
	managers := slices.Collect(maps.Values(d.vms.byHost))
	d.vms.mu.Unlock()
	var all sync.WaitGroup
	for _, m := range managers {
		all.Go(func() { m.ConfirmMade(ctx) })
	}
	all.Wait()
}

// Logger returns the adapters' log.
func (d *Data) Logger() *slog.Logger {
	if d.cfg.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.cfg.Logger
}

// departed are the identities of what this process has destroyed. In the second
// half of a replacement Terraform gives a provider neither the state nor the
// private state of what was there.
type departed struct {
	mu     sync.Mutex
	byName map[string][]byte
}

// Depart remembers the identity of a resource that is about to be destroyed.
func (d *Data) Depart(name string, identity []byte) {
	d.gone.mu.Lock()
	defer d.gone.mu.Unlock()
	if d.gone.byName == nil {
		d.gone.byName = map[string][]byte{}
	}
	d.gone.byName[name] = identity
}

// Departed returns the identity of a resource of that name that this process
// has destroyed, or nil.
func (d *Data) Departed(name string) []byte {
	d.gone.mu.Lock()
	defer d.gone.mu.Unlock()
	return d.gone.byName[name]
}
