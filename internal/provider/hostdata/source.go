package hostdata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

const typeName = "muster_host"

var _ datasource.DataSourceWithConfigure = (*Source)(nil)

// Source is the data source muster_host.
type Source struct{ data *providerdata.Data }

// New returns the data source muster_host.
func New() datasource.DataSource { return &Source{} }

type model struct {
	URI               types.String `tfsdk:"uri"`
	CanonicalURI      types.String `tfsdk:"canonical_uri"`
	Hostname          types.String `tfsdk:"hostname"`
	HostUUID          types.String `tfsdk:"host_uuid"`
	Driver            types.String `tfsdk:"driver"`
	LibvirtVersion    types.String `tfsdk:"libvirt_version"`
	HypervisorVersion types.String `tfsdk:"hypervisor_version"`
	Arch              types.String `tfsdk:"arch"`
	Machine           types.String `tfsdk:"machine"`
	DomainType        types.String `tfsdk:"domain_type"`
	CPUs              types.Int64  `tfsdk:"cpus"`
	MemoryMiB         types.Int64  `tfsdk:"memory_mib"`
	FreeMiB           types.Int64  `tfsdk:"free_mib"`
	Pools             types.List   `tfsdk:"pools"`
	Networks          types.List   `tfsdk:"networks"`
}

// Metadata implements datasource.DataSource.
func (s *Source) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = typeName
}

// Schema implements datasource.DataSource.
func (s *Source) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	text := func(doc string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: doc}
	}
	number := func(doc string) schema.Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: doc}
	}
	names := func(doc string) schema.Attribute {
		return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: doc}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "What a libvirt host is and has. It is read in every plan.",
		Attributes: map[string]schema.Attribute{
			"uri": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Libvirt URI, or name of a `host` block, of the host. Default: the provider's.",
			},
			"canonical_uri":      text("The URI in the one form that resource identities use."),
			"hostname":           text("The host's name for itself."),
			"host_uuid":          text("The host's own UUID, as libvirt knows it."),
			"driver":             text("The hypervisor driver: `QEMU` or `TEST`."),
			"libvirt_version":    text("Version of the libvirt daemon."),
			"hypervisor_version": text("Version of the hypervisor."),
			"arch":               text("Architecture of the host, for example `x86_64`."),
			"machine":            text("Machine type that a VM without one is given."),
			"domain_type":        text("`kvm` where the host's processor runs guests, else `qemu` (software emulation, several times slower)."),
			"cpus":               number("Logical processors."),
			"memory_mib":         number("Memory, in MiB."),
			"free_mib":           number("Memory that is free or holds caches only, in MiB, at this moment. VMs that were started a moment ago do not show in it yet."),
			"pools":              names("Names of the storage pools, sorted."),
			"networks":           names("Names of the networks, sorted."),
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
	host, err := s.data.Host(m.URI.ValueString())
	if err != nil {
		resp.Diagnostics.Append(tfconv.Unable("read", typeName, m.URI.ValueString(), err.Error(), "",
			"Correct the uri; where it depends on a resource, give it to this data source too (`uri = ...`), which then waits for it."))
		return
	}
	if err := m.read(ctx, host); err != nil {
		resp.Diagnostics.Append(tfconv.UnableFault("read", typeName, host.URI(), host.URI(), err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (m *model) read(ctx context.Context, host *libvirt.Host) error {
	f, err := host.Facts(ctx)
	if err != nil {
		return err
	}
	domainType, err := host.DomainType(ctx)
	if err != nil {
		return err
	}
	pools, err := host.Pools(ctx)
	if err != nil {
		return err
	}
	networks, err := host.Networks(ctx)
	if err != nil {
		return err
	}
	m.CanonicalURI = types.StringValue(host.URI())
	m.Hostname, m.HostUUID = types.StringValue(f.Hostname), types.StringValue(f.HostUUID)
	m.Driver, m.DomainType = types.StringValue(f.Driver), types.StringValue(domainType)
	m.LibvirtVersion, m.HypervisorVersion = types.StringValue(f.LibvirtVersion), types.StringValue(f.HypervisorVersion)
	m.Arch, m.Machine = types.StringValue(f.Arch), types.StringValue(f.MachineDefault)
	m.CPUs = types.Int64Value(int64(f.CPUs))
	m.MemoryMiB, m.FreeMiB = types.Int64Value(f.MemoryMiB), types.Int64Value(f.FreeMiB)
	m.Pools = sortedNames(pools, func(p libvirt.Pool) string { return p.Name })
	m.Networks = sortedNames(networks, func(n libvirt.Network) string { return n.Name })
	return nil
}
