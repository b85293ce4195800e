package nodevm

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

var (
	_ resource.ResourceWithConfigure      = (*Resource)(nil)
	_ resource.ResourceWithIdentity       = (*Resource)(nil)
	_ resource.ResourceWithImportState    = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan     = (*Resource)(nil)
	_ resource.ResourceWithMoveState      = (*Resource)(nil)
	_ resource.ResourceWithValidateConfig = (*Resource)(nil)
)

// afterCancel is how long saving what is known may take once an apply has been
// interrupted.
const afterCancel = 5 * time.Second

// Resource is muster_node_vm.
type Resource struct {
	data *providerdata.Data
}

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata implements resource.Resource.
func (r *Resource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = typeName
	resp.ResourceBehavior.MutableIdentity = true // a host may be reached by another URI tomorrow
}

// Configure implements resource.ResourceWithConfigure.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, diags := providerdata.From(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	r.data = data
}

// Create implements resource.Resource.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config Model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limited, cancel, diags := limits.WithCreate(ctx, plan.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	job, diags := r.prepare(limited, "create", plan, config)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	noted, notes := vm.WithNotes(limited)
	created, err := job.vms.Create(noted, job.request)
	resp.Diagnostics.Append(warnings(notes, plan.label())...)
	if err != nil {
		resp.Diagnostics.Append(job.failed(limited, err))
		if created.Incarnation == "" {
			return // nothing of ours is on the host
		}
	}
	plan.Incarnation = types.StringValue(created.Incarnation)
	b := born{UUID: plan.ID.ValueString(), MACs: job.macs, NICs: job.nicNames()}
	resp.Diagnostics.Append(b.write(ctx, resp.Private)...)
	resp.Diagnostics.Append(job.readBack(ctx, &plan, err == nil)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, job.identity())...)
}

// Read implements resource.Resource. It waits for nothing in the guest.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m Model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel, diags := limits.WithRead(ctx, m.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	b, diags := readBorn(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	host, err := r.data.Host(m.URI.ValueString())
	resp.Diagnostics.Append(resp.Identity.Set(ctx, r.identity(host, m))...)
	if err == nil {
		err = r.refresh(ctx, host, &m, b, resp)
	}
	if err == nil {
		return
	}
	if keep, warning := r.data.KeepsState(m.URI.ValueString(), err); keep {
		if warning != nil {
			resp.Diagnostics.Append(warning)
		}
		return
	}
	resp.Diagnostics.Append(tfconv.UnableFault("read", "node_vm", m.label(), m.URI.ValueString(), err))
}

// identity is set at every read, for Terraform 1.11 does not keep it.
func (r *Resource) identity(host *libvirt.Host, m Model) identityModel {
	uri := m.URI.ValueString()
	if host != nil {
		uri = host.URI()
	} else if uri == "" {
		uri, _ = r.data.DefaultURI()
	}
	return identityModel{URI: types.StringValue(uri), UUID: m.ID}
}

// refresh reads the domain into the state, or removes it from there when it is
// certainly gone.
func (r *Resource) refresh(ctx context.Context, host *libvirt.Host, m *Model, b *born, resp *resource.ReadResponse) error {
	observed, err := r.data.VMs(host).Observe(ctx, m.ID.ValueString(), b.known(), false)
	if fault.Is(err, fault.NotFound) {
		resp.State.RemoveResource(ctx)
		return nil
	}
	if err != nil {
		return err
	}
	domainType, err := host.DomainType(ctx)
	if err != nil {
		return err
	}
	before := *m
	r.data.VMs(host).Confirm(ctx, observed, m.Incarnation.ValueString())
	resp.Diagnostics.Append(m.absorb(ctx, observed, domainType)...)
	if b == nil {
		fresh := bornOf(observed.Definition, observed.Definition.Mark == nil)
		resp.Diagnostics.Append(fresh.write(ctx, resp.Private)...)
	}
	if !resp.Diagnostics.HasError() && !m.equal(&before) {
		resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	}
	return nil
}

// Update implements resource.Resource.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state, config Model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	recorded, diags := readBorn(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	limited, cancel, diags := limits.WithUpdate(ctx, plan.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	job, diags := r.prepare(limited, "update", plan, config)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	job.request.Known, diags = knownDevices(ctx, recorded, state, job)
	resp.Diagnostics.Append(diags...)
	noted, notes := vm.WithNotes(limited)
	incarnation, err := job.vms.Update(noted, state.ID.ValueString(), state.Incarnation.ValueString(), job.request)
	resp.Diagnostics.Append(warnings(notes, plan.label())...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, job.identity())...)
	if err != nil {
		resp.Diagnostics.Append(job.failed(limited, err))
		return // the state stays as it was; the next refresh reads how far it got
	}
	plan.Incarnation = types.StringValue(incarnation)
	b := born{UUID: plan.ID.ValueString(), MACs: job.macs, NICs: job.nicNames()}
	resp.Diagnostics.Append(b.write(ctx, resp.Private)...)
	resp.Diagnostics.Append(job.readBack(ctx, &plan, true)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Delete implements resource.Resource.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel, diags := limits.WithDelete(ctx, state.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	uri, name := state.URI.ValueString(), state.Name.ValueString()
	if r.data.Abandoned(uri) {
		resp.Diagnostics.AddWarning(`Abandoned node_vm "`+name+`"`,
			"Its host is listed in "+providerdata.AbandonEnv+", so the VM was only forgotten. If the host comes back, the domain "+state.ID.ValueString()+" and its volumes are still there.")
		return
	}
	resp.Diagnostics.Append(r.depart(ctx, state, req.Private)...)
	ctx, notes := vm.WithNotes(ctx)
	defer func() { resp.Diagnostics.Append(warnings(notes, name)...) }()
	host, err := r.data.Host(uri)
	if err == nil {
		err = r.data.VMs(host).Destroy(ctx, state.ID.ValueString(), state.Incarnation.ValueString(), duration(state.ShutdownTimeout, defaultShutdown))
	}
	var superseded *vm.Superseded
	switch {
	case err == nil:
	case errors.As(err, &superseded):
		resp.Diagnostics.AddWarning(`Left node_vm "`+name+`" alone`, tfconv.Sentence(superseded.Error())+"\nThis state has forgotten it; the VM runs on.")
	case fault.Is(err, fault.Unavailable):
		happened, todo := tfconv.FaultParts(err, uri)
		resp.Diagnostics.Append(tfconv.Unable("destroy", "node_vm", name, happened, "The VM stays in the state.",
			todo+" If the host is gone for good, "+providerdata.AbandonEnv+"='"+r.identity(host, state).URI.ValueString()+"' makes the destroy forget it."))
	default:
		resp.Diagnostics.Append(diagnose("destroy", name, uri, nil, err))
	}
}

// warnings passes on what a user has to hear of an operation.
func warnings(notes *vm.Notes, name string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, text := range notes.All() {
		diags.AddWarning(`On node_vm "`+name+`"`, text)
	}
	return diags
}

// depart remembers the identity for the second half of a replacement. The
// destroy of a tainted VM comes without private state.
func (r *Resource) depart(ctx context.Context, state Model, private privateReader) diag.Diagnostics {
	b, diags := readBorn(ctx, private)
	if b == nil {
		b = &born{UUID: state.ID.ValueString(), MACs: stringsOf(state.MACs)}
	}
	raw, err := json.Marshal(b)
	if err != nil {
		diags.AddError("Unable to record the identity", err.Error())
		return diags
	}
	r.data.Depart(state.Name.ValueString(), raw)
	return diags
}

// diagnose makes a diagnostic of a use case's error.
func diagnose(verb, name, uri string, b *blockSet, err error) diag.Diagnostic {
	var p *vm.Problem
	var superseded *vm.Superseded
	var notReady *vm.NotReady
	problem := tfconv.Problem{Verb: verb, Type: "node_vm", Name: name}
	switch {
	case errors.As(err, &p):
		problem.Happened, problem.Expected, problem.Todo = p.Happened, p.Expected, p.Todo
		if at, ok := fieldPath(b, p.Field); ok {
			return problem.ErrorAt(at)
		}
		return problem.Error()
	case errors.As(err, &superseded):
		problem.Happened = superseded.Error()
		problem.Expected = "The VM is managed by one state only."
		problem.Todo = "Remove it from this state (`terraform state rm`), or from the other one and import it here."
		return problem.Error()
	case errors.As(err, &notReady):
		problem.Happened = notReady.Error()
		problem.Expected = "The VM was left as it is, for you to look at; its console is in the data source muster_console."
		problem.Todo = "Mend what is named. If it only needs longer, raise ready.timeout. `terraform untaint` keeps the VM; without it the next apply makes it anew with the same identity."
		return problem.Error()
	}
	return tfconv.UnableFault(verb, "node_vm", name, uri, err)
}

func (m Model) label() string {
	if tfconv.Known(m.Name) {
		return m.Name.ValueString()
	}
	return m.ID.ValueString()
}
