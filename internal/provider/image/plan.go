package image

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// memoryKey is where private state remembers the content of a local source.
const memoryKey = "source"

// private is the part of private state that is used.
type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func recall(ctx context.Context, p private) *remembered {
	data, diags := p.GetKey(ctx, memoryKey)
	if diags.HasError() || len(data) == 0 {
		return nil
	}
	var r remembered
	if json.Unmarshal(data, &r) != nil {
		return nil
	}
	return &r
}

// rememberSource keeps what a local source holds, so that a file that was only
// touched is read once and not in every plan.
func rememberSource(ctx context.Context, m model, req resource.ReadRequest, resp *resource.ReadResponse) {
	if !tfconv.Known(m.Source) || remote(m.Source.ValueString()) {
		return
	}
	got, err := readLocal(ctx, m.Source.ValueString(), recall(ctx, req.Private))
	if err != nil {
		return // the plan says what is wrong with it
	}
	if data, err := json.Marshal(got); err == nil {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, memoryKey, data)...)
	}
}

// ModifyPlan implements resource.ResourceWithModifyPlan: it looks at a local
// source, so that its hash and format are known at plan and a change of it is
// seen.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan, config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	var state *model
	if !req.State.Raw.IsNull() {
		state = &model{}
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if state == nil && r.data != nil && !r.data.Identity.NamespaceUnknown {
		if d := r.needsNamespace(plan); d != nil {
			resp.Diagnostics.Append(d)
			return
		}
	}
	switch {
	case !tfconv.Known(plan.Source):
		forget(&plan, config)
	case remote(plan.Source.ValueString()):
		if state != nil && !plan.Source.Equal(state.Source) && tfconv.Known(state.Source) {
			forget(&plan, config)
		}
	default:
		d := r.planLocal(ctx, &plan, config, state, req, resp)
		if d != nil {
			resp.Diagnostics.Append(d)
		}
	}
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case state != nil && !plan.SHA256.Equal(state.SHA256):
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("sha256"))
		plan.SizeBytes = types.Int64Unknown()
		plan.restock()
	case state != nil && state.Incarnation.ValueString() == "":
		plan.restock() // in place, for nothing says any more that the volume is whole
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// forget makes what is told by the content unknown, unless it is configured.
func forget(plan *model, config model) {
	if !tfconv.Known(config.SHA256) {
		plan.SHA256 = types.StringUnknown()
	}
	if !tfconv.Known(config.Format) {
		plan.Format = types.StringUnknown()
	}
}

// restock plans that the content is put into the pool again.
func (m *model) restock() {
	m.ID, m.Volume, m.Path = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	m.Incarnation = types.StringUnknown()
}

// planLocal plans with the content of a file on this machine.
func (r *Resource) planLocal(ctx context.Context, plan *model, config model, state *model, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) diag.Diagnostic {
	source := plan.Source.ValueString()
	got, err := readLocal(ctx, source, recall(ctx, req.Private))
	switch {
	case isMissing(err):
		return planMissing(plan, config, state, resp)
	case err != nil:
		return sourceProblem(*plan, fmt.Errorf("%s: %w", source, err))
	}
	wanted := *plan
	wanted.SHA256, wanted.Format = config.SHA256, config.Format
	if d := contradiction(wanted, got.Content); d != nil {
		return d
	}
	plan.SHA256, plan.Format = types.StringValue(got.Content.SHA256), types.StringValue(got.Content.Format)
	if state == nil {
		plan.SizeBytes = types.Int64Value(got.Content.VirtualSize)
	}
	data, err := json.Marshal(got)
	if err == nil {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, memoryKey, data)...)
	}
	return nil
}

// planMissing plans with a file that is not there. An image that is stocked
// does not need it. For a new one it may be made by another resource of the
// same apply.
func planMissing(plan *model, config model, state *model, resp *resource.ModifyPlanResponse) diag.Diagnostic {
	if state != nil && (plan.Source.Equal(state.Source) || plan.SHA256.Equal(state.SHA256) && tfconv.Known(config.SHA256)) {
		return nil
	}
	forget(plan, config)
	resp.Diagnostics.Append(tfconv.Problem{
		Verb: "look at the source of", Type: typeName, Name: plan.Name.ValueString(),
		Happened: fmt.Sprintf("The file %s is not there.", plan.Source.ValueString()),
		Expected: "It has to be when the plan is applied.",
		Todo:     "Correct source, unless another resource makes the file.",
	}.Warning())
	return nil
}
