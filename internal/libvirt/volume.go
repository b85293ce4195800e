package libvirt

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Volume is a file in a pool.
type Volume struct {
	Pool, Name, Path string
	Format           string // "raw", "qcow2", ...
	BackingPath      string // "" without a backing file
	CapacityBytes    uint64 // what a guest sees
	AllocationBytes  uint64 // what the host has given
}

// VolumeSpec describes a volume to make.
type VolumeSpec struct {
	Pool, Name, Format         string
	CapacityBytes              uint64 // 0 with a backing file: as large as that
	BackingPath, BackingFormat string
	Mode                       os.FileMode // permission bits; 0: libvirt's default
	Owner, Group               int         // -1: libvirt's default
}

// volumeRef makes the reference that an RPC wants: the daemon looks a volume
// up by the names of its pool and itself.
func volumeRef(pool, name string) golibvirt.StorageVol {
	return golibvirt.StorageVol{Pool: pool, Name: name}
}

// missingPool turns "no such pool" into the error that names those there are.
func (h *Host) missingPool(ctx context.Context, pool string, err error) error {
	if !isCode(err, golibvirt.ErrNoStoragePool) {
		return err
	}
	if _, lookErr := h.lookUpPool(ctx, pool); lookErr != nil {
		return lookErr
	}
	return err
}

// Volumes returns the names of a pool's volumes, as of its last refresh.
func (h *Host) Volumes(ctx context.Context, pool string) ([]string, error) {
	r := request{op: "list volumes of pool", subject: pool}
	return withPool(ctx, h, pool, r, func(l *golibvirt.Libvirt, p golibvirt.StoragePool) ([]string, error) {
		vols, _, err := l.StoragePoolListAllVolumes(p, 1, 0)
		names := make([]string, len(vols))
		for i, v := range vols {
			names[i] = v.Name
		}
		return names, err
	})
}

// Volume returns one volume. fault.NotFound may mean the pool as well; its
// text tells. One RPC.
func (h *Host) Volume(ctx context.Context, pool, name string) (Volume, error) {
	r := request{op: "read volume", subject: pool + "/" + name}
	doc, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (string, error) {
		return l.StorageVolGetXMLDesc(volumeRef(pool, name), 0)
	})
	if err != nil {
		return Volume{}, h.missingPool(ctx, pool, err)
	}
	v, err := parseVolume(doc)
	if err != nil {
		return v, fault.New(fault.Unknown, "libvirt: "+r.op, r.subject, "%w", err)
	}
	v.Pool = pool
	return v, nil
}

func parseVolume(doc string) (Volume, error) {
	var x struct {
		Name     string `xml:"name"`
		Capacity uint64 `xml:"capacity"` // bytes, always
		Alloc    uint64 `xml:"allocation"`
		Path     string `xml:"target>path"`
		Format   struct {
			Type string `xml:"type,attr"`
		} `xml:"target>format"`
		Backing string `xml:"backingStore>path"`
	}
	if err := xml.Unmarshal([]byte(doc), &x); err != nil {
		return Volume{}, err
	}
	return Volume{
		Name: x.Name, Path: x.Path, Format: x.Format.Type, BackingPath: x.Backing,
		CapacityBytes: x.Capacity, AllocationBytes: x.Alloc,
	}, nil
}

// VolumeSize returns the capacity in bytes of the volume at that path of the
// host. Two RPCs.
func (h *Host) VolumeSize(ctx context.Context, path string) (uint64, error) {
	r := request{op: "look up volume", subject: path}
	vol, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.StorageVol, error) {
		return l.StorageVolLookupByPath(path)
	})
	if err != nil {
		return 0, err
	}
	r.op = "read volume"
	return call(ctx, h, r, func(l *golibvirt.Libvirt) (uint64, error) {
		_, capacity, _, err := l.StorageVolGetInfo(vol)
		return capacity, err
	})
}

// CreateVolume makes an empty or backed volume and reads it back.
// fault.Conflict when there is one of that name.
func (h *Host) CreateVolume(ctx context.Context, s VolumeSpec) (Volume, error) {
	r := request{op: "create volume", subject: s.Pool + "/" + s.Name, class: write}
	_, err := withPool(ctx, h, s.Pool, r, func(l *golibvirt.Libvirt, p golibvirt.StoragePool) (golibvirt.StorageVol, error) {
		return l.StorageVolCreateXML(p, volumeXML(s), 0)
	})
	if err != nil {
		return Volume{}, err
	}
	return h.Volume(ctx, s.Pool, s.Name)
}

func volumeXML(s VolumeSpec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<volume><name>%s</name>", escape(s.Name))
	if s.CapacityBytes > 0 || s.BackingPath == "" {
		fmt.Fprintf(&b, "<capacity unit='bytes'>%d</capacity>", s.CapacityBytes)
	}
	b.WriteString("<allocation>0</allocation><target>")
	if s.Format != "" {
		fmt.Fprintf(&b, "<format type='%s'/>", escape(s.Format))
	}
	if s.Format == "qcow2" { // libvirt's default, version 2, takes no checkpoints
		b.WriteString("<compat>1.1</compat>")
	}
	b.WriteString(permissionsXML(s.Mode, s.Owner, s.Group))
	b.WriteString("</target>")
	if s.BackingPath != "" {
		fmt.Fprintf(&b, "<backingStore><path>%s</path>", escape(s.BackingPath))
		if s.BackingFormat != "" {
			fmt.Fprintf(&b, "<format type='%s'/>", escape(s.BackingFormat))
		}
		b.WriteString("</backingStore>")
	}
	b.WriteString("</volume>")
	return b.String()
}

// DeleteVolume removes a volume and its content. One that is gone is no error.
// libvirt does not mind whether another volume is backed by it.
func (h *Host) DeleteVolume(ctx context.Context, pool, name string) error {
	r := request{op: "delete volume", subject: pool + "/" + name, class: write}
	err := do(ctx, h, r, func(l *golibvirt.Libvirt) error {
		return l.StorageVolDelete(volumeRef(pool, name), golibvirt.StorageVolDeleteNormal)
	})
	if isCode(err, golibvirt.ErrNoStorageVol) {
		return nil
	}
	return h.missingPool(ctx, pool, err)
}

// ResizeVolume sets the capacity in bytes of a volume that no guest has open.
// It only grows.
func (h *Host) ResizeVolume(ctx context.Context, pool, name string, bytes uint64) error {
	r := request{op: "resize volume", subject: pool + "/" + name, class: write}
	err := do(ctx, h, r, func(l *golibvirt.Libvirt) error {
		return l.StorageVolResize(volumeRef(pool, name), bytes, 0)
	})
	return h.missingPool(ctx, pool, err)
}
