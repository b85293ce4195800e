package consoledata

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

const (
	typeName = "muster_console"

	defaultLines = 100
	maxLines     = 100_000
	defaultBytes = 64 << 10
	limitBytes   = 4 << 20
)

var _ datasource.DataSourceWithConfigure = (*Source)(nil)

// Source is the data source muster_console.
type Source struct{ data *providerdata.Data }

// New returns the data source muster_console.
func New() datasource.DataSource { return &Source{} }

type model struct {
	UUID      types.String `tfsdk:"uuid"`
	URI       types.String `tfsdk:"uri"`
	Lines     types.Int64  `tfsdk:"lines"`
	MaxBytes  types.Int64  `tfsdk:"max_bytes"`
	Text      types.String `tfsdk:"text"`
	Truncated types.Bool   `tfsdk:"truncated"`
}

// Metadata implements datasource.DataSource.
func (s *Source) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = typeName
}

// Schema implements datasource.DataSource.
func (s *Source) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The end of what a VM wrote to its serial console, from the log that is kept on the host over restarts. " +
			"It is read in every plan, so a VM that still writes changes it.",
		Attributes: map[string]schema.Attribute{
			"uuid": schema.StringAttribute{
				Required: true, MarkdownDescription: "UUID of the VM: the `id` of a `muster_node_vm`.",
				Validators: []validator.String{tfconv.Check("UUID", func(v string) error {
					_, err := hwaddr.ParseUUID(v)
					return err
				})},
			},
			"uri": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Libvirt URI, or name of a `host` block, of the host. Default: the provider's.",
			},
			"lines": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{int64validator.Between(1, maxLines)},
				MarkdownDescription: fmt.Sprintf("How many lines of the end. Default: %d.", defaultLines),
			},
			"max_bytes": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{int64validator.Between(1, limitBytes)},
				MarkdownDescription: fmt.Sprintf("At most so many bytes of the log, up to %d. Default: %d.", limitBytes, defaultBytes),
			},
			"text": schema.StringAttribute{
				Computed: true, Sensitive: true,
				MarkdownDescription: "The text, without control sequences of terminals. Empty while the VM has written nothing.",
			},
			"truncated": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the log holds more than `text`."},
		},
	}
}

// Configure implements datasource.DataSourceWithConfigure.
func (s *Source) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	var diags diag.Diagnostics
	s.data, diags = providerdata.From(req.ProviderData)
	resp.Diagnostics.Append(diags...)
}

// Read implements datasource.DataSource.
func (s *Source) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	uuid, err := hwaddr.ParseUUID(m.UUID.ValueString())
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("uuid"), "Invalid UUID", tfconv.Sentence(err.Error()))
		return
	}
	host, err := s.data.Host(m.URI.ValueString())
	if err != nil {
		resp.Diagnostics.Append(tfconv.Unable("read", typeName, uuid, err.Error(), "",
			"Correct the uri; where it depends on a resource, give it to this data source too (`uri = ...`), which then waits for it."))
		return
	}
	t, err := readTail(ctx, host, uuid, int(tfconv.Int64Or(m.Lines, defaultLines)), tfconv.Int64Or(m.MaxBytes, defaultBytes))
	if err == nil && !t.Exists {
		// Nothing written yet, unless there is no such VM.
		_, err = host.DomainByUUID(ctx, uuid)
	}
	if err != nil {
		resp.Diagnostics.Append(tfconv.UnableFault("read", typeName, uuid, host.URI(), err))
		return
	}
	m.Text, m.Truncated = types.StringValue(t.Text), types.BoolValue(t.Truncated)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
