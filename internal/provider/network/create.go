package network

import (
	"context"
	"fmt"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
)

// request is a network as it is wanted.
type request struct {
	Spec      netxml.Spec
	Prior     netxml.Spec // what this provider had written; empty at a create
	Autostart bool
	Restart   bool // on_change = "restart"
	Claim     owner.Claim
	Mark      owner.Mark
}

// create makes the network, or goes on with a create that was cut short. The
// mark stays incomplete: it is completed by confirm, once the network is known
// to be in a state. A process that is killed before Terraform has its answer
// leaves a network that the next create continues.
//
// left reports whether, with an error, something of ours is on the host.
func (k keeper) create(ctx context.Context, r request) (left bool, err error) {
	have, err := k.find(ctx, r.Spec.Name)
	if err != nil {
		return false, err
	}
	if have == nil {
		return k.createNew(ctx, r)
	}
	if err := refusal(*have, r.Claim, k.host.URI()); err != nil {
		return false, err
	}
	if have.Have.UUID != r.Spec.UUID {
		return false, fault.New(fault.Conflict, "network: create", r.Spec.Name,
			"it is there with the uuid %s, and the plan was made for %s; plan again", have.Have.UUID, r.Spec.UUID)
	}
	if owner.Judge(have.Mark, r.Claim) == owner.Continue {
		// Everything that a create of ours had written is ours to change, and
		// nobody uses the network yet.
		r.Prior, r.Restart = have.Have, true
		if err := providerdata.AwaitDead(ctx, r.Spec.Name, have.Mark.Op); err != nil {
			return false, err
		}
	}
	if r.Spec.MAC == "" || have.Have.MAC != "" {
		r.Spec.MAC = have.Have.MAC
	}
	return true, k.change(ctx, *have, r)
}

func (k keeper) createNew(ctx context.Context, r request) (left bool, err error) {
	xml, err := netxml.New(r.Spec, r.Mark)
	if err != nil {
		return false, fault.New(fault.Invalid, "network: write definition", r.Spec.Name, "%w", err)
	}
	if err := k.write(ctx, r.Spec.Name, xml); err != nil {
		return fault.Is(err, fault.Ambiguous), err
	}
	if r.Autostart {
		if err := k.host.SetNetworkAutostart(ctx, r.Spec.Name, true); err != nil {
			return true, err
		}
	}
	return true, k.host.StartNetwork(ctx, r.Spec.Name)
}

// refusal says why a create may not take the network that is there, or nil.
func refusal(have observed, c owner.Claim, uri string) error {
	conflict := func(format string, args ...any) error {
		return fault.New(fault.Conflict, "network: create", c.Name, format, args...)
	}
	how := fmt.Sprintf("import it (`terraform import ADDRESS '%s @ %s'`), set adopt_existing = true to take it over as it is, or choose another name",
		have.Have.UUID, uri)
	m := have.Mark
	switch owner.Judge(m, c) {
	case owner.Unmarked:
		return conflict("a network of that name (uuid %s) is already there and was not made by this provider; %s", have.Have.UUID, how)
	case owner.Finished:
		return conflict("the network (uuid %s) was completed by an apply on %s at %s and is in no state known here; %s",
			have.Have.UUID, m.Op.Host, m.Op.Time.Format(time.RFC3339), how)
	case owner.Other:
		return conflict("the network (uuid %s) belongs to namespace %q as %s %q; choose another name, or list %q in the provider's identity.take_over and set adopt_existing = true",
			have.Have.UUID, m.Namespace, m.Type, m.Name, m.Namespace)
	default:
		return nil
	}
}

// confirm completes the mark of a network that is in a state.
func (k keeper) confirm(ctx context.Context, o observed, incarnation string) error {
	if o.Mark == nil || o.Mark.Complete || o.Mark.Incarnation != incarnation {
		return nil
	}
	return k.step(ctx, o.Have.Name, func(m *owner.Mark) { m.Complete = true })
}
