package libvirt

import (
	"context"
	"strings"
	"sync"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Domain is what a listing says about a domain.
type Domain struct {
	Name, UUID string
	ID         int32 // of the running guest; -1 when off
	State      State
	Autostart  bool
	Disks      []DiskStat // empty where the driver has no block statistics
}

// DiskStat is one disk of a domain as the hypervisor sees it.
type DiskStat struct {
	Target, Path  string
	CapacityBytes uint64 // 0: not known
}

// Inventory is a listing of all domains of a host at one moment.
type Inventory struct {
	domains []Domain
	byUUID  map[string]int
	byName  map[string]int
}

func newInventory(domains []Domain) *Inventory {
	inv := &Inventory{domains: domains, byUUID: make(map[string]int, len(domains)), byName: make(map[string]int, len(domains))}
	for i, d := range domains {
		inv.byUUID[d.UUID], inv.byName[d.Name] = i, i
	}
	return inv
}

// ByUUID returns the domain with that UUID, in either case.
func (inv *Inventory) ByUUID(uuid string) (Domain, bool) {
	i, ok := inv.byUUID[strings.ToLower(uuid)]
	if !ok {
		return Domain{}, false
	}
	return inv.domains[i], true
}

// ByName returns the domain of that name.
func (inv *Inventory) ByName(name string) (Domain, bool) {
	i, ok := inv.byName[name]
	if !ok {
		return Domain{}, false
	}
	return inv.domains[i], true
}

// All returns the domains in the host's order. The slice is shared.
func (inv *Inventory) All() []Domain { return inv.domains }

// inventoryCache shares one listing among callers. The generation counts
// writes through this Host: a listing begun before a write is of no use to
// who asks after it.
type inventoryCache struct {
	mu         sync.Mutex
	generation uint64
	latest     *listing
	running    *listing
}

// listing is one listing, under way or done.
type listing struct {
	generation uint64
	began      time.Time
	done       chan struct{}
	inv        *Inventory
	err        error
}

func (c *inventoryCache) invalidate() {
	c.mu.Lock()
	c.generation++
	c.mu.Unlock()
}

// Inventory lists all domains in two RPCs, however many there are. Concurrent
// callers share one listing, and one begun less than maxAge ago is used again
// unless something was written through this Host since.
func (h *Host) Inventory(ctx context.Context, maxAge time.Duration) (*Inventory, error) {
	l := h.listing(maxAge)
	select {
	case <-l.done:
		return l.inv, l.err
	case <-ctx.Done():
		return nil, fault.New(fault.Unavailable, "libvirt: list domains", "", "the call was cut short: %w", ctx.Err())
	}
}

func (h *Host) listing(maxAge time.Duration) *listing {
	c := &h.inventory
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.running; r != nil && r.generation == c.generation {
		return r
	}
	if l := c.latest; l != nil && l.generation == c.generation && time.Since(l.began) < maxAge {
		return l
	}
	l := &listing{generation: c.generation, began: time.Now(), done: make(chan struct{})}
	if !h.spawn(func() { h.list(l) }) {
		l.err = h.classify(&unsentError{errClosed}, request{op: "list domains"}, false)
		close(l.done)
		return l
	}
	c.running = l
	return l
}

// list is no caller's own: one who gives up does not take it from the others.
func (h *Host) list(l *listing) {
	domains, err := h.listDomains(h.base)
	c := &h.inventory
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		l.err = err
	} else {
		l.inv = newInventory(domains)
		if c.latest == nil || c.latest.generation <= l.generation {
			c.latest = l
		}
	}
	if c.running == l {
		c.running = nil
	}
	close(l.done)
}

func (h *Host) listDomains(ctx context.Context) ([]Domain, error) {
	records, err := h.stats(ctx, nil)
	if err != nil {
		return nil, err
	}
	auto, err := call(ctx, h, request{op: "list domains"}, func(l *golibvirt.Libvirt) (map[golibvirt.UUID]bool, error) {
		list, _, err := l.ConnectListAllDomains(1, golibvirt.ConnectListDomainsAutostart)
		set := make(map[golibvirt.UUID]bool, len(list))
		for _, d := range list {
			set[d.UUID] = true
		}
		return set, err
	})
	if err != nil {
		return nil, err
	}
	domains := make([]Domain, len(records))
	for i, r := range records {
		domains[i] = domainOf(r)
		domains[i].Autostart = auto[r.Dom.UUID]
	}
	return domains, nil
}

// stats asks for state and disks of the given domains, nil for all, without
// waiting for one that is busy; a driver that knows less is asked for less.
func (h *Host) stats(ctx context.Context, doms []golibvirt.Domain) ([]golibvirt.DomainStatsRecord, error) {
	const (
		state = uint32(golibvirt.DomainStatsState)
		block = uint32(golibvirt.DomainStatsBlock)
		quick = uint32(golibvirt.ConnectGetAllDomainsStatsNowait)
	)
	var err error
	for _, ask := range []struct{ stats, flags uint32 }{{state | block, quick}, {state, 0}} {
		var records []golibvirt.DomainStatsRecord
		records, err = call(ctx, h, request{op: "list domains"}, func(l *golibvirt.Libvirt) ([]golibvirt.DomainStatsRecord, error) {
			return l.ConnectGetAllDomainStats(doms, ask.stats, ask.flags)
		})
		if err == nil {
			return records, nil
		}
		if !fault.Is(err, fault.Unsupported) {
			break
		}
	}
	return nil, err
}

func domainOf(r golibvirt.DomainStatsRecord) Domain {
	d := Domain{Name: r.Dom.Name, UUID: formatUUID(r.Dom.UUID), ID: r.Dom.ID, State: StateNone}
	p := paramsOf(r.Params)
	if n, ok := p.integer("state.state"); ok {
		d.State = stateOf(int32(n))
	}
	d.Disks = p.disks()
	return d
}
