package network

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// ImportState implements resource.ResourceWithImportState: by NAME or UUID,
// either with " @ URI", or by identity.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var id tfconv.ImportID
	if req.ID == "" {
		var key identityModel
		resp.Diagnostics.Append(req.Identity.Get(ctx, &key)...)
		id = tfconv.ImportID{UUID: key.UUID.ValueString(), URI: key.URI.ValueString()}
	} else {
		var err error
		if id, err = tfconv.ParseImportID(req.ID); err != nil {
			resp.Diagnostics.AddError("Unable to import "+typeName, tfconv.Sentence(err.Error()))
		}
	}
	if resp.Diagnostics.HasError() {
		return
	}
	host, err := r.data.Host(id.URI)
	if err != nil {
		resp.Diagnostics.Append(tfconv.Unable("import", typeName, id.Key(), err.Error(), "", "Correct the URI after the @."))
		return
	}
	m, d := r.imported(ctx, host, id)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(host, m))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *Resource) imported(ctx context.Context, host *libvirt.Host, id tfconv.ImportID) (model, diag.Diagnostics) {
	var diags diag.Diagnostics
	k := r.keeper(host)
	name, err := k.nameOf(ctx, id)
	var o observed
	if err == nil {
		o, err = k.observe(ctx, name)
	}
	if err != nil {
		diags.Append(tfconv.UnableFault("import", typeName, id.Key(), host.URI(), err))
		return model{}, diags
	}
	m := model{
		OnChange: types.StringValue(onChangeDefer), AdoptExisting: types.BoolValue(false), Timeouts: limits.Null(),
		DHCP: types.ListNull(dhcpType), BootP: types.ListNull(bootpType), DNS: types.ListNull(dnsType),
	}
	if id.URI != "" && !r.data.IsDefault(id.URI) {
		m.URI = types.StringValue(id.URI)
	}
	// What has no mark of ours is owned from here on without an incarnation.
	m.Incarnation = types.StringValue("")
	if o.Mark != nil {
		m.Incarnation = types.StringValue(o.Mark.Incarnation)
	}
	diags.Append(m.take(ctx, o.Have, true)...)
	m.observe(ctx, o, &diags)
	return m, diags
}

// nameOf returns the name that goes with an import id.
func (k keeper) nameOf(ctx context.Context, id tfconv.ImportID) (string, error) {
	if id.UUID == "" {
		return id.Name, nil
	}
	all, err := k.host.Networks(ctx)
	if err != nil {
		return "", err
	}
	for _, n := range all {
		if n.UUID == id.UUID {
			return n.Name, nil
		}
	}
	return "", fault.New(fault.NotFound, "network: look up", id.UUID, "no network on %s has this uuid; there are %s", k.host.URI(), listed(all))
}

func listed(all []libvirt.Network) string {
	s := ""
	for i, n := range all {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s (%s)", n.Name, n.UUID)
	}
	if s == "" {
		return "none"
	}
	return s
}
