package nodevm

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

func deriveUUID(namespace, name string) string { return hwaddr.DeriveUUID(namespace, name) }

// rename gives the devices of an imported or moved VM, which were named by
// position, the names of the configuration: by explicit MAC, then by position.
// That is a rename and never a new MAC.
func (p *planning) rename(b *born) *born {
	var want, have []domxml.NIC
	for _, n := range p.blocks.nics {
		want = append(want, domxml.NIC{Name: n.Name.ValueString(), MAC: n.MAC.Canonical()})
	}
	for _, name := range b.NICs {
		have = append(have, domxml.NIC{Name: name, MAC: b.MACs[name]})
	}
	out := *b
	out.MACs = map[string]string{}
	for mac, name := range domxml.Match(want, nil, domxml.Spec{NICs: have}).NIC {
		out.MACs[name] = mac
	}
	for name, mac := range b.MACs { // same name, and not matched otherwise
		if !slices.ContainsFunc(want, func(n domxml.NIC) bool { return out.MACs[n.Name] == mac }) && out.MACs[name] == "" {
			out.MACs[name] = mac
		}
	}
	return &out
}

// warn says at plan what the apply will do that the plan does not show.
func (p *planning) warn(ctx context.Context) {
	if p.state == nil {
		return
	}
	p.warnIdentity(ctx)
	p.warnOrder()
	p.warnRestart(ctx)
}

// warnIdentity says who will see a new machine.
func (p *planning) warnIdentity(ctx context.Context) {
	before, after := stringsOf(p.state.MACs), stringsOf(p.plan.MACs)
	recorded, _ := readBorn(ctx, p.req.Private)
	for name, mac := range after {
		was := before[name]
		switch {
		case was == "" || was == mac:
			continue
		case recorded != nil && recorded.MACs[name] == mac:
			p.fail(diag.NewWarningDiagnostic(fmt.Sprintf("MAC of nic %q of node_vm %q has drifted", name, p.plan.label()),
				fmt.Sprintf("Somebody re-defined the domain: the NIC was declared with %s and has %s now. MAAS and DHCP servers take a boot with %s for a stranger's.\n"+
					"This apply puts %s back; a running VM takes it at its next power cycle.", mac, was, was, mac)))
		default:
			p.fail(diag.NewWarningDiagnostic(fmt.Sprintf("MAC of nic %q of node_vm %q changes", name, p.plan.label()),
				fmt.Sprintf("From %s to %s, at the next power cycle. MAAS, DHCP servers with reservations, switches with port security and licences bound to the MAC will see a new machine.\n"+
					"If that is not meant, take the mac out of the configuration, or set it to %s.", was, mac, was)))
		}
	}
}

// warnOrder explains a plan whose lines only moved.
func (p *planning) warnOrder() {
	names := func(nics []nicModel) []string {
		out := make([]string, len(nics))
		for i, n := range nics {
			out[i] = n.Name.ValueString()
		}
		return out
	}
	before, after := names(p.before.nics), names(p.blocks.nics)
	if slices.Equal(before, after) {
		return
	}
	slices.Sort(before)
	slices.Sort(after)
	if slices.Equal(before, after) {
		p.fail(diag.NewWarningDiagnostic(fmt.Sprintf("The nic blocks of node_vm %q only change places", p.plan.label()),
			"The plan shows every line after the first moved one as changed. A NIC is known by its name: no MAC changes."))
	}
}

// warnRestart says when the apply will restart the VM, and what waits.
func (p *planning) warnRestart(ctx context.Context) {
	waits := p.needsCycle()
	pending, diags := tfconv.Strings(ctx, p.state.PendingRestart)
	p.fail(diags...)
	for _, f := range pending {
		if !slices.Contains(waits, f) {
			waits = append(waits, f)
		}
	}
	if len(waits) == 0 || p.plan.Power.ValueString() == string(vm.PowerOff) || p.state.Power.ValueString() == string(vm.PowerOff) {
		return
	}
	name := p.plan.label()
	if p.plan.OnChange.ValueString() == onChangeRestart {
		p.plan.PendingRestart = types.ListUnknown(types.StringType)
		p.fail(diag.NewWarningDiagnostic(fmt.Sprintf("node_vm %q will be restarted if it runs", name),
			fmt.Sprintf("on_change is \"restart\", and %s can only change at a power cycle. The guest gets %s to shut down, then it is forced off; it is started again at once.",
				joined(waits), duration(p.plan.ShutdownTimeout, defaultShutdown))))
		return
	}
	if len(pending) > 0 || p.req.Plan.Raw.Equal(p.req.State.Raw) {
		p.fail(diag.NewWarningDiagnostic(fmt.Sprintf("node_vm %q waits for a power cycle", name),
			fmt.Sprintf("It runs, and %s will be what the configuration says only after it has been off once; a reboot from inside is not enough.\n"+
				"Shut it down and start it when it suits, or set on_change = \"restart\".", joined(waits))))
	}
}

// needsCycle names the declared changes that a running VM cannot take.
func (p *planning) needsCycle() []string {
	var out []string
	add := func(differs bool, field string) {
		if differs {
			out = append(out, field)
		}
	}
	was, is := p.state, &p.plan
	add(!was.MemoryMiB.Equal(is.MemoryMiB), "memory_mib")
	add(!was.VCPUs.Equal(is.VCPUs), "vcpus")
	add(!was.CPU.Equal(is.CPU), "cpu")
	add(!was.Firmware.Equal(is.Firmware), "firmware")
	add(!was.Boot.Equal(is.Boot), "boot")
	add(!was.Console.Equal(is.Console), "console")
	add(!was.CloudInit.Equal(is.CloudInit), "cloud_init")
	before, after := stringsOf(was.MACs), stringsOf(is.MACs)
	for _, n := range p.blocks.nics {
		name := n.Name.ValueString()
		i := slices.IndexFunc(p.before.nics, func(b nicModel) bool { return b.Name.Equal(n.Name) })
		if i < 0 {
			continue
		}
		b := p.before.nics[i]
		add(before[name] != after[name] || !n.MTU.Equal(b.MTU) || !n.Model.Equal(b.Model) || !n.BootOrder.Equal(b.BootOrder), `nic "`+name+`"`)
	}
	return out
}
