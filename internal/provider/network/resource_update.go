package network

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// Update implements resource.Resource.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, prior model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel, diags := limits.WithUpdate(ctx, m.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	host, err := r.data.Host(m.URI.ValueString())
	if err != nil {
		resp.Diagnostics.Append(badHost("update", m, err))
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
	if err := r.update(ctx, host, m, prior, resp); err != nil {
		var newer *supersededError
		if errors.As(err, &newer) {
			resp.Diagnostics.Append(newer.problem("update", m).Error())
			return
		}
		resp.Diagnostics.Append(tfconv.UnableFault("update", typeName, m.Name.ValueString(), host.URI(), err))
		return
	}
	planned := m
	resp.Diagnostics.Append(r.readBack(ctx, host, &m, "update")...)
	// What others do in the meantime is for the next refresh to tell.
	m.Unmanaged = known(planned.Unmanaged, m.Unmanaged)
	m.PendingRestart = known(planned.PendingRestart, m.PendingRestart)
	if m.OnChange.ValueString() == onChangeDefer {
		m.warnPending(&resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func known(planned, read types.List) types.List {
	if planned.IsUnknown() {
		return read
	}
	return planned
}

func (r *Resource) update(ctx context.Context, host *libvirt.Host, m, prior model, resp *resource.UpdateResponse) error {
	k := r.keeper(host)
	o, err := k.observe(ctx, m.Name.ValueString())
	if err != nil {
		return err
	}
	if o.Have.UUID != m.ID.ValueString() {
		return fault.New(fault.Conflict, "network: update", o.Have.Name, "the network of that name now has the uuid %s, and the state knows %s; plan again", o.Have.UUID, m.ID.ValueString())
	}
	if mark := superseded(o, prior.Incarnation.ValueString()); mark != nil {
		return &supersededError{mark: *mark}
	}
	q, diags := r.request(ctx, m, m.Incarnation.ValueString(), stepUpdate)
	resp.Diagnostics.Append(diags...)
	var d diag.Diagnostics
	q.Prior, d = prior.spec(ctx)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return nil
	}
	if o.Mark != nil { // namespace and name are those it was born with
		q.Mark.Namespace, q.Mark.Incarnation = o.Mark.Namespace, o.Mark.Incarnation
	}
	q.Mark.Complete = true
	return k.change(ctx, o, q)
}

// supersededError says that a newer create owns the network.
type supersededError struct{ mark owner.Mark }

// Error implements error.
func (e *supersededError) Error() string { return "a newer create owns the network" }

func (e *supersededError) problem(verb string, m model) tfconv.Problem {
	return tfconv.Problem{
		Verb: verb, Type: typeName, Name: m.Name.ValueString(),
		Happened: fmt.Sprintf("The network %s belongs to a newer create of the same name in namespace %q, done on %s at %s.",
			m.ID.ValueString(), e.mark.Namespace, e.mark.Op.Host, e.mark.Op.Time.Format(time.RFC3339)),
		Expected: "A network is in one state only; it was left as it is.",
		Todo:     "Take it out of one of the two configurations (`removed` block or `terraform state rm`), or give one another name.",
	}
}

// warnPending says what waits for a restart.
func (m model) warnPending(diags *diag.Diagnostics) {
	var fields []string
	diags.Append(m.PendingRestart.ElementsAs(context.Background(), &fields, false)...)
	if len(fields) == 0 {
		return
	}
	diags.Append(diag.NewWarningDiagnostic(
		fmt.Sprintf("%s %q waits for a restart", typeName, m.Name.ValueString()),
		fmt.Sprintf("Its definition differs from what runs in: %s.\n"+
			"Set on_change = \"restart\" for it and apply, which cuts its guests off for a moment and attaches them again, or restart it yourself while no guest is on it: "+
			"`virsh net-destroy %s && virsh net-start %s`.", strings.Join(fields, ", "), m.Name.ValueString(), m.Name.ValueString())))
}

// usersGrace is how long a destroy waits for guests that are being destroyed
// as well.
const (
	usersGrace = time.Minute
	usersPoll  = 2 * time.Second
)

// Delete implements resource.Resource.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel, diags := limits.WithDelete(ctx, m.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	host, err := r.data.Host(m.URI.ValueString())
	if err != nil {
		resp.Diagnostics.Append(badHost("destroy", m, err))
		return
	}
	err = r.destroy(ctx, host, m)
	var newer *supersededError
	switch {
	case err == nil:
	case errors.As(err, &newer):
		resp.Diagnostics.Append(newer.problem("destroy", m).Warning())
	case fault.Is(err, fault.Unavailable) && r.data.Abandoned(m.URI.ValueString()):
		resp.Diagnostics.Append(tfconv.Problem{
			Verb: "reach the host of", Type: typeName, Name: m.Name.ValueString(),
			Happened: fmt.Sprintf("The network %s on %s was forgotten without being removed, as %s asks.", m.ID.ValueString(), host.URI(), providerdata.AbandonEnv),
			Todo:     "If the host comes back, remove the network there.",
		}.Warning())
	default:
		resp.Diagnostics.Append(tfconv.UnableFault("destroy", typeName, m.Name.ValueString(), host.URI(), err))
	}
}

// destroy removes the network, once no running guest is on it.
func (r *Resource) destroy(ctx context.Context, host *libvirt.Host, m model) error {
	k := r.keeper(host)
	o, err := k.observe(ctx, m.Name.ValueString())
	if fault.Is(err, fault.NotFound) || err == nil && o.Have.UUID != m.ID.ValueString() {
		return nil // gone, and perhaps another has the name
	}
	if err != nil {
		return err
	}
	if mark := superseded(o, m.Incarnation.ValueString()); mark != nil {
		return &supersededError{mark: *mark}
	}
	if err := k.awaitEmpty(ctx, o); err != nil {
		return err
	}
	return k.remove(ctx, o.Have.Name)
}

// awaitEmpty waits a minute for the running guests of a network to go.
func (k keeper) awaitEmpty(ctx context.Context, o observed) error {
	if !o.Active {
		return nil
	}
	deadline := time.Now().Add(usersGrace)
	for {
		left, err := k.guests(ctx, o.Have.Name)
		if err != nil || len(left) == 0 {
			return err
		}
		names := make([]string, len(left))
		for i, g := range left {
			names[i] = g.Name
		}
		refusal := fault.New(fault.Busy, "network: remove", o.Have.Name, "running domains are on it: %s", strings.Join(names, ", "))
		if !time.Now().Before(deadline) {
			return refusal
		}
		k.log.InfoContext(ctx, "network: waiting for its guests to go", "name", o.Have.Name, "guests", names)
		select {
		case <-time.After(usersPoll):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), refusal)
		}
	}
}
