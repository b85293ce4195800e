package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// Affect says which description of a domain a change is written to.
type Affect uint8

// The two, which may be combined.
const (
	AffectConfig Affect = 1 << iota // the persistent one
	AffectLive                      // the running guest
)

func (a Affect) flags() golibvirt.DomainModificationImpact {
	f := golibvirt.DomainAffectCurrent
	if a&AffectConfig != 0 {
		f |= golibvirt.DomainAffectConfig
	}
	if a&AffectLive != 0 {
		f |= golibvirt.DomainAffectLive
	}
	return f
}

// AttachDevice adds the device described by xml. Give a NIC its MAC: libvirt
// makes one up otherwise.
func (h *Host) AttachDevice(ctx context.Context, uuid, xml string, a Affect) error {
	return h.change(ctx, uuid, request{op: "attach device to domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainAttachDeviceFlags(d, xml, uint32(a.flags()))
	})
}

// DetachDevice removes the device that xml identifies. fault.NotFound may mean
// the device as well as the domain. Live, the guest has yet to let go of it.
func (h *Host) DetachDevice(ctx context.Context, uuid, xml string, a Affect) error {
	return h.change(ctx, uuid, request{op: "detach device from domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainDetachDeviceFlags(d, xml, uint32(a.flags()))
	})
}

// UpdateDevice changes the device that xml identifies. Give a NIC its MAC:
// libvirt makes one up otherwise.
func (h *Host) UpdateDevice(ctx context.Context, uuid, xml string, a Affect) error {
	return h.change(ctx, uuid, request{op: "update device of domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainUpdateDeviceFlags(d, xml, golibvirt.DomainDeviceModifyFlags(a.flags()))
	})
}

// ResizeBlock sets the size in bytes of a disk of a running domain.
func (h *Host) ResizeBlock(ctx context.Context, uuid, target string, bytes uint64) error {
	return h.change(ctx, uuid, request{op: "resize disk " + target + " of domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainBlockResize(d, target, bytes, golibvirt.DomainBlockResizeBytes)
	})
}

// SetMetadata stores the element xml under the namespace uri, with key as its
// prefix, in the persistent description and, with live, in the running one. An
// empty xml removes it.
func (h *Host) SetMetadata(ctx context.Context, uuid, uri, key, xml string, live bool) error {
	affect := AffectConfig
	if live {
		affect |= AffectLive
	}
	return h.change(ctx, uuid, request{op: "set metadata of domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainSetMetadata(d, int32(golibvirt.DomainMetadataElement),
			optional(xml), golibvirt.OptString{key}, golibvirt.OptString{uri}, affect.flags())
	})
}

// Metadata returns the element stored under the namespace uri in the
// persistent description; fault.NotFound where there is none. One RPC.
func (h *Host) Metadata(ctx context.Context, uuid, uri string) (string, error) {
	dom, err := domainRef(uuid)
	if err != nil {
		return "", err
	}
	return call(ctx, h, request{op: "read metadata of domain", subject: uuid}, func(l *golibvirt.Libvirt) (string, error) {
		return l.DomainGetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{uri}, golibvirt.DomainAffectConfig)
	})
}

// optional is libvirt's nullable string: "" is null.
func optional(s string) golibvirt.OptString {
	if s == "" {
		return nil
	}
	return golibvirt.OptString{s}
}
