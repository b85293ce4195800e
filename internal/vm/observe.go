package vm

import (
	"context"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// listingAge is how old a host's listing may be to serve a refresh: all VMs of
// a plan share one.
const listingAge = 2 * time.Second

// Observe reads a domain for a refresh: its persistent definition, and the
// live one when it runs; everything else comes from listings that all VMs of
// the host share. fresh asks for listings made now. The error is
// fault.NotFound only when the domain is certainly gone.
func (m *Manager) Observe(ctx context.Context, uuid string, known domxml.Names, fresh bool) (*Observed, error) {
	age := listingAge
	if fresh {
		age = 0
	}
	inv, err := m.host.Inventory(ctx, age)
	if err != nil {
		return nil, err
	}
	xml, err := m.host.DomainXML(ctx, uuid, libvirt.Persistent)
	if err != nil {
		return nil, err
	}
	o := &Observed{Pools: map[string]string{}, DiskMiB: map[string]int64{}, Addresses: map[string]string{}}
	if o.Definition, err = domxml.Read(xml, known); err != nil {
		return nil, fault.New(fault.Invalid, "libvirt: read domain", uuid, "%w", err)
	}
	d, listed := inv.ByUUID(uuid)
	if !listed { // defined after the listing
		if d, err = m.host.DomainByUUID(ctx, uuid); err != nil {
			return nil, err
		}
	}
	o.State, o.Autostart = string(d.State), d.Autostart
	if err := m.observeDisks(ctx, o, d); err != nil {
		return nil, err
	}
	if !o.Running() {
		return o, nil
	}
	live, err := m.host.DomainXML(ctx, uuid, libvirt.Live)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
		return o, nil // went off in between
	}
	if err != nil {
		return nil, err
	}
	if o.Pending, err = domxml.Pending(live, xml, known); err != nil {
		return nil, fault.New(fault.Invalid, "libvirt: read domain", uuid, "%w", err)
	}
	o.Addresses = m.addresses(ctx, o.Definition.NICs)
	return o, nil
}

// observeDisks takes the sizes from the host's listing, and asks for those that
// it does not have. A volume of ours that is gone, as a destroy that was cut
// short leaves it, is a disk that is not there: the plan makes it again.
func (m *Manager) observeDisks(ctx context.Context, o *Observed, d libvirt.Domain) error {
	listed := map[string]uint64{}
	seeded := false
	for _, s := range d.Disks {
		listed[s.Target] = s.CapacityBytes
		seeded = seeded || s.Path == o.Definition.Seed && s.CapacityBytes > 0
	}
	var there []domxml.Disk
	for _, disk := range o.Definition.Disks {
		rec := diskMark(o.Definition.Mark, disk.Name)
		size := listed[disk.Target]
		if size == 0 {
			var err error
			size, err = m.sizeOf(ctx, rec, disk)
			if fault.Is(err, fault.NotFound) && rec != nil && rec.Created {
				continue
			}
			if err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
		there = append(there, disk)
		if size > 0 {
			o.DiskMiB[disk.Name] = int64(size / mib)
		}
		if rec != nil {
			o.Pools[disk.Name] = rec.Pool
		}
	}
	o.Definition.Disks = there
	if o.Definition.Mark == nil {
		return nil
	}
	if !seeded {
		if err := m.observeSeed(ctx, o); err != nil {
			return err
		}
	}
	for _, rec := range o.Definition.Mark.Disks { // deletion was cut short: still ours to delete
		if rec.Doomed && rec.Name != seedDisk && diskMark(o.Definition.Mark, rec.Name) == nil {
			o.Definition.Disks = append(o.Definition.Disks, domxml.Disk{Name: rec.Name})
			o.Pools[rec.Name] = rec.Pool
		}
	}
	return nil
}

// observeSeed forgets a seed whose volume is gone.
func (m *Manager) observeSeed(ctx context.Context, o *Observed) error {
	rec := diskMark(o.Definition.Mark, seedDisk)
	if o.Definition.Seed == "" || rec == nil {
		return nil
	}
	_, err := m.host.Volume(ctx, rec.Pool, rec.Volume)
	if fault.Is(err, fault.NotFound) {
		o.Definition.Seed = ""
		return nil
	}
	return err
}

// sizeOf asks for a disk's capacity in bytes: in one call where the mark's
// record says which volume it is.
func (m *Manager) sizeOf(ctx context.Context, rec *owner.Disk, disk domxml.Disk) (uint64, error) {
	if rec != nil && rec.Volume != "" {
		v, err := m.host.Volume(ctx, rec.Pool, rec.Volume)
		return v.CapacityBytes, err
	}
	return m.host.VolumeSize(ctx, disk.Path)
}

// addresses returns the leased address of each NIC that has one. Leases are
// read once per network for all VMs of a plan; a failure leaves them out, for
// no refresh fails over an address.
func (m *Manager) addresses(ctx context.Context, nics []domxml.NIC) map[string]string {
	out := map[string]string{}
	for _, n := range nics {
		if n.Network == "" {
			continue
		}
		leases, err := m.leases.of(ctx, n.Network)
		if err != nil {
			m.log.InfoContext(ctx, "vm: leases not readable", "network", n.Network, "error", err)
			continue
		}
		if ip := leases[n.MAC]; ip != "" {
			out[n.Name] = ip
		}
	}
	return out
}
