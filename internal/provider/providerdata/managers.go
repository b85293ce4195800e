package providerdata

import (
	"log/slog"
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

// Logger returns the adapters' log.
func (d *Data) Logger() *slog.Logger {
	if d.cfg.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.cfg.Logger
}
