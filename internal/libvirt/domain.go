package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// XMLKind says which of a domain's or network's two descriptions is meant.
type XMLKind uint8

// The kinds. Of an inactive object both are the same.
const (
	Live       XMLKind = iota // what runs now
	Persistent                // what the next start uses
)

// DomainByName looks a domain up, fresh. The error is fault.NotFound only when
// the daemon says that there is none.
func (h *Host) DomainByName(ctx context.Context, name string) (Domain, error) {
	dom, err := call(ctx, h, request{op: "look up domain", subject: name}, func(l *golibvirt.Libvirt) (golibvirt.Domain, error) {
		return l.DomainLookupByName(name)
	})
	if err != nil {
		return Domain{}, err
	}
	return h.describe(ctx, dom)
}

// DomainByUUID looks a domain up, fresh. The error is fault.NotFound only when
// the daemon says that there is none.
func (h *Host) DomainByUUID(ctx context.Context, uuid string) (Domain, error) {
	u, err := parseUUID(uuid)
	if err != nil {
		return Domain{}, err
	}
	dom, err := call(ctx, h, request{op: "look up domain", subject: uuid}, func(l *golibvirt.Libvirt) (golibvirt.Domain, error) {
		return l.DomainLookupByUUID(u)
	})
	if err != nil {
		return Domain{}, err
	}
	return h.describe(ctx, dom)
}

// describe completes a looked-up domain. Two RPCs.
func (h *Host) describe(ctx context.Context, dom golibvirt.Domain) (Domain, error) {
	r := request{op: "read domain", subject: dom.Name}
	d := Domain{Name: dom.Name, UUID: formatUUID(dom.UUID), ID: dom.ID}
	records, err := h.stats(ctx, []golibvirt.Domain{dom})
	if err != nil {
		return d, err
	}
	if len(records) == 1 {
		d = domainOf(records[0])
	}
	on, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (int32, error) { return l.DomainGetAutostart(dom) })
	if isTransient(err) {
		err = nil
	}
	d.Autostart = on != 0
	return d, err
}

// isTransient recognises the answer of a domain without a persistent
// definition to a question about one.
func isTransient(err error) bool { return isCode(err, golibvirt.ErrOperationInvalid) }

// DomainState returns what the domain is doing and why. One RPC.
func (h *Host) DomainState(ctx context.Context, uuid string) (state State, reason string, err error) {
	dom, err := domainRef(uuid)
	if err != nil {
		return StateNone, "", err
	}
	n, err := call(ctx, h, request{op: "read state of domain", subject: uuid}, func(l *golibvirt.Libvirt) ([2]int32, error) {
		s, r, err := l.DomainGetState(dom, 0)
		return [2]int32{s, r}, err
	})
	if err != nil {
		return StateNone, "", err
	}
	state = stateOf(n[0])
	return state, reasonOf(state, n[1]), nil
}

// DomainXML returns the domain's description with its secrets (passwords of
// graphics, disks), so that defining it again loses none: never log it. One RPC.
func (h *Host) DomainXML(ctx context.Context, uuid string, kind XMLKind) (string, error) {
	dom, err := domainRef(uuid)
	if err != nil {
		return "", err
	}
	flags := golibvirt.DomainXMLSecure
	if kind == Persistent {
		flags |= golibvirt.DomainXMLInactive
	}
	return call(ctx, h, request{op: "read XML of domain", subject: uuid}, func(l *golibvirt.Libvirt) (string, error) {
		return l.DomainGetXMLDesc(dom, flags)
	})
}

// HasManagedSave reports whether the next start would resume a saved image
// instead of booting. One RPC.
func (h *Host) HasManagedSave(ctx context.Context, uuid string) (bool, error) {
	dom, err := domainRef(uuid)
	if err != nil {
		return false, err
	}
	n, err := call(ctx, h, request{op: "read managed save of domain", subject: uuid}, func(l *golibvirt.Libvirt) (int32, error) {
		return l.DomainHasManagedSaveImage(dom, 0)
	})
	return n != 0, err
}

// Messages returns what libvirt holds against the domain: taints,
// deprecations, I/O errors. Empty where the daemon does not know the call.
func (h *Host) Messages(ctx context.Context, uuid string) ([]string, error) {
	dom, err := domainRef(uuid)
	if err != nil {
		return nil, err
	}
	msgs, err := call(ctx, h, request{op: "read messages of domain", subject: uuid}, func(l *golibvirt.Libvirt) ([]string, error) {
		return l.DomainGetMessages(dom, 0)
	})
	return msgs, ignoreUnsupported(err)
}
