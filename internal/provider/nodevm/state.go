package nodevm

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

// absorb writes what was observed into the model. What is declared stays as it
// is written while it means what is there; an absent block stays absent while
// the default is there.
func (m *Model) absorb(ctx context.Context, o *vm.Observed, domainType string) diag.Diagnostics {
	b, diags := m.blocks(ctx)
	if diags.HasError() {
		return diags
	}
	d := o.Definition
	m.ID = types.StringValue(d.UUID)
	m.Name = types.StringValue(d.Name)
	m.MemoryMiB = types.Int64Value(d.MemoryMiB)
	m.VCPUs = types.Int64Value(d.VCPUs)
	m.Autostart = types.BoolValue(o.Autostart)
	m.Power = m.power(o)
	m.OnChange = types.StringValue(tfconv.StringOr(m.OnChange, onChangeDefer))
	if m.Incarnation.ValueString() == "" { // what the state holds says which creation is ours
		m.Incarnation = types.StringValue("")
		if d.Mark != nil {
			m.Incarnation = types.StringValue(d.Mark.Incarnation)
		}
	}
	m.PendingRestart = tfconv.StringList(o.Pending)
	m.Unmanaged = tfconv.StringList(d.Unmanaged)
	m.Addresses = tfconv.StringMap(o.Addresses)
	m.MACs = tfconv.StringMap(macsOf(d.NICs))
	m.ConsoleLog = types.StringValue("")
	if d.ConsoleLog != "" {
		m.ConsoleLog = types.StringValue(vm.ConsoleVolume(d.UUID))
	}
	diags.Append(m.absorbBlocks(ctx, b, o, domainType)...)
	return diags
}

// power keeps "external" as declared: who starts and stops such a VM is none
// of the plan's business. A paused VM is neither on nor off.
func (m *Model) power(o *vm.Observed) types.String {
	if m.Power.ValueString() == string(vm.PowerExternal) {
		return m.Power
	}
	if m.Power.IsNull() && len(o.Definition.Boot.Order) > 0 && o.Definition.Boot.Order[0] == domxml.BootNetwork && o.Definition.Boot.Kernel == "" {
		return types.StringValue(string(vm.PowerExternal)) // import
	}
	switch o.State {
	case "running", "blocked":
		return types.StringValue(string(vm.PowerOn))
	case "shutoff", "crashed", "nostate":
		return types.StringValue(string(vm.PowerOff))
	default:
		return types.StringValue(o.State)
	}
}

func macsOf(nics []domxml.NIC) map[string]string {
	out := make(map[string]string, len(nics))
	for _, n := range nics {
		out[n.Name] = n.MAC
	}
	return out
}

func (m *Model) absorbBlocks(ctx context.Context, b blockSet, o *vm.Observed, domainType string) diag.Diagnostics {
	var diags diag.Diagnostics
	d := o.Definition
	m.CPU = keep(m.CPU, b.cpu != nil, readCPU(b.cpu, d.CPU, domainType))
	m.Firmware = keep(m.Firmware, b.firmware != nil, readFirmware(b.firmware, d.Firmware))
	m.Boot = keep(m.Boot, b.boot != nil, readBoot(ctx, b.boot, d.Spec))
	m.Console = keep(m.Console, b.console != nil, readConsole(b.console, d.ConsoleLog != ""))
	m.Capture = keep(m.Capture, b.capture != nil, readCapture(b.capture, len(d.Capture) > 0))
	if b.cloudInit != nil && d.Seed == "" {
		m.CloudInit = types.ListNull(m.CloudInit.ElementType(ctx)) // somebody took the seed away
	}
	var dd diag.Diagnostics
	m.Disks, dd = listOf(ctx, m.Disks, readDisks(b.disks, o))
	diags.Append(dd...)
	m.NICs, dd = listOf(ctx, m.NICs, readNICs(b.nics, d))
	diags.Append(dd...)
	return diags
}

// change is what to do with an at-most-one block: same keeps it, absent makes
// it null, else value is its only element.
type change struct {
	same   bool
	absent bool
	value  map[string]attr.Value
}

var unchanged = change{same: true}

func keep(l types.List, present bool, c change) types.List {
	elem, ok := l.ElementType(context.Background()).(types.ObjectType)
	switch {
	case c.same && (present || !l.IsUnknown()), !ok:
		return l
	case c.absent, c.same:
		return types.ListNull(l.ElementType(context.Background()))
	}
	return types.ListValueMust(elem, []attr.Value{types.ObjectValueMust(elem.AttrTypes, c.value)})
}

func readCPU(b *cpuModel, have domxml.CPU, domainType string) change {
	if domainType == "test" || b.spec() == have || b == nil && have == domxml.DefaultCPU(domainType) {
		return unchanged
	}
	if b != nil && b.Mode.ValueString() == have.Mode && b.Mode.ValueString() != "custom" {
		return unchanged
	}
	return change{value: map[string]attr.Value{"mode": types.StringValue(have.Mode), "model": tfconv.StringOrNull(have.Model)}}
}

func readFirmware(b *firmwareModel, have domxml.Firmware) change {
	want := b.spec()
	if want.UEFI == have.UEFI && want.TPM == have.TPM && (!want.UEFI || want.SecureBoot == have.SecureBoot) &&
		(have.Machine == "" || domxml.SameMachine(want.Machine, have.Machine)) {
		return unchanged
	}
	v := map[string]attr.Value{"type": types.StringValue("bios"), "secure_boot": types.BoolNull(), "tpm": types.BoolNull(), "machine": types.StringNull()}
	if have.UEFI {
		v["type"] = types.StringValue("uefi")
		if have.SecureBoot {
			v["secure_boot"] = types.BoolValue(true)
		}
	}
	if have.TPM {
		v["tpm"] = types.BoolValue(true)
	}
	if !domxml.SameMachine("", have.Machine) {
		v["machine"] = types.StringValue(have.Machine)
	} else if b != nil && domxml.SameMachine(b.Machine.ValueString(), have.Machine) {
		v["machine"] = b.Machine
	}
	return change{value: v}
}

func readBoot(ctx context.Context, b *bootModel, d domxml.Spec) change {
	want, _ := b.spec(ctx)
	have := d.Boot
	order := want.Order
	if len(order) == 0 {
		order = domxml.DefaultOrder
	}
	if slices.Equal(shown(order, d), have.Order) && want.Kernel == have.Kernel && want.Initrd == have.Initrd && want.Cmdline == have.Cmdline {
		return unchanged
	}
	v := map[string]attr.Value{
		"order": types.ListNull(types.StringType), "kernel": tfconv.StringOrNull(have.Kernel),
		"initrd": tfconv.StringOrNull(have.Initrd), "cmdline": tfconv.StringOrNull(have.Cmdline),
	}
	if !slices.Equal(shown(domxml.DefaultOrder, d), have.Order) {
		v["order"] = tfconv.StringList(have.Order)
	}
	return change{value: v}
}

// shown is a declared order as a definition shows it: a class without devices
// has no number there.
func shown(order []string, d domxml.Spec) []string {
	var out []string
	for _, class := range order {
		if class == domxml.BootDisk && len(d.Disks) > 0 || class == domxml.BootNetwork && len(d.NICs) > 0 {
			out = append(out, class)
		}
	}
	return out
}

func readConsole(b *consoleModel, have bool) change {
	if want := b == nil || b.Enabled.ValueBool(); want == have {
		return unchanged
	}
	return change{value: map[string]attr.Value{"enabled": types.BoolValue(have)}}
}

func readCapture(b *captureModel, have bool) change {
	if want := b != nil && b.Enabled.ValueBool(); want == have {
		return unchanged
	}
	if b == nil {
		b = &captureModel{Keep: types.Int64Null()}
	}
	return change{value: map[string]attr.Value{"enabled": types.BoolValue(have), "keep": b.Keep}}
}

// readDisks returns the disks in the order in which they are declared, those
// that nobody declared last.
func readDisks(declared []diskModel, o *vm.Observed) []diskModel {
	present := map[string]domxml.Disk{}
	for _, d := range o.Definition.Disks {
		present[d.Name] = d
	}
	var out []diskModel
	for _, b := range declared {
		d, ok := present[b.Name.ValueString()]
		if !ok {
			continue // somebody detached it: the plan attaches it again
		}
		delete(present, d.Name)
		if size := o.DiskMiB[d.Name]; size > 0 && tfconv.Known(b.SizeMiB) {
			b.SizeMiB = types.Int64Value(size)
		}
		b.Pool = keepString(b.Pool, o.Pools[d.Name], defaultPool)
		b.Bus = keepString(b.Bus, d.Bus, domxml.DefaultDiskBus)
		out = append(out, b)
	}
	for _, d := range o.Definition.Disks {
		if _, left := present[d.Name]; left {
			b := diskModel{Name: types.StringValue(d.Name), Image: types.StringNull(), SizeMiB: tfconv.Int64OrNull(o.DiskMiB[d.Name])}
			b.Pool = keepString(types.StringNull(), o.Pools[d.Name], defaultPool)
			b.Bus = keepString(types.StringNull(), d.Bus, domxml.DefaultDiskBus)
			out = append(out, b)
		}
	}
	return out
}

// keepString returns the declared value while it means what is there; "" is
// not known.
func keepString(declared types.String, have, fallback string) types.String {
	if have == "" || tfconv.StringOr(declared, fallback) == have {
		return declared
	}
	return types.StringValue(have)
}

func readNICs(declared []nicModel, d domxml.Definition) []nicModel {
	present := map[string]domxml.NIC{}
	for _, n := range d.NICs {
		present[n.Name] = n
	}
	ordered := sameNICOrder(declared, d.NICs)
	var out []nicModel
	for _, b := range declared {
		n, ok := present[b.Name.ValueString()]
		if !ok {
			continue
		}
		delete(present, n.Name)
		b.absorb(n)
		if !ordered {
			b.BootOrder = tfconv.Int64OrNull(n.BootOrder)
		}
		out = append(out, b)
	}
	for _, n := range d.NICs {
		if _, left := present[n.Name]; left {
			b := nicModel{
				Name: types.StringValue(n.Name), MAC: tfconv.MACNull(), BootOrder: types.Int64Null(), Gateway: types.StringNull(),
				Addresses: types.ListNull(types.StringType), Nameservers: types.ListNull(types.StringType),
			}
			b.absorb(n)
			out = append(out, b)
		}
	}
	return out
}

func (n *nicModel) absorb(have domxml.NIC) {
	n.Network, n.Bridge = tfconv.StringOrNull(have.Network), tfconv.StringOrNull(have.Bridge)
	if tfconv.Known(n.MAC) && n.MAC.Canonical() != have.MAC {
		n.MAC = tfconv.MACString(have.MAC)
	}
	n.Model = keepString(n.Model, have.Model, domxml.DefaultNICModel)
	if n.MTU.ValueInt64() != have.MTU {
		n.MTU = tfconv.Int64OrNull(have.MTU)
	}
	link := "up"
	if have.LinkDown {
		link = "down"
	}
	n.Link = keepString(n.Link, link, "up")
}

// sameNICOrder reports whether the NICs that have a boot number stand in the
// declared order.
func sameNICOrder(declared []nicModel, have []domxml.NIC) bool {
	var want []domxml.NIC
	numbers := map[string]int64{}
	for _, n := range have {
		numbers[n.Name] = n.BootOrder
	}
	for _, b := range declared {
		if numbers[b.Name.ValueString()] > 0 {
			want = append(want, domxml.NIC{Name: b.Name.ValueString(), BootOrder: b.BootOrder.ValueInt64()})
		}
	}
	last := int64(0)
	for _, name := range domxml.BootSequence(domxml.Spec{NICs: want, Boot: domxml.Boot{Order: []string{domxml.BootNetwork}}}) {
		n := numbers[strings.TrimPrefix(name, "nic ")]
		if n < last {
			return false
		}
		last = n
	}
	return true
}

// listOf returns a list block, null without elements, as the framework has
// absent blocks.
func listOf[T any](ctx context.Context, l types.List, elems []T) (types.List, diag.Diagnostics) {
	if len(elems) == 0 {
		return types.ListNull(l.ElementType(ctx)), nil
	}
	return types.ListValueFrom(ctx, l.ElementType(ctx), elems)
}
