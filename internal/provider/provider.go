package provider

import (
	"context"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/musterlab/terraform-provider-muster/internal/provider/consoledata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/functions"
	"github.com/musterlab/terraform-provider-muster/internal/provider/hostdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/image"
	"github.com/musterlab/terraform-provider-muster/internal/provider/network"
	"github.com/musterlab/terraform-provider-muster/internal/provider/nodevm"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

var (
	_ provider.Provider              = (*Provider)(nil)
	_ provider.ProviderWithFunctions = (*Provider)(nil)
)

// Provider is the provider "muster".
type Provider struct {
	version string

	mu         sync.Mutex
	configured []*providerdata.Data
}

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
	resp.Diagnostics.Append(unprotected(cfg)...)
	p.mu.Lock()
	p.configured = append(p.configured, data)
	p.mu.Unlock()
	resp.ResourceData = data
	resp.DataSourceData = data
}

// Resources implements provider.Provider.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{image.New, network.New, nodevm.New}
}

// DataSources implements provider.Provider.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{consoledata.New, hostdata.New}
}

// Functions implements provider.ProviderWithFunctions.
func (p *Provider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{functions.NewMAC}
}

// unprotected warns of hosts that are reached in the clear.
func unprotected(cfg providerdata.Config) (diags diag.Diagnostics) {
	for _, h := range append([]providerdata.Host{cfg.Default}, cfg.Hosts...) {
		if strings.HasPrefix(h.URI, "qemu+tcp://") {
			diags.AddWarning("The libvirt host "+h.URI+" is reached in the clear",
				"qemu+tcp neither encrypts nor checks who is at the other end, and passwords in definitions travel with it. Use qemu+ssh or qemu+tls.")
		}
	}
	return diags
}
