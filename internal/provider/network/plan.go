package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// inPlace are the fields that a running network takes.
var inPlace = []string{"dhcp.host", "dhcp.range", "dns.host"}

// ModifyPlan implements resource.ResourceWithModifyPlan: what a new network's
// UUID will be, what an apply will start or restart, and what still waits.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.data == nil {
		return
	}
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		r.planCreate(ctx, &plan, resp)
		return
	}
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	var bridge types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("bridge"), &bridge)...)
	if bridge.IsNull() && foreign(plan.Mode) != foreign(state.Mode) {
		plan.Bridge = types.StringUnknown() // the old bridge was something else
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("bridge"), plan.Bridge)...)
	}
	r.planUpdate(ctx, &plan, state, resp)
}

func foreign(mode types.String) bool { return mode.ValueString() == netxml.ModeBridge }

// planCreate plans the UUID: that of a network of ours which is there under
// this name, else the derived one.
func (r *Resource) planCreate(ctx context.Context, plan *model, resp *resource.ModifyPlanResponse) {
	id := r.data.Identity
	if id.NamespaceUnknown || !tfconv.Known(plan.Name) || plan.URI.IsUnknown() {
		return
	}
	if d := r.needsNamespace(*plan); d != nil {
		resp.Diagnostics.Append(d)
		return
	}
	plan.ID = types.StringValue(networkUUID(id.Namespace, plan.Name.ValueString()))
	host, err := r.data.Host(plan.URI.ValueString())
	if err != nil && !errors.Is(err, providerdata.ErrHostUnknown) {
		resp.Diagnostics.Append(badHost("plan", *plan, err))
		return
	}
	var have *observed
	if err == nil {
		have, err = r.keeper(host).find(ctx, plan.Name.ValueString())
	}
	if err == nil && have != nil {
		ours := have.Mark != nil && have.Mark.Type == typeName && have.Mark.Name == plan.Name.ValueString()
		if ours || plan.AdoptExisting.ValueBool() {
			plan.ID = types.StringValue(have.Have.UUID)
		}
	}
	// A host that does not answer now may do so at the apply.
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), plan.ID)...)
}

// planUpdate plans what is computed of a network that is there.
func (r *Resource) planUpdate(ctx context.Context, plan *model, state model, resp *resource.ModifyPlanResponse) {
	set := func(name string, v any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), v)...)
	}
	var waiting []string
	resp.Diagnostics.Append(state.PendingRestart.ElementsAs(ctx, &waiting, false)...)
	restarts := plan.OnChange.ValueString() == onChangeRestart
	changed, unsure, diags := plan.changed(ctx, state)
	resp.Diagnostics.Append(diags...)
	if !state.Active.ValueBool() {
		set("active", true)
	}
	needs := slices.DeleteFunc(slices.Clone(changed), func(f string) bool { return slices.Contains(inPlace, f) })
	switch {
	case !state.Active.ValueBool():
		set("pending_restart", tfconv.StringList(nil))
	case restarts && (len(needs) > 0 || len(waiting) > 0):
		set("pending_restart", tfconv.StringList(nil))
		resp.Diagnostics.Append(restartWarning(*plan, append(waiting, needs...)))
	case unsure || len(changed) > 0 || slices.Contains(waiting, pendingTaps):
		set("pending_restart", types.ListUnknown(types.StringType))
	default:
		plan.warnPending(&resp.Diagnostics)
	}
	if unsure || len(changed) > 0 {
		set("unmanaged", types.ListUnknown(types.StringType))
	}
}

// changed lists the fields of the definition that a plan changes. unsure says
// that some are not known yet.
func (m model) changed(ctx context.Context, state model) (fields []string, unsure bool, diags diag.Diagnostics) {
	if m.Mode.IsUnknown() || m.MTU.IsUnknown() || m.Domain.IsUnknown() || m.Address.IsUnknown() ||
		!wholly(ctx, m.DHCP) || !wholly(ctx, m.BootP) || !wholly(ctx, m.DNS) {
		return nil, true, nil
	}
	want, diags := m.spec(ctx)
	have, d := state.spec(ctx)
	diags.Append(d...)
	if m.Bridge.IsUnknown() && foreign(m.Mode) == foreign(state.Mode) {
		want.Bridge = have.Bridge
	}
	return netxml.Pending(have, want), false, diags
}

// wholly reports whether everything in a block is known.
func wholly(ctx context.Context, l types.List) bool {
	v, err := l.ToTerraformValue(ctx)
	return err == nil && v.IsFullyKnown()
}

func restartWarning(m model, fields []string) diag.Diagnostic {
	slices.Sort(fields)
	return diag.NewWarningDiagnostic(
		fmt.Sprintf("The apply restarts %s %q", typeName, m.Name.ValueString()),
		fmt.Sprintf("These take effect by a restart only: %s. on_change is \"restart\", so the apply stops and starts the network; "+
			"the NICs of running guests are attached again, and their links go down and up.", strings.Join(slices.Compact(fields), ", ")))
}
