package network

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

var (
	_ resource.ResourceWithConfigure      = (*Resource)(nil)
	_ resource.ResourceWithIdentity       = (*Resource)(nil)
	_ resource.ResourceWithImportState    = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan     = (*Resource)(nil)
	_ resource.ResourceWithValidateConfig = (*Resource)(nil)
)

// Resource is muster_network.
type Resource struct{ data *providerdata.Data }

// New returns the resource muster_network.
func New() resource.Resource { return &Resource{} }

// Metadata implements resource.Resource.
func (r *Resource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = typeName
	// The way to a host may change its URI while the network stays.
	resp.ResourceBehavior.MutableIdentity = true
}

// Configure implements resource.ResourceWithConfigure.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	var diags diag.Diagnostics
	r.data, diags = providerdata.From(req.ProviderData)
	resp.Diagnostics.Append(diags...)
}

func (r *Resource) keeper(host *libvirt.Host) keeper { return keeper{host: host, log: r.data.Logger()} }

func identityOf(host *libvirt.Host, m model) identityModel {
	return identityModel{URI: types.StringValue(host.URI()), UUID: m.ID}
}

// identityUnread is the identity while the host is not known.
func identityUnread(m model) identityModel {
	return identityModel{URI: types.StringValue(m.URI.ValueString()), UUID: m.ID}
}

func badHost(verb string, m model, err error) diag.Diagnostic {
	return tfconv.UnableAt(path.Root("uri"), verb, typeName, m.Name.ValueString(), err.Error(), "", "Correct the uri, or create first what it depends on.")
}

// request returns the model as the keeper takes it, with a mark of the given
// incarnation.
func (r *Resource) request(ctx context.Context, m model, incarnation, step string) (request, diag.Diagnostics) {
	spec, diags := m.spec(ctx)
	id := r.data.Identity
	return request{
		Spec: spec, Autostart: m.Autostart.ValueBool(), Restart: m.OnChange.ValueString() == onChangeRestart,
		Claim: owner.Claim{Namespace: id.Namespace, Type: typeName, Name: spec.Name, TakeOver: id.TakeOver, Adopt: m.AdoptExisting.ValueBool()},
		Mark:  owner.Mark{Namespace: id.Namespace, Type: typeName, Name: spec.Name, Incarnation: incarnation, Op: providerdata.NewOperation(step)},
	}, diags
}

// createdKey is set in private state when a create has ended well: the next
// refresh completes the owner mark then.
const createdKey = "created"

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
	if d := r.needsNamespace(m); d != nil {
		resp.Diagnostics.Append(d)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	host, err := r.data.Host(m.URI.ValueString())
	if err != nil {
		resp.Diagnostics.Append(badHost("create", m, err))
		return
	}
	incarnation := providerdata.NewIncarnation()
	q, diags := r.request(ctx, m, incarnation, stepDefine)
	resp.Diagnostics.Append(diags...)
	release, d := r.claim(host, m, incarnation)
	if d != nil {
		resp.Diagnostics.Append(d)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if q.Spec.UUID == "" {
		q.Spec.UUID = networkUUID(q.Claim.Namespace, q.Spec.Name)
	}
	if q.Spec.Mode != netxml.ModeBridge {
		q.Spec.MAC = bridgeMAC(r.data.Identity.Prefix, q.Claim.Namespace, q.Spec.Name)
	}
	m.ID, m.Incarnation = types.StringValue(q.Spec.UUID), types.StringValue(incarnation)
	left, err := r.keeper(host).create(ctx, q)
	if err != nil {
		release()
		resp.Diagnostics.Append(tfconv.UnableFault("create", typeName, m.Name.ValueString(), host.URI(), err))
		if !left {
			return
		}
		m.unfinished()
		resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, createdKey, []byte(`true`))...)
	resp.Diagnostics.Append(r.readBack(ctx, host, &m, "create")...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// unfinished makes null what a create that failed could not tell.
func (m *model) unfinished() {
	if m.Bridge.IsUnknown() {
		m.Bridge = types.StringNull()
	}
	m.Active = types.BoolValue(false)
	m.PendingRestart, m.Unmanaged = tfconv.StringList(nil), tfconv.StringList(nil)
}

// claim keeps two resources of this process from creating one network.
func (r *Resource) claim(host *libvirt.Host, m model, incarnation string) (release func(), d diag.Diagnostic) {
	kind, name := typeName+" on "+host.URI(), m.Name.ValueString()
	if _, ok := r.data.Claims().Claim(kind, name, incarnation); !ok {
		return nil, tfconv.UnableAt(path.Root("name"), "create", typeName, name,
			"Another resource of this apply creates a network of that name on the same host.", "", "Rename one of the two.")
	}
	return func() { r.data.Claims().Release(kind, name, incarnation) }, nil
}

func (r *Resource) needsNamespace(m model) diag.Diagnostic {
	if r.data.Identity.Namespace != "" {
		return nil
	}
	return tfconv.Unable("create", typeName, m.Name.ValueString(),
		"The provider has no namespace, from which the network's UUID and the MAC of its bridge are derived.", "",
		"Set `identity { namespace = \"...\" }` in the provider configuration, or the environment variable MUSTER_NAMESPACE.")
}

// readBack reads what a create or update has made, verifies it and fills the
// model.
func (r *Resource) readBack(ctx context.Context, host *libvirt.Host, m *model, verb string) (diags diag.Diagnostics) {
	o, err := r.keeper(host).observe(ctx, m.Name.ValueString())
	if err != nil {
		m.unfinished()
		diags.Append(tfconv.UnableFault(verb, typeName, m.Name.ValueString(), host.URI(), err))
		return diags
	}
	wanted := *m
	diags.Append(m.take(ctx, o.Have, false)...)
	m.observe(ctx, o, &diags)
	if differing := wanted.differs(*m); len(differing) > 0 {
		diags.Append(tfconv.Unable(verb, typeName, m.Name.ValueString(),
			"After it was written the host reads otherwise: "+strings.Join(differing, "; ")+".", "",
			"Find out who else changes this network, then apply again."))
		// Configured values stay as configured.
		kept := *m
		*m = wanted
		m.ID, m.Bridge, m.Active = kept.ID, kept.Bridge, kept.Active
		m.PendingRestart, m.Unmanaged, m.Incarnation = kept.PendingRestart, kept.Unmanaged, kept.Incarnation
	}
	return diags
}

// differs names the configured values that another model does not have, and
// both sides.
func (m model) differs(have model) []string {
	var out []string
	for _, p := range []struct {
		name       string
		want, have attr.Value
	}{
		{"mode", m.Mode, have.Mode},
		{"bridge", m.Bridge, have.Bridge},
		{"mtu", m.MTU, have.MTU},
		{"domain", m.Domain, have.Domain},
		{"address", m.Address, have.Address},
		{"dhcp", m.DHCP, have.DHCP},
		{"bootp", m.BootP, have.BootP},
		{"dns", m.DNS, have.DNS},
	} {
		if !p.want.IsUnknown() && !p.want.Equal(p.have) {
			out = append(out, fmt.Sprintf("%s is %s, want %s", p.name, p.have, p.want))
		}
	}
	return out
}

// observe fills what is computed.
func (m *model) observe(ctx context.Context, o observed, diags *diag.Diagnostics) {
	ours, d := m.spec(ctx)
	diags.Append(d...)
	m.Active = types.BoolValue(o.Active)
	m.Autostart = types.BoolValue(o.Autostart)
	m.PendingRestart = tfconv.StringList(o.pending())
	m.Unmanaged = tfconv.StringList(netxml.Unmanaged(o.Have, ours))
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
	host, err := r.data.Host(m.URI.ValueString())
	if err != nil {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, identityUnread(m))...)
	} else {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
		err = r.refresh(ctx, host, m, req, resp)
	}
	if err == nil {
		return
	}
	keep, warning := r.data.KeepsState(m.URI.ValueString(), err)
	switch {
	case !keep:
		resp.Diagnostics.Append(tfconv.UnableFault("refresh", typeName, m.Name.ValueString(), m.URI.ValueString(), err))
	case warning != nil:
		resp.Diagnostics.Append(warning)
	}
}

func (r *Resource) refresh(ctx context.Context, host *libvirt.Host, m model, req resource.ReadRequest, resp *resource.ReadResponse) error {
	k := r.keeper(host)
	o, err := k.observe(ctx, m.Name.ValueString())
	if fault.Is(err, fault.NotFound) || err == nil && o.Have.UUID != m.ID.ValueString() {
		resp.State.RemoveResource(ctx)
		return nil
	}
	if err != nil {
		return err
	}
	created, diags := req.Private.GetKey(ctx, createdKey)
	resp.Diagnostics.Append(diags...)
	if len(created) > 0 {
		if err := k.confirm(ctx, o, m.Incarnation.ValueString()); err != nil {
			// It is confirmed by a later refresh; the network is as it should be.
			k.log.InfoContext(ctx, "network: mark not completed", "name", o.Have.Name, "why", err.Error())
		}
	}
	resp.Diagnostics.Append(m.take(ctx, o.Have, false)...)
	m.observe(ctx, o, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	return nil
}
