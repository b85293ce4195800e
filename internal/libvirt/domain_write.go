package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// StartOptions changes how a domain starts.
type StartOptions struct {
	Paused    bool // stop before the first instruction
	ForceBoot bool // discard a managed save image instead of resuming it
}

func ignoreUnsupported(err error) error {
	if fault.Is(err, fault.Unsupported) {
		return nil
	}
	return err
}

// change makes one call that changes the domain with that UUID.
func (h *Host) change(ctx context.Context, uuid string, r request, fn func(*golibvirt.Libvirt, golibvirt.Domain) error) error {
	dom, err := domainRef(uuid)
	if err != nil {
		return err
	}
	r.subject = uuid
	if r.class == read {
		r.class = write
	}
	return do(ctx, h, r, func(l *golibvirt.Libvirt) error { return fn(l, dom) })
}

// DefineDomain writes the persistent description, new or in the place of the
// one with its UUID, after the daemon has checked it against its schema. What
// is refused changes nothing (fault.Invalid, or Conflict for a name that is
// taken). Of the result only Name, UUID, ID and State are set; State is
// nostate for a domain that is on.
func (h *Host) DefineDomain(ctx context.Context, xml string) (Domain, error) {
	r := request{op: "define domain", subject: nameIn(xml), class: write}
	define := func(flags golibvirt.DomainDefineFlags) (golibvirt.Domain, error) {
		return call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.Domain, error) {
			return l.DomainDefineXMLFlags(xml, flags)
		})
	}
	dom, err := define(golibvirt.DomainDefineValidate)
	if fault.Is(err, fault.Unsupported) {
		dom, err = define(0)
	}
	if err != nil {
		return Domain{}, err
	}
	d := Domain{Name: dom.Name, UUID: formatUUID(dom.UUID), ID: dom.ID, State: StateShutoff}
	if d.ID >= 0 {
		d.State = StateNone
	}
	return d, nil
}

// UndefineDomain removes the persistent description and all that hangs on it:
// managed save, metadata of snapshots and checkpoints, NVRAM, TPM state. A
// driver that does not know a flag is asked again with fewer.
func (h *Host) UndefineDomain(ctx context.Context, uuid string) error {
	const (
		base   = golibvirt.DomainUndefineManagedSave | golibvirt.DomainUndefineSnapshotsMetadata
		points = base | golibvirt.DomainUndefineCheckpointsMetadata
		nvram  = points | golibvirt.DomainUndefineNvram
		tpm    = nvram | golibvirt.DomainUndefineTpm
	)
	var err error
	for _, flags := range []golibvirt.DomainUndefineFlagsValues{tpm, nvram, points, base, 0} {
		err = h.change(ctx, uuid, request{op: "undefine domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
			return l.DomainUndefineFlags(d, flags)
		})
		if !fault.Is(err, fault.Unsupported) {
			return err
		}
	}
	return err
}

// StartDomain starts a domain that is off.
func (h *Host) StartDomain(ctx context.Context, uuid string, o StartOptions) error {
	var flags golibvirt.DomainCreateFlags
	if o.Paused {
		flags |= golibvirt.DomainStartPaused
	}
	if o.ForceBoot {
		flags |= golibvirt.DomainStartForceBoot
	}
	start := func(flags golibvirt.DomainCreateFlags) error {
		return h.change(ctx, uuid, request{op: "start domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
			_, err := l.DomainCreateWithFlags(d, uint32(flags))
			return err
		})
	}
	err := start(flags)
	if o.ForceBoot && fault.Is(err, fault.Unsupported) { // such a driver has no managed save either
		err = start(flags &^ golibvirt.DomainStartForceBoot)
	}
	return err
}

// ResumeDomain lets a paused domain run.
func (h *Host) ResumeDomain(ctx context.Context, uuid string) error {
	return h.change(ctx, uuid, request{op: "resume domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainResume(d)
	})
}

// ShutdownDomain asks the guest to power off: through its agent when one is
// connected, else by the ACPI button. It does not wait, and the guest may
// ignore it.
func (h *Host) ShutdownDomain(ctx context.Context, uuid string) error {
	ask := func(flags golibvirt.DomainShutdownFlagValues) error {
		return h.change(ctx, uuid, request{op: "shut down domain", guest: true}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
			return l.DomainShutdownFlags(d, flags)
		})
	}
	defer h.inventory.invalidate()
	err := ask(golibvirt.DomainShutdownAcpiPowerBtn | golibvirt.DomainShutdownGuestAgent)
	if fault.Is(err, fault.Unsupported) {
		err = ask(golibvirt.DomainShutdownDefault)
	}
	return h.unlessOff(ctx, uuid, err)
}

// DestroyDomain cuts the power. A domain that is off already is no error.
func (h *Host) DestroyDomain(ctx context.Context, uuid string) error {
	err := h.change(ctx, uuid, request{op: "power off domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainDestroyFlags(d, golibvirt.DomainDestroyDefault)
	})
	return h.unlessOff(ctx, uuid, err)
}

// unlessOff drops the error of a power-off when the domain is off: it was so
// before, or the guest was quicker.
func (h *Host) unlessOff(ctx context.Context, uuid string, err error) error {
	if err == nil {
		return nil
	}
	if k := fault.KindOf(err); k != fault.Invalid && k != fault.Unknown {
		return err
	}
	if state, _, stateErr := h.DomainState(ctx, uuid); stateErr == nil && state.Off() {
		return nil
	}
	return err
}

// SetAutostart says whether the domain starts with the host.
func (h *Host) SetAutostart(ctx context.Context, uuid string, on bool) error {
	return h.change(ctx, uuid, request{op: "set autostart of domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainSetAutostart(d, flag(on))
	})
}

// RemoveManagedSave discards a managed save image; none there is no error.
func (h *Host) RemoveManagedSave(ctx context.Context, uuid string) error {
	err := h.change(ctx, uuid, request{op: "remove managed save of domain"}, func(l *golibvirt.Libvirt, d golibvirt.Domain) error {
		return l.DomainManagedSaveRemove(d, 0)
	})
	if err == nil || fault.Is(err, fault.NotFound) {
		return err
	}
	if has, hasErr := h.HasManagedSave(ctx, uuid); hasErr == nil && !has {
		return nil
	}
	return err
}

func flag(on bool) int32 {
	if on {
		return 1
	}
	return 0
}
