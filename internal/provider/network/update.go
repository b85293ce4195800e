package network

import (
	"context"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
)

// change brings a network that is there to what is wanted. Hosts and ranges
// change in place; the rest goes into the definition, where a refusal leaves
// the old one, and takes effect by a restart if one was asked for.
func (k keeper) change(ctx context.Context, o observed, r request) error {
	name := r.Spec.Name
	r.Spec = settled(r.Spec, o.Have)
	if err := k.changeInPlace(ctx, o, r); err != nil {
		return err
	}
	o, err := k.observe(ctx, name)
	if err != nil {
		return err
	}
	if err := k.define(ctx, o, r.Spec, r.Prior, r.Mark); err != nil {
		return err
	}
	if o.Autostart != r.Autostart {
		if err := k.host.SetNetworkAutostart(ctx, name, r.Autostart); err != nil {
			return err
		}
	}
	if !o.Active {
		return k.host.StartNetwork(ctx, name)
	}
	interrupted := o.Mark != nil && o.Mark.Op.Step == stepRestart
	if o, err = k.observe(ctx, name); err != nil {
		return err
	}
	switch {
	case r.Restart && len(o.pending()) > 0:
		return k.restart(ctx, o)
	case interrupted:
		return k.reattach(ctx, name, nil)
	default:
		return nil
	}
}

// settled fills in what libvirt had chosen where the configuration leaves it
// open.
func settled(want, have netxml.Spec) netxml.Spec {
	want.UUID = have.UUID
	if want.Bridge == "" && want.Mode != netxml.ModeBridge && have.Mode != netxml.ModeBridge {
		want.Bridge = have.Bridge
	}
	if have.MAC != "" {
		want.MAC = have.MAC
	}
	return want
}

// changeInPlace makes the changes that a running network takes. What libvirt
// refuses here goes the way of the others, by the definition.
func (k keeper) changeInPlace(ctx context.Context, o observed, r request) error {
	if !o.Active {
		return nil
	}
	for _, u := range netxml.Changes(o.Live, o.Have, r.Spec, r.Prior) {
		err := k.host.UpdateNetwork(ctx, r.Spec.Name, u)
		switch fault.KindOf(err) {
		case fault.Invalid, fault.Unsupported, fault.Conflict:
			k.log.InfoContext(ctx, "network: not in place", "name", r.Spec.Name, "section", string(u.Section), "why", err.Error())
			continue
		default:
			if err != nil {
				return err
			}
		}
		k.log.InfoContext(ctx, "network: changed in place", "name", r.Spec.Name, "section", string(u.Section), "command", string(u.Command))
	}
	return nil
}

// remove stops and undefines the network. One that is gone is no error.
func (k keeper) remove(ctx context.Context, name string) error {
	for _, step := range []func(context.Context, string) error{k.host.DestroyNetwork, k.host.UndefineNetwork} {
		if err := step(ctx, name); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// superseded reports whether a newer create than ours owns the network.
func superseded(o observed, incarnation string) *owner.Mark {
	if o.Mark.Superseded(incarnation) {
		return o.Mark
	}
	return nil
}
