package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// RenameDomain gives a domain that is off another name. UUID, volumes and
// metadata stay. A running one is refused by libvirt
// (https://libvirt.org/html/libvirt-libvirt-domain.html#virDomainRename).
func (h *Host) RenameDomain(ctx context.Context, uuid, name string) error {
	return h.change(ctx, uuid, request{op: "rename domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		_, err := l.DomainRename(d, golibvirt.OptString{name}, 0)
		return err
	})
}
