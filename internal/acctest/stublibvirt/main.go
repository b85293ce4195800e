// Command stublibvirt is a provider that only has the schema of libvirt_domain.
// Terraform wants the source provider of a `moved` block installed; tests of
// such blocks put this in its place.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return stub{} },
		providerserver.ServeOpts{Address: "registry.terraform.io/dmacvicar/libvirt"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type stub struct{}

func (stub) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "libvirt"
}
func (stub) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (stub) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (stub) DataSources(context.Context) []func() datasource.DataSource                        { return nil }

func (stub) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return domain{} }}
}

type domain struct{}

func (domain) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "libvirt_domain"
}

func (domain) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":   schema.StringAttribute{Computed: true},
		"uuid": schema.StringAttribute{Computed: true},
		"name": schema.StringAttribute{Optional: true},
	}}
}

func (domain) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}
func (domain) Read(context.Context, resource.ReadRequest, *resource.ReadResponse)       {}
func (domain) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}
func (domain) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
