package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/musterlab/terraform-provider-muster/internal/provider/functions"
	"github.com/musterlab/terraform-provider-muster/internal/provider/nodevm"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

var (
	_ provider.Provider              = (*Provider)(nil)
	_ provider.ProviderWithFunctions = (*Provider)(nil)
)

// Provider is the provider "muster".
type Provider struct{ version string }

// New returns the provider; version is its own, for Terraform's log.
func New(version string) *Provider { return &Provider{version: version} }

// Metadata implements provider.Provider.
func (p *Provider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "muster"
	resp.Version = p.version
}

// Configure implements provider.Provider. Nothing is dialled here: a plan that
// needs no host opens no connection.
func (p *Provider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cfg, diags := m.config(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	data, err := providerdata.New(cfg)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("libvirt"), "Unable to use the libvirt hosts of the provider configuration", tfconv.Sentence(err.Error()))
		return
	}
	resp.ResourceData = data
	resp.DataSourceData = data
}

// Resources implements provider.Provider.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{nodevm.New}
}

// DataSources implements provider.Provider.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{}
}

// Functions implements provider.ProviderWithFunctions.
func (p *Provider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{functions.NewMAC}
}
