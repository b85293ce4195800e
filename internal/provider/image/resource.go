package image

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

var (
	_ resource.ResourceWithConfigure   = (*Resource)(nil)
	_ resource.ResourceWithIdentity    = (*Resource)(nil)
	_ resource.ResourceWithImportState = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan  = (*Resource)(nil)
)

// Resource is muster_image.
type Resource struct{ data *providerdata.Data }

// New returns the resource muster_image.
func New() resource.Resource { return &Resource{} }

// Metadata implements resource.Resource.
func (r *Resource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = typeName
	// The way to a host may change its URI while the image stays.
	resp.ResourceBehavior.MutableIdentity = true
}

// Configure implements resource.ResourceWithConfigure.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	var diags diag.Diagnostics
	r.data, diags = providerdata.From(req.ProviderData)
	resp.Diagnostics.Append(diags...)
}

// host returns the host of an image.
func (r *Resource) host(m model) (*libvirt.Host, error) { return r.data.Host(m.URI.ValueString()) }

func (r *Resource) stocker(ctx context.Context, host *libvirt.Host, m model) *stocker {
	return &stocker{host: host, pool: m.Pool.ValueString(), report: logReports(ctx, m.Name.ValueString(), host.URI())}
}

// lockKey serializes the work of this process on one content in one pool, so
// that what several resources share is uploaded once.
func lockKey(host *libvirt.Host, pool, sha256 string) string {
	return typeName + "\x00" + host.URI() + "\x00" + pool + "\x00" + sha256
}

func identityOf(host *libvirt.Host, m model) identityModel {
	return identityModel{URI: types.StringValue(host.URI()), Key: m.ID}
}

// identityUnread is the identity while the host is not known.
func identityUnread(m model) identityModel {
	return identityModel{URI: types.StringValue(m.URI.ValueString()), Key: m.ID}
}

// Create implements resource.Resource.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel, diags := limits.WithCreate(ctx, m.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	host, err := r.host(m)
	if err != nil {
		resp.Diagnostics.Append(failure("create", m, err))
		return
	}
	st, d := r.stock(ctx, host, m)
	if d != nil {
		resp.Diagnostics.Append(d)
		if st.volume.Name == "" {
			return // nothing is left on the host: the next apply simply tries again
		}
	}
	m.take(st)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Read implements resource.Resource.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel, diags := limits.WithRead(ctx, m.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	host, err := r.host(m)
	if err != nil {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, identityUnread(m))...)
	} else {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
		err = r.refresh(ctx, host, &m, resp)
	}
	rememberSource(ctx, m, req, resp)
	if err != nil {
		r.unread(ctx, m, err, resp)
	}
}

// Update implements resource.Resource. Nothing on the host depends on what can
// change in place: where the content comes from, and timeouts. An image that
// has lost its marker is stocked again.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m model
	var incarnation types.String
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("incarnation"), &incarnation)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel, diags := limits.WithUpdate(ctx, m.Timeouts)
	defer cancel()
	resp.Diagnostics.Append(diags...)
	host, err := r.host(m)
	if err != nil {
		resp.Diagnostics.Append(failure("update", m, err))
		return
	}
	if incarnation.ValueString() == "" {
		st, d := r.stock(ctx, host, m)
		if d != nil {
			resp.Diagnostics.Append(d)
			return
		}
		m.take(st)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
	st, err := r.stocker(ctx, host, m).look(ctx, m.Volume.ValueString(), m.owned(r.data.Identity.Namespace))
	switch {
	case err != nil:
		resp.Diagnostics.Append(tfconv.UnableFault("update", typeName, m.Name.ValueString(), host.URI(), err))
		return
	case st.Newer != nil:
		resp.Diagnostics.Append(superseded("update", m, *st.Newer).Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

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
	host, err := r.host(m)
	if err != nil {
		resp.Diagnostics.Append(failure("destroy", m, err))
		return
	}
	resp.Diagnostics.Append(r.destroy(ctx, host, m)...)
}

// ImportState implements resource.ResourceWithImportState.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id, uri := req.ID, ""
	if id == "" {
		var key identityModel
		resp.Diagnostics.Append(req.Identity.Get(ctx, &key)...)
		id, uri = key.Key.ValueString(), key.URI.ValueString()
	} else {
		parsed, err := tfconv.ParseImportID(req.ID)
		if err != nil {
			resp.Diagnostics.AddError("Unable to import "+typeName, tfconv.Sentence(err.Error()))
			return
		}
		id, uri = parsed.Key(), parsed.URI
	}
	if resp.Diagnostics.HasError() {
		return
	}
	m, host, d := r.lookUp(ctx, id, uri)
	if d != nil {
		resp.Diagnostics.Append(d)
		return
	}
	tflog.Debug(ctx, "image: import", map[string]any{"volume": m.ID.ValueString()})
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func failure(verb string, m model, err error) diag.Diagnostic {
	return tfconv.UnableAt(path.Root("uri"), verb, typeName, m.Name.ValueString(), err.Error(), "", "Correct the uri, or create first what it depends on.")
}
