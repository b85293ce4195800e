package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

// Address is where the provider is published.
const Address = "registry.terraform.io/musterlab/muster"

// Serve answers Terraform over the plugin protocol until Terraform ends it.
// With debug it prints how to attach to it instead of being started.
func Serve(ctx context.Context, version string, debug bool) error {
	return providerserver.Serve(ctx, func() provider.Provider { return New(version) }, providerserver.ServeOpts{
		Address:         Address,
		Debug:           debug,
		ProtocolVersion: 6,
	})
}
