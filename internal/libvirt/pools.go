package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Pools returns all pools of the host, active or not, ordered as libvirt lists
// them.
func (h *Host) Pools(ctx context.Context) ([]Pool, error) {
	listed, err := call(ctx, h, request{op: "list pools"}, func(l *golibvirt.Libvirt) ([]golibvirt.StoragePool, error) {
		pools, _, err := l.ConnectListAllStoragePools(1, 0)
		return pools, err
	})
	if err != nil {
		return nil, err
	}
	found := make([]Pool, 0, len(listed))
	for _, l := range listed {
		p, err := h.Pool(ctx, l.Name)
		if fault.Is(err, fault.NotFound) {
			continue // gone since it was listed
		}
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}
