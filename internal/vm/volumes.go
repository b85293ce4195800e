package vm

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

const (
	mib      = 1 << 20
	seedDisk = "cloud-init seed" // the name of the seed in the owner mark; no disk can have it
)

// volumePlan is one volume that the domain needs.
type volumePlan struct {
	disk    domxml.Disk
	mark    owner.Disk
	size    uint64 // bytes; 0: the image's
	backing *libvirt.Volume
	exists  bool // attached already
}

// planDisks decides for each declared disk which volume it is. A disk that
// the definition has already keeps its volume; a new one gets a volume whose
// name carries the incarnation, so that nobody else's can have it.
func (m *Manager) planDisks(ctx context.Context, r Request, have domxml.Definition, incarnation string) ([]volumePlan, error) {
	var out []volumePlan
	for _, d := range r.Disks {
		p, err := m.planDisk(ctx, r, d, have, incarnation)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (m *Manager) planDisk(ctx context.Context, r Request, d DiskRequest, have domxml.Definition, incarnation string) (volumePlan, error) {
	bus := d.Bus
	if bus == "" {
		bus = domxml.DefaultDiskBus
	}
	field := fmt.Sprintf("disk %q", d.Name)
	pool, err := m.host.Pool(ctx, d.Pool)
	if err != nil {
		return volumePlan{}, poolProblem(field, d.Pool, err)
	}
	p := volumePlan{size: uint64(d.SizeMiB) * mib}
	if d.Image != "" {
		image, err := m.image(ctx, d.Image)
		if err != nil {
			return volumePlan{}, &Problem{
				Field: field + ".image", Happened: err.Error(), Err: err,
				Expected: "The image is on the same host as the VM.",
				Todo:     "Create it with muster_image and give its id, or correct the name.",
			}
		}
		if p.size != 0 && p.size < image.CapacityBytes {
			return volumePlan{}, &Problem{
				Field:    field + ".size_mib",
				Happened: fmt.Sprintf("%d MiB is smaller than the image %s, which holds %d MiB", d.SizeMiB, d.Image, ceilMiB(image.CapacityBytes)),
				Expected: "A disk is at least as large as its image.",
				Todo:     fmt.Sprintf("Raise size_mib to %d or more, or leave it out.", ceilMiB(image.CapacityBytes)),
			}
		}
		p.backing = &image
	}
	if p.size == 0 && p.backing != nil {
		p.size = p.backing.CapacityBytes
	}
	format := volumeFormat(pool.Type)
	p.disk = domxml.Disk{Name: d.Name, Format: format, Bus: bus}
	p.mark = owner.Disk{Name: d.Name, Pool: d.Pool, Created: true}
	for _, h := range have.Disks {
		if h.Name == d.Name {
			p.disk.Target, p.disk.Path, p.disk.Format, p.exists = h.Target, h.Path, h.Format, true
		}
	}
	if recorded := diskMark(have.Mark, d.Name); recorded != nil {
		p.mark.Volume, p.mark.Created = recorded.Volume, recorded.Created
	}
	switch {
	case p.mark.Volume == "" && p.exists: // attached by somebody before we took the domain over
		vol, err := m.host.VolumeByPath(ctx, p.disk.Path)
		if err == nil {
			p.mark.Pool, p.mark.Volume = vol.Pool, vol.Name
		}
		p.mark.Created = false
	case p.mark.Volume == "":
		p.mark.Volume = fmt.Sprintf("%s-%s-%.8s%s", r.Spec.Name, d.Name, incarnation, extension(format))
	}
	if p.disk.Path == "" {
		p.disk.Path = path.Join(pool.Path, p.mark.Volume)
	}
	return p, nil
}

func diskMark(m *owner.Mark, name string) *owner.Disk {
	if m == nil {
		return nil
	}
	for i := range m.Disks {
		if m.Disks[i].Name == name && !m.Disks[i].Doomed {
			return &m.Disks[i]
		}
	}
	return nil
}

// volumeFormat is qcow2 where a volume is a file, else raw.
func volumeFormat(poolType string) string {
	switch poolType {
	case "dir", "fs", "netfs", "gluster":
		return "qcow2"
	default:
		return "raw"
	}
}

func extension(format string) string {
	if format == "qcow2" {
		return ".qcow2"
	}
	return ""
}

func ceilMiB(bytes uint64) uint64 { return (bytes + mib - 1) / mib }

// image finds a volume by "POOL/VOLUME" or by its absolute path.
func (m *Manager) image(ctx context.Context, ref string) (libvirt.Volume, error) {
	if strings.HasPrefix(ref, "/") {
		return m.host.VolumeByPath(ctx, ref)
	}
	pool, name, ok := strings.Cut(ref, "/")
	if !ok {
		return libvirt.Volume{}, fault.New(fault.Invalid, "libvirt: look up image", ref, "want POOL/VOLUME or an absolute path")
	}
	return m.host.Volume(ctx, pool, name)
}

func poolProblem(field, pool string, err error) error {
	return &Problem{
		Field: field + ".pool", Happened: err.Error(), Err: err,
		Expected: fmt.Sprintf("The storage pool %q is defined on the host.", pool),
		Todo:     "Define the pool (`virsh pool-define-as`, `virsh pool-start`), or name one that exists.",
	}
}

// ensureDisks makes the volumes that are missing. One that is there is kept;
// only what a create that never ended left behind, and is not what is asked for
// now, is made anew (unfinished).
func (m *Manager) ensureDisks(ctx context.Context, plans []volumePlan, unfinished bool) error {
	for _, p := range plans {
		if !p.mark.Created {
			continue
		}
		if err := m.ensureDisk(ctx, p, unfinished); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) ensureDisk(ctx context.Context, p volumePlan, unfinished bool) error {
	have, err := m.host.Volume(ctx, p.mark.Pool, p.mark.Volume)
	switch {
	case err == nil && (!unfinished || serves(have, p)):
		return nil
	case err == nil: // left by a create that was asked for something else
		if err := m.host.DeleteVolume(ctx, p.mark.Pool, p.mark.Volume); err != nil {
			return err
		}
	case !fault.Is(err, fault.NotFound):
		return err
	}
	spec := libvirt.VolumeSpec{
		Pool: p.mark.Pool, Name: p.mark.Volume, Format: p.disk.Format, CapacityBytes: p.size, Owner: -1, Group: -1,
	}
	if p.backing != nil {
		spec.BackingPath, spec.BackingFormat = p.backing.Path, p.backing.Format
	}
	_, err = m.host.CreateVolume(ctx, spec)
	if fault.Is(err, fault.Conflict) {
		return nil // a write whose reply was lost has made it
	}
	if err != nil {
		return &Problem{
			Field: fmt.Sprintf("disk %q", p.disk.Name), Happened: err.Error(), Err: err,
			Expected: fmt.Sprintf("Pool %q takes a volume of %d MiB.", p.mark.Pool, ceilMiB(p.size)),
			Todo:     "Free space in the pool, or use another one; apply again.",
		}
	}
	return nil
}

func serves(v libvirt.Volume, p volumePlan) bool {
	backing := ""
	if p.backing != nil {
		backing = p.backing.Path
	}
	return v.BackingPath == backing && v.CapacityBytes == p.size
}

// planSeed returns the seed's volume and path, or empty values without one.
func (m *Manager) planSeed(ctx context.Context, r Request) (owner.Disk, string, error) {
	if r.Seed == nil {
		return owner.Disk{}, "", nil
	}
	pool, err := m.host.Pool(ctx, r.Seed.Pool)
	if err != nil {
		return owner.Disk{}, "", poolProblem("cloud_init", r.Seed.Pool, err)
	}
	d := owner.Disk{Name: seedDisk, Pool: r.Seed.Pool, Volume: fmt.Sprintf("%s-seed-%.16s.iso", r.Spec.Name, r.Seed.Digest), Created: true}
	return d, path.Join(pool.Path, d.Volume), nil
}

// ensureSeed writes the seed's volume, unless the domain has it attached
// already and it is there. A half-written one is written again.
func (m *Manager) ensureSeed(ctx context.Context, r Request, d owner.Disk, attached bool) error {
	if r.Seed == nil {
		return nil
	}
	if attached {
		_, err := m.host.Volume(ctx, d.Pool, d.Volume)
		if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	size := uint64(len(r.Seed.ISO))
	_, err := m.host.CreateVolume(ctx, libvirt.VolumeSpec{
		Pool: d.Pool, Name: d.Volume, Format: "raw", CapacityBytes: size, Mode: 0o600, Owner: -1, Group: -1,
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	if err := m.host.Upload(ctx, d.Pool, d.Volume, bytes.NewReader(r.Seed.ISO), int64(size), nil); err != nil {
		return seedProblem(d, err)
	}
	return m.verifySeed(ctx, r.Seed.ISO, d)
}

// verifySeed reads the seed back: libvirtd may answer that an upload went well
// which a full disk has cut short.
func (m *Manager) verifySeed(ctx context.Context, iso []byte, d owner.Disk) error {
	var there bytes.Buffer
	if _, err := m.host.Download(ctx, d.Pool, d.Volume, 0, uint64(len(iso)), &there); err != nil {
		return err
	}
	if !bytes.Equal(there.Bytes(), iso) {
		return seedProblem(d, fault.New(fault.Exhausted, "libvirt: write volume", d.Pool+"/"+d.Volume, "what was written is not what is there; the pool is full"))
	}
	return nil
}

func seedProblem(d owner.Disk, err error) error {
	if !fault.Is(err, fault.Exhausted) {
		return err
	}
	return &Problem{
		Field: "cloud_init", Happened: err.Error(), Err: err,
		Expected: fmt.Sprintf("Pool %q takes the seed.", d.Pool),
		Todo:     "Free space in the pool, or give cloud_init another pool; apply again.",
	}
}

// doom marks volumes of the old mark that the new one no longer has, so that
// a run which is cut short before they are deleted is not their end.
func doom(mark *owner.Mark, old *owner.Mark) {
	if old == nil {
		return
	}
	for _, d := range old.Disks {
		same := func(n owner.Disk) bool { return n.Pool == d.Pool && n.Volume == d.Volume }
		if d.Created && d.Volume != "" && !slices.ContainsFunc(mark.Disks, same) {
			d.Doomed, d.Target = true, ""
			mark.Disks = append(mark.Disks, d)
		}
	}
}

// reap deletes the doomed volumes that the running machine no longer has open
// and takes them off the mark. It reports whether the mark changed.
func (m *Manager) reap(ctx context.Context, mark *owner.Mark, live *domxml.Definition) (bool, error) {
	var kept []owner.Disk
	for _, d := range mark.Disks {
		if !d.Doomed || m.inUse(d, live) {
			kept = append(kept, d)
			continue
		}
		if err := m.host.DeleteVolume(ctx, d.Pool, d.Volume); err != nil && !fault.Is(err, fault.NotFound) {
			return false, err
		}
	}
	changed := len(kept) != len(mark.Disks)
	mark.Disks = kept
	return changed, nil
}

func (m *Manager) inUse(d owner.Disk, live *domxml.Definition) bool {
	if live == nil {
		return false
	}
	if path.Base(live.Seed) == d.Volume {
		return true
	}
	return slices.ContainsFunc(live.Disks, func(x domxml.Disk) bool { return path.Base(x.Path) == d.Volume })
}
