package nodevm

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/cloudinit"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

// ValidateConfig implements resource.ResourceWithValidateConfig: the rules that
// concern more than one argument.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	b, diags := m.blocks(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	v := validation{ctx: ctx, m: m, b: b}
	v.cpu()
	v.firmware()
	v.boot()
	v.disks()
	v.nics()
	v.cloudInit()
	v.ready()
	resp.Diagnostics.Append(v.diags...)
}

type validation struct {
	ctx   context.Context
	m     Model
	b     blockSet
	diags diag.Diagnostics
}

func (v *validation) bad(at path.Path, format string, args ...any) {
	v.diags.AddAttributeError(at, "Invalid node_vm", tfconv.Sentence(fmt.Sprintf(format, args...)))
}

func (v *validation) cpu() {
	c := v.b.cpu
	if c == nil || c.Mode.IsUnknown() || c.Model.IsUnknown() {
		return
	}
	if custom := c.Mode.ValueString() == "custom"; custom != tfconv.Known(c.Model) {
		v.bad(path.Root("cpu").AtListIndex(0), `model goes with mode "custom", and only with it`)
	}
}

func (v *validation) firmware() {
	f := v.b.firmware
	if f == nil || f.Type.IsUnknown() {
		return
	}
	if f.SecureBoot.ValueBool() && f.Type.ValueString() != "uefi" {
		v.bad(path.Root("firmware").AtListIndex(0).AtName("secure_boot"), `secure_boot needs type = "uefi"`)
	}
	if machine := f.Machine.ValueString(); f.SecureBoot.ValueBool() && !domxml.SameMachine("q35", machine) && machine != "" {
		v.bad(path.Root("firmware").AtListIndex(0).AtName("machine"), "secure_boot needs a q35 machine, and %q is not one", machine)
	}
}

func (v *validation) boot() {
	b := v.b.boot
	if b == nil {
		return
	}
	if !b.Kernel.IsUnknown() && b.Kernel.ValueString() == "" && (tfconv.Known(b.Initrd) || tfconv.Known(b.Cmdline)) {
		v.bad(path.Root("boot").AtListIndex(0), "initrd and cmdline go with a kernel")
	}
	for name, s := range map[string]types.String{"kernel": b.Kernel, "initrd": b.Initrd} {
		if tfconv.Known(s) && (s.ValueString() == "" || s.ValueString()[0] != '/') {
			v.bad(path.Root("boot").AtListIndex(0).AtName(name), "%q is not an absolute path on the host", s.ValueString())
		}
	}
	if v.m.Power.ValueString() == string(vm.PowerExternal) || !b.bootsFromNetwork(v.ctx) {
		return
	}
	if len(v.b.nics) == 0 && !v.m.NICs.IsUnknown() {
		v.bad(path.Root("boot").AtListIndex(0).AtName("order"), "booting from the network needs a nic block")
	}
}

func (v *validation) disks() {
	seen := map[string]bool{}
	for i, d := range v.b.disks {
		at := path.Root("disk").AtListIndex(i)
		if name := d.Name.ValueString(); tfconv.Known(d.Name) {
			if seen[name] {
				v.bad(at.AtName("name"), "two disks are named %q", name)
			}
			seen[name] = true
		}
		if d.Image.IsNull() && d.SizeMiB.IsNull() {
			v.bad(at, "disk %q has neither an image nor a size: give image, size_mib, or both", d.Name.ValueString())
		}
	}
	if len(v.b.disks) > 24 {
		v.bad(path.Root("disk"), "24 disks are the limit, and there are %d", len(v.b.disks))
	}
}

func (v *validation) nics() {
	seen, macs := map[string]bool{}, map[string]string{}
	for i, n := range v.b.nics {
		at := path.Root("nic").AtListIndex(i)
		name := n.Name.ValueString()
		if tfconv.Known(n.Name) && seen[name] {
			v.bad(at.AtName("name"), "two nics are named %q", name)
		}
		seen[name] = true
		if !n.Network.IsUnknown() && !n.Bridge.IsUnknown() && n.Network.IsNull() == n.Bridge.IsNull() {
			v.bad(at, "nic %q: exactly one of network and bridge must be given", name)
		}
		if mac := n.MAC.Canonical(); mac != "" {
			if other, twice := macs[mac]; twice {
				v.bad(at.AtName("mac"), "the nics %q and %q have the same MAC %s", other, name, mac)
			}
			macs[mac] = name
		}
		v.addresses(at, n)
	}
}

func (v *validation) addresses(at path.Path, n nicModel) {
	addresses, _ := tfconv.Strings(v.ctx, n.Addresses)
	for _, a := range addresses {
		if _, err := netip.ParsePrefix(a); err != nil {
			v.bad(at.AtName("addresses"), "%q is not an address with a prefix length, like 192.0.2.10/24", a)
		}
	}
	nameservers, _ := tfconv.Strings(v.ctx, n.Nameservers)
	for _, a := range nameservers {
		if _, err := netip.ParseAddr(a); err != nil {
			v.bad(at.AtName("nameservers"), "%q is not an IP address", a)
		}
	}
	if g := n.Gateway; tfconv.Known(g) {
		if _, err := netip.ParseAddr(g.ValueString()); err != nil {
			v.bad(at.AtName("gateway"), "%q is not an IP address", g.ValueString())
		}
	}
	if n.Addresses.IsNull() && (tfconv.Known(n.Gateway) || tfconv.Known(n.Nameservers)) {
		v.bad(at, "nic %q: gateway and nameservers go with addresses; a DHCP server brings its own", n.Name.ValueString())
	}
	if tfconv.Known(n.Addresses) && v.m.CloudInit.IsNull() {
		v.bad(at.AtName("addresses"), "nic %q: addresses are written to the NoCloud seed, so a cloud_init block is needed (it may be empty)", n.Name.ValueString())
	}
}

func (v *validation) cloudInit() {
	c := v.b.cloudInit
	if c == nil {
		return
	}
	at := path.Root("cloud_init").AtListIndex(0)
	if tfconv.Known(c.UserData) && tfconv.Known(c.UserDataWO) {
		v.bad(at, "user_data and user_data_wo exclude each other")
	}
	if tfconv.Known(c.UserDataWO) && c.UserDataWOVersion.IsNull() {
		v.bad(at.AtName("user_data_wo_version"), "user_data_wo needs user_data_wo_version: Terraform keeps no write-only value, so only the version shows a change")
	}
	check := func(name string, s types.String, f func(string) error) {
		if !tfconv.Known(s) {
			return
		}
		if err := f(s.ValueString()); err != nil {
			v.bad(at.AtName(name), "%s: %s", name, err)
		}
	}
	userData := func(name string) func(string) error {
		return func(text string) error {
			notice, err := cloudinit.CheckUserData(text)
			if notice != "" {
				v.diags.AddAttributeWarning(at.AtName(name), "User data that cloud-init may ignore", tfconv.Sentence(notice))
			}
			return err
		}
	}
	check("user_data", c.UserData, userData("user_data"))
	check("user_data_wo", c.UserDataWO, userData("user_data_wo"))
	check("meta_data", c.MetaData, cloudinit.CheckMetaData)
	check("network_config", c.NetworkConfig, cloudinit.CheckNetworkConfig)
}

func (v *validation) ready() {
	if v.b.ready == nil {
		return
	}
	at := path.Root("ready").AtListIndex(0)
	if p := v.m.Power; tfconv.Known(p) && p.ValueString() != string(vm.PowerOn) {
		v.bad(at, "a VM with power = %q is not started by Terraform, so it has nothing to wait for: leave ready out", p.ValueString())
	}
	if v.b.ready.Lease.ValueBool() && len(v.b.nics) == 0 && !v.m.NICs.IsUnknown() {
		v.bad(at.AtName("lease"), "lease needs a nic on a libvirt network")
	}
}
