package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// TryDomain starts a transient domain, paused before its first instruction,
// and ends it at once. It proves that the hypervisor, as the user and under the
// confinement that it really has, can open what the XML names. The domain
// cannot outlive the connection.
func (h *Host) TryDomain(ctx context.Context, xml string) error {
	r := request{op: "try domain", subject: nameIn(xml), class: write}
	dom, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.Domain, error) {
		return l.DomainCreateXML(xml, golibvirt.DomainStartPaused|golibvirt.DomainStartAutodestroy)
	})
	if err != nil {
		return err
	}
	return h.DestroyDomain(ctx, formatUUID(dom.UUID))
}
