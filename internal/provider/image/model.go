package image

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

type model struct {
	ID          types.String   `tfsdk:"id"`
	Name        types.String   `tfsdk:"name"`
	Pool        types.String   `tfsdk:"pool"`
	URI         types.String   `tfsdk:"uri"`
	Source      types.String   `tfsdk:"source"`
	SHA256      types.String   `tfsdk:"sha256"`
	Format      types.String   `tfsdk:"format"`
	Volume      types.String   `tfsdk:"volume"`
	Path        types.String   `tfsdk:"path"`
	SizeBytes   types.Int64    `tfsdk:"size_bytes"`
	Incarnation types.String   `tfsdk:"incarnation"`
	Timeouts    timeouts.Value `tfsdk:"timeouts"`
}

// identityModel is the resource identity.
type identityModel struct {
	URI types.String `tfsdk:"uri"`
	Key types.String `tfsdk:"key"`
}

// owned returns the marker fields that say whose the image is.
func (m model) owned(namespace string) marker {
	return marker{
		Namespace: namespace, Type: typeName, Name: m.Name.ValueString(), Incarnation: m.Incarnation.ValueString(),
		SHA256: m.SHA256.ValueString(), Format: m.Format.ValueString(),
	}
}

// take fills what is computed from what is stocked.
func (m *model) take(st stocked) {
	v, mk := st.volume, st.marker
	m.ID = types.StringValue(v.Pool + "/" + v.Name)
	m.Volume, m.Path = types.StringValue(v.Name), types.StringValue(v.Path)
	m.Incarnation = types.StringValue(mk.Incarnation)
	m.Format = types.StringValue(mk.Format)
	m.SizeBytes = types.Int64Value(mk.VirtualSize)
	if !tfconv.Known(m.SHA256) {
		m.SHA256 = types.StringValue(mk.SHA256)
	}
}
