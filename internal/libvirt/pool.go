package libvirt

import (
	"context"
	"encoding/xml"
	"slices"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Pool is a storage pool.
type Pool struct {
	Name, UUID, Type, Path        string
	Active                        bool
	CapacityBytes, AvailableBytes uint64 // 0 while inactive
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
