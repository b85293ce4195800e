package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// VolumeByPath returns the volume at that path of the host, with the pool that
// it is in. fault.NotFound when no active pool has it. Two RPCs.
func (h *Host) VolumeByPath(ctx context.Context, path string) (Volume, error) {
	r := request{op: "look up volume", subject: path}
	vol, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.StorageVol, error) {
		return l.StorageVolLookupByPath(path)
	})
	if err != nil {
		return Volume{}, err
	}
	return h.Volume(ctx, vol.Pool, vol.Name)
}
