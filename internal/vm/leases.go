package vm

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

// leaseCache reads the leases of each network once for many VMs.
type leaseCache struct {
	host *libvirt.Host
	now  func() time.Time

	mu   sync.Mutex
	nets map[string]*leaseTable
}

type leaseTable struct {
	mu   sync.Mutex
	read time.Time
	ips  map[string]string // by MAC
}

// of returns MAC → IP of a network, at most listingAge old.
func (c *leaseCache) of(ctx context.Context, network string) (map[string]string, error) {
	c.mu.Lock()
	t := c.nets[network]
	if t == nil {
		t = &leaseTable{}
		c.nets[network] = t
	}
	c.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.read.IsZero() && c.now().Sub(t.read) < listingAge {
		return t.ips, nil
	}
	leases, err := c.host.Leases(ctx, network)
	if err != nil {
		return nil, err
	}
	t.ips = map[string]string{}
	for _, l := range leases {
		t.ips[strings.ToLower(l.MAC)] = l.IP
	}
	t.read = c.now()
	return t.ips, nil
}
