package nodevm

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

// typeName is the resource's Terraform type, which the owner mark repeats.
const typeName = "muster_node_vm"

// blockSet is the model's blocks as Go values; nil or empty where absent.
type blockSet struct {
	cpu       *cpuModel
	firmware  *firmwareModel
	boot      *bootModel
	disks     []diskModel
	nics      []nicModel
	console   *consoleModel
	cloudInit *cloudInitModel
	ready     *readyModel
	capture   *captureModel
}

// blocks reads the blocks that are known.
func (m Model) blocks(ctx context.Context) (blockSet, diag.Diagnostics) {
	var b blockSet
	var diags, d diag.Diagnostics
	collect := func() { diags.Append(d...) }
	b.cpu, d = tfconv.First[cpuModel](ctx, m.CPU)
	collect()
	b.firmware, d = tfconv.First[firmwareModel](ctx, m.Firmware)
	collect()
	b.boot, d = tfconv.First[bootModel](ctx, m.Boot)
	collect()
	b.disks, d = tfconv.Elements[diskModel](ctx, m.Disks)
	collect()
	b.nics, d = tfconv.Elements[nicModel](ctx, m.NICs)
	collect()
	b.console, d = tfconv.First[consoleModel](ctx, m.Console)
	collect()
	b.cloudInit, d = tfconv.First[cloudInitModel](ctx, m.CloudInit)
	collect()
	b.ready, d = tfconv.First[readyModel](ctx, m.Ready)
	collect()
	b.capture, d = tfconv.First[captureModel](ctx, m.Capture)
	collect()
	return b, diags
}

// request converts a whole, known plan. The seed comes separately, for its
// write-only part is in the configuration.
func (m Model) request(ctx context.Context, b blockSet, macs map[string]string) (vm.Request, diag.Diagnostics) {
	var diags diag.Diagnostics
	r := vm.Request{
		Spec: domxml.Spec{
			Name: m.Name.ValueString(), UUID: m.ID.ValueString(),
			MemoryMiB: m.MemoryMiB.ValueInt64(), VCPUs: m.VCPUs.ValueInt64(),
			CPU: b.cpu.spec(), Firmware: b.firmware.spec(),
		},
		Console:   b.console == nil || b.console.Enabled.ValueBool(),
		Power:     vm.Power(m.Power.ValueString()),
		Autostart: m.Autostart.ValueBool(),
		Restart:   m.OnChange.ValueString() == onChangeRestart,
		Shutdown:  duration(m.ShutdownTimeout, defaultShutdown),
		Adopt:     m.AdoptExisting.ValueBool(),
	}
	var d diag.Diagnostics
	r.Spec.Boot, d = b.boot.spec(ctx)
	diags.Append(d...)
	for _, disk := range b.disks {
		r.Disks = append(r.Disks, disk.request())
	}
	for _, n := range b.nics {
		r.Spec.NICs = append(r.Spec.NICs, n.spec(macs[n.Name.ValueString()]))
	}
	r.Ready, d = b.ready.request(ctx)
	diags.Append(d...)
	if b.capture != nil && b.capture.Enabled.ValueBool() {
		r.Capture = &vm.CaptureRequest{Keep: tfconv.Int64Or(b.capture.Keep, defaultKeep)}
	}
	return r, diags
}

func (r *Resource) claim(m Model) owner.Claim {
	return owner.Claim{
		Namespace: r.data.Identity.Namespace, Type: typeName, Name: m.Name.ValueString(),
		TakeOver: r.data.Identity.TakeOver, Adopt: m.AdoptExisting.ValueBool(),
	}
}

func (c *cpuModel) spec() domxml.CPU {
	if c == nil {
		return domxml.CPU{}
	}
	return domxml.CPU{Mode: c.Mode.ValueString(), Model: c.Model.ValueString()}
}

func (f *firmwareModel) spec() domxml.Firmware {
	if f == nil {
		return domxml.Firmware{}
	}
	return domxml.Firmware{
		UEFI: f.Type.ValueString() == "uefi", SecureBoot: f.SecureBoot.ValueBool(),
		TPM: f.TPM.ValueBool(), Machine: f.Machine.ValueString(),
	}
}

func (b *bootModel) spec(ctx context.Context) (domxml.Boot, diag.Diagnostics) {
	if b == nil {
		return domxml.Boot{}, nil
	}
	order, diags := tfconv.Strings(ctx, b.Order)
	return domxml.Boot{
		Order: order, Kernel: b.Kernel.ValueString(), Initrd: b.Initrd.ValueString(), Cmdline: b.Cmdline.ValueString(),
	}, diags
}

func (d diskModel) request() vm.DiskRequest {
	return vm.DiskRequest{
		Name: d.Name.ValueString(), Pool: tfconv.StringOr(d.Pool, defaultPool), Image: d.Image.ValueString(),
		SizeMiB: d.SizeMiB.ValueInt64(), Bus: tfconv.StringOr(d.Bus, domxml.DefaultDiskBus),
	}
}

func (n nicModel) spec(mac string) domxml.NIC {
	return domxml.NIC{
		Name: n.Name.ValueString(), MAC: mac, Network: n.Network.ValueString(), Bridge: n.Bridge.ValueString(),
		Model: tfconv.StringOr(n.Model, domxml.DefaultNICModel), MTU: n.MTU.ValueInt64(),
		BootOrder: n.BootOrder.ValueInt64(), LinkDown: n.Link.ValueString() == "down",
	}
}

func (r *readyModel) request(ctx context.Context) (vm.Ready, diag.Diagnostics) {
	if r == nil {
		return vm.Ready{}, nil
	}
	units, diags := tfconv.Strings(ctx, r.Units)
	return vm.Ready{
		Lease: r.Lease.ValueBool(), Agent: r.Agent.ValueBool(), Units: units, Timeout: duration(r.Timeout, defaultReady),
	}, diags
}

// bootsFromNetwork reports whether the network is the first choice.
func (b *bootModel) bootsFromNetwork(ctx context.Context) bool {
	if b == nil {
		return false
	}
	order, _ := tfconv.Strings(ctx, b.Order)
	return b.Kernel.ValueString() == "" && len(order) > 0 && order[0] == domxml.BootNetwork
}

// defaultPower leaves a VM that boots from the network to whoever serves it:
// one that is on before MAAS knows it enlists itself as a stranger.
func (b *bootModel) defaultPower(ctx context.Context) vm.Power {
	if b.bootsFromNetwork(ctx) {
		return vm.PowerExternal
	}
	return vm.PowerOn
}

// stringsOf converts a map of strings.
func stringsOf(v types.Map) map[string]string {
	out := map[string]string{}
	if tfconv.Known(v) {
		for k, e := range v.Elements() {
			if s, ok := e.(types.String); ok && tfconv.Known(s) {
				out[k] = strings.ToLower(s.ValueString())
			}
		}
	}
	return out
}
