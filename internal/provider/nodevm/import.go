package nodevm

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// ImportState implements resource.ResourceWithImportState: by NAME or UUID,
// either with " @ URI", or by identity.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id, ok := r.importID(ctx, req, resp)
	if !ok {
		return
	}
	host, err := r.data.Host(id.URI)
	if err != nil {
		resp.Diagnostics.Append(tfconv.UnableFault("import", "node_vm", id.Key(), id.URI, err))
		return
	}
	lookUp, key := host.DomainByName, id.Name
	if id.UUID != "" {
		lookUp, key = host.DomainByUUID, id.UUID
	}
	var domain libvirt.Domain
	if domain, err = lookUp(ctx, key); err != nil {
		resp.Diagnostics.Append(tfconv.UnableFault("import", "node_vm", key, host.URI(), err))
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), domain.UUID)...)
	if id.URI != "" && !r.data.IsDefault(id.URI) {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("uri"), id.URI)...)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identityModel{URI: types.StringValue(host.URI()), UUID: types.StringValue(domain.UUID)})...)
}

func (r *Resource) importID(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) (tfconv.ImportID, bool) {
	if req.ID != "" {
		id, err := tfconv.ParseImportID(req.ID)
		if err != nil {
			resp.Diagnostics.AddError("Invalid import id", tfconv.Sentence(err.Error()))
		}
		return id, err == nil
	}
	var identity identityModel
	resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
	return tfconv.ImportID{UUID: identity.UUID.ValueString(), URI: identity.URI.ValueString()}, !resp.Diagnostics.HasError()
}

// MoveState implements resource.ResourceWithMoveState: a `moved` block may take
// over a libvirt_domain of dmacvicar/libvirt. Only the UUID is taken from its
// state; everything else is read from the host.
func (r *Resource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: moveLibvirtDomain}}
}

func moveLibvirtDomain(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	if req.SourceTypeName != "libvirt_domain" || !strings.HasSuffix(req.SourceProviderAddress, "/dmacvicar/libvirt") || req.SourceRawState == nil {
		return
	}
	var source struct {
		ID   json.RawMessage `json:"id"`
		UUID string          `json:"uuid"`
	}
	if err := json.Unmarshal(req.SourceRawState.JSON, &source); err != nil {
		resp.Diagnostics.AddError("Unable to move libvirt_domain", "Its state is not readable: "+err.Error())
		return
	}
	uuid, err := hwaddr.ParseUUID(source.UUID)
	if err != nil { // 0.7 and 0.8 keep the UUID in id; 0.9 keeps a run-time number there
		uuid, err = hwaddr.ParseUUID(strings.Trim(string(source.ID), `"`))
	}
	if err != nil {
		resp.Diagnostics.AddError("Unable to move libvirt_domain",
			"Its state holds no UUID, neither in uuid nor in id.\nRefresh it with the provider that made it (`terraform apply -refresh-only`), then plan again.")
		return
	}
	resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("id"), uuid)...)
}
