package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

// Address is where the provider is published.
const Address = "registry.terraform.io/musterlab/muster"

// finishLimit is what the process takes for its last work. Terraform kills a
// provider two seconds after it was told to end.
const finishLimit = 1500 * time.Millisecond

// Serve answers Terraform over the plugin protocol until Terraform ends it.
// With debug it prints how to attach to it instead of being started.
func Serve(ctx context.Context, version string, debug bool) error {
	p := New(version)
	err := providerserver.Serve(ctx, func() provider.Provider { return p }, providerserver.ServeOpts{
		Address:         Address,
		Debug:           debug,
		ProtocolVersion: 6,
	})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishLimit)
	defer cancel()
	p.finish(ctx)
	return err
}

// finish is called once Terraform has ended this process, and so has saved
// what the process has told it.
func (p *Provider) finish(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, data := range p.configured {
		data.Finish(ctx)
	}
}
