package nodevm

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/musterlab/terraform-provider-muster/internal/cloudinit"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

// seed builds the NoCloud seed of a plan. config holds the write-only user
// data. The instance id is the VM's UUID, so that a changed seed does not make
// cloud-init run its first-boot work again; meta_data may say otherwise.
func seed(ctx context.Context, host *libvirt.Host, r vm.Request, b blockSet, config *cloudInitModel) (*vm.SeedRequest, diag.Diagnostics) {
	var diags diag.Diagnostics
	if b.cloudInit == nil {
		return nil, nil
	}
	user := b.cloudInit.UserData.ValueString()
	if config != nil && tfconv.Known(config.UserDataWO) {
		user = config.UserDataWO.ValueString()
	}
	network, d := networkConfig(ctx, host, r, b)
	diags.Append(d...)
	if diags.HasError() {
		return nil, diags
	}
	image, err := cloudinit.Build(cloudinit.Seed{
		InstanceID: r.Spec.UUID, Hostname: r.Spec.Name, UserData: user,
		MetaData: b.cloudInit.MetaData.ValueString(), NetworkConfig: network,
	})
	if err != nil {
		diags.Append(tfconv.Unable("write the seed of", "node_vm", r.Spec.Name, err.Error(), "", "Correct the cloud_init block."))
		return nil, diags
	}
	return &vm.SeedRequest{Pool: seedPool(b), Digest: image.Digest, ISO: image.Data}, diags
}

func seedPool(b blockSet) string {
	fallback := defaultPool
	if len(b.disks) > 0 {
		fallback = tfconv.StringOr(b.disks[0].Pool, defaultPool)
	}
	return tfconv.StringOr(b.cloudInit.Pool, fallback)
}

// networkConfig returns the declared configuration, or a complete one: static
// addresses where they are given, DHCP where somebody answers, and no NIC but
// the first one that the guest's start would wait for.
func networkConfig(ctx context.Context, host *libvirt.Host, r vm.Request, b blockSet) (string, diag.Diagnostics) {
	var diags diag.Diagnostics
	var nics []cloudinit.NIC
	for i, n := range b.nics {
		c := cloudinit.NIC{Name: n.Name.ValueString(), MAC: r.Spec.NICs[i].MAC, MTU: int(n.MTU.ValueInt64()), Gateway: n.Gateway.ValueString()}
		var d diag.Diagnostics
		c.Addresses, d = tfconv.Strings(ctx, n.Addresses)
		diags.Append(d...)
		c.Nameservers, d = tfconv.Strings(ctx, n.Nameservers)
		diags.Append(d...)
		if len(c.Addresses) == 0 {
			served, err := servesDHCP(ctx, host, n.Network.ValueString())
			if err != nil {
				diags.Append(tfconv.UnableFault("create", "node_vm", r.Spec.Name, host.URI(), err))
				return "", diags
			}
			c.DHCP4 = served
		}
		c.Optional = i > 0 || !c.DHCP4 && len(c.Addresses) == 0
		nics = append(nics, c)
	}
	var text string
	var err error
	if tfconv.Known(b.cloudInit.NetworkConfig) {
		text, err = cloudinit.Complete(b.cloudInit.NetworkConfig.ValueString(), nics)
	} else {
		text, err = cloudinit.NetworkConfig(nics)
	}
	if err != nil {
		diags.Append(tfconv.Unable("write the seed of", "node_vm", r.Spec.Name, err.Error(), "", "Correct the addresses of the nic blocks or network_config."))
	}
	return text, diags
}

// servesDHCP reports whether a lease can be expected: a libvirt network says
// so, behind a bridge of the host somebody may answer.
func servesDHCP(ctx context.Context, host *libvirt.Host, network string) (bool, error) {
	if network == "" {
		return true, nil
	}
	xml, err := host.NetworkXML(ctx, network, libvirt.Persistent)
	if err != nil {
		return false, err
	}
	return strings.Contains(xml, "<dhcp"), nil
}
