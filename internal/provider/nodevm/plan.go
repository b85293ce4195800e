package nodevm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

// ModifyPlan implements resource.ResourceWithModifyPlan: it plans identities,
// says what a change costs, and finds before anything changes what can be
// found then.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	if r.data == nil {
		return
	}
	p := planning{r: r, req: req, resp: resp}
	if !req.State.Raw.IsNull() && req.Plan.Raw.Equal(req.State.Raw) && p.settled(ctx) {
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &p.plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &p.config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !req.State.Raw.IsNull() {
		p.state = &Model{}
		resp.Diagnostics.Append(req.State.Get(ctx, p.state)...)
	}
	p.run(ctx)
}

// settled reports whether a plan without a change really has nothing to say:
// nothing waits for a power cycle, no identity has drifted, and a power state
// that is left to its default has that.
func (p *planning) settled(ctx context.Context) bool {
	var pending types.List
	p.fail(p.req.State.GetAttribute(ctx, path.Root("pending_restart"), &pending)...)
	return len(pending.Elements()) == 0 && !p.drifted(ctx) && p.defaultPower(ctx)
}

// defaultPower reports whether the power state is declared, or is the default:
// for an optional value that is left out, Terraform plans what the state has.
func (p *planning) defaultPower(ctx context.Context) bool {
	var declared, is types.String
	p.fail(p.req.Config.GetAttribute(ctx, path.Root("power"), &declared)...)
	if !declared.IsNull() {
		return true
	}
	var boot types.List
	p.fail(p.req.State.GetAttribute(ctx, path.Root("power"), &is)...)
	p.fail(p.req.State.GetAttribute(ctx, path.Root("boot"), &boot)...)
	b, diags := tfconv.First[bootModel](ctx, boot)
	p.fail(diags...)
	return is.ValueString() == string(b.defaultPower(ctx))
}

// drifted reports whether a MAC in the state is not the one that the NIC was
// declared with.
func (p *planning) drifted(ctx context.Context) bool {
	recorded, diags := readBorn(ctx, p.req.Private)
	if recorded == nil || recorded.Unnamed || diags.HasError() {
		return false
	}
	var macs types.Map
	p.resp.Diagnostics.Append(p.req.State.GetAttribute(ctx, path.Root("macs"), &macs)...)
	for name, mac := range stringsOf(macs) {
		if was := recorded.MACs[name]; was != "" && was != mac {
			return true
		}
	}
	return false
}

// planning is one plan under way.
type planning struct {
	r            *Resource
	req          resource.ModifyPlanRequest
	resp         *resource.ModifyPlanResponse
	plan, config Model
	state        *Model // nil: create, or the second half of a replacement
	blocks       blockSet
	before       blockSet
	whole        bool // no block or element of one is unknown
}

func (p *planning) fail(d ...diag.Diagnostic) { p.resp.Diagnostics.Append(d...) }

func (p *planning) failed() bool { return p.resp.Diagnostics.HasError() }

func (p *planning) run(ctx context.Context) {
	p.whole = tfconv.Known(p.plan.NICs) || p.plan.NICs.IsNull()
	var diags diag.Diagnostics
	p.blocks, diags = p.plan.blocks(ctx)
	p.fail(diags...)
	if p.state != nil {
		p.before, diags = p.state.blocks(ctx)
		p.fail(diags...)
	}
	if p.failed() {
		return
	}
	p.planPower(ctx)
	existing := p.lookUp(ctx)
	if p.failed() {
		return
	}
	recorded := p.recorded(ctx, existing)
	p.planUUID(recorded)
	p.planMACs(recorded)
	if p.failed() {
		return
	}
	if !p.req.Plan.Raw.Equal(p.req.State.Raw) || !p.plan.equal(p.state) {
		p.planComputed()
	}
	p.compareDisks()
	p.warn(ctx)
	p.preflight(ctx)
	if p.failed() {
		return
	}
	p.fail(p.resp.Plan.Set(ctx, &p.plan)...)
}

// planPower states the default, which depends on the boot order.
func (p *planning) planPower(ctx context.Context) {
	if !p.config.Power.IsNull() {
		return
	}
	p.plan.Power = types.StringValue(string(p.blocks.boot.defaultPower(ctx)))
	if p.plan.Boot.IsUnknown() {
		p.plan.Power = types.StringUnknown()
	}
}

// lookUp finds a domain of that name when a VM is to be born: a tainted VM's
// own, which gives the provider neither state nor private state, or one that
// an interrupted create has left.
func (p *planning) lookUp(ctx context.Context) *vm.Existing {
	if p.state != nil || p.plan.Name.IsUnknown() || p.plan.URI.IsUnknown() || p.r.data.Identity.NamespaceUnknown {
		return nil
	}
	host, err := p.r.data.Host(p.plan.URI.ValueString())
	if err != nil {
		if keep, _ := p.r.data.KeepsState(p.plan.URI.ValueString(), err); !keep {
			p.fail(tfconv.UnableFault("plan", "node_vm", p.plan.label(), p.plan.URI.ValueString(), err))
		}
		return nil
	}
	existing, err := p.r.data.VMs(host).Find(ctx, p.plan.Name.ValueString(), p.r.claim(p.plan), listingAge)
	if err != nil {
		p.unreachable(err)
		return nil
	}
	if existing == nil {
		return nil
	}
	if replacing, _ := readBorn(ctx, p.req.Private); replacing != nil {
		return nil // it is the one that will be destroyed first
	}
	if err := existing.Refusal(host.URI()); err != nil && existing.Definition.Mark == nil {
		p.fail(diagnose("plan", p.plan.label(), p.plan.URI.ValueString(), &p.blocks, err))
	}
	return existing
}

// listingAge is how old a listing of the host may be to serve a plan.
const listingAge = 2 * time.Second

// unreachable says once per host that it could not be asked.
func (p *planning) unreachable(err error) {
	uri := p.plan.URI.ValueString()
	if keep, warning := p.r.data.KeepsState(uri, err); keep {
		if warning != nil {
			p.fail(warning)
		}
		return
	}
	p.fail(tfconv.UnableFault("plan", "node_vm", p.plan.label(), uri, err))
}

// recorded returns the identity that this VM has: at an update and at a
// replacement its own, at a create that of a domain of ours that is there.
func (p *planning) recorded(ctx context.Context, existing *vm.Existing) *born {
	b, diags := readBorn(ctx, p.req.Private)
	p.fail(diags...)
	switch {
	case b != nil && b.Unnamed:
		return p.rename(b)
	case b != nil:
		return b
	case p.state != nil:
		return &born{UUID: p.state.ID.ValueString(), MACs: stringsOf(p.state.MACs)}
	case existing == nil:
		return departed(p.r.data.Departed(p.plan.Name.ValueString()))
	}
	found := bornOf(existing.Definition, existing.Definition.Mark == nil)
	if mark := existing.Definition.Mark; mark != nil {
		for _, n := range mark.NICs {
			found.MACs[n.Name] = n.MAC
		}
	}
	if found.Unnamed {
		return p.rename(&found)
	}
	return &found
}

func (p *planning) planUUID(recorded *born) {
	identity := p.r.data.Identity
	switch {
	case recorded != nil && recorded.UUID != "":
		p.plan.ID = types.StringValue(recorded.UUID)
	case p.plan.Name.IsUnknown() || identity.NamespaceUnknown:
		p.plan.ID = types.StringUnknown()
	case identity.Namespace == "":
		p.fail(diag.NewErrorDiagnostic(`Unable to plan node_vm "`+p.plan.label()+`"`,
			"The provider's identity block has no namespace, from which the UUID and MACs of a new VM derive.\n"+
				"Set identity { namespace = \"...\" } or the environment variable MUSTER_NAMESPACE, to a name of this lab that no other lab uses."))
	default:
		p.plan.ID = types.StringValue(deriveUUID(identity.Namespace, p.plan.Name.ValueString()))
	}
}

func (p *planning) planMACs(recorded *born) {
	if p.plan.NICs.IsUnknown() {
		p.plan.MACs = types.MapUnknown(types.StringType)
		return
	}
	identity := p.r.data.Identity
	sources := identitySources{
		namespace: identity.Namespace, prefix: identity.Prefix, vm: p.plan.Name.ValueString(),
		nameKnown: identity.Namespace != "" && !identity.NamespaceUnknown && !p.plan.Name.IsUnknown(),
	}
	if recorded != nil {
		sources.recorded = recorded.MACs
	}
	var wanted []wantedNIC
	for _, n := range p.blocks.nics {
		if n.Name.IsUnknown() {
			p.plan.MACs = types.MapUnknown(types.StringType)
			return
		}
		wanted = append(wanted, wantedNIC{name: n.Name.ValueString(), explicit: n.MAC.Canonical(), unknown: n.MAC.IsUnknown()})
	}
	macs, err := planMACs(wanted, sources)
	if err != nil {
		p.fail(diag.NewAttributeErrorDiagnostic(path.Root("nic"), `Unable to plan node_vm "`+p.plan.label()+`"`, tfconv.Sentence(err.Error())+"\nGive one of them another mac."))
		return
	}
	elems := map[string]attr.Value{}
	for name, mac := range macs {
		elems[name] = types.StringValue(mac)
		if mac == "" {
			elems[name] = types.StringUnknown()
		}
	}
	p.plan.MACs = types.MapValueMust(types.StringType, elems)
	p.claimMACs(macs)
}

// claimMACs finds two owners of one MAC among the resources of this plan.
func (p *planning) claimMACs(macs map[string]string) {
	me := p.plan.label()
	for name, mac := range macs {
		if mac == "" {
			continue
		}
		owner := fmt.Sprintf("nic %q of node_vm %q", name, me)
		if other, ok := p.r.data.Claims().Claim("mac", mac, owner); !ok {
			at, _ := fieldPath(&p.blocks, fmt.Sprintf("nic %q", name))
			p.fail(tfconv.UnableAt(at, "plan", "node_vm", me,
				fmt.Sprintf("%s and %s would both have the MAC %s", owner, other, mac), "A MAC has one owner.", "Give one of them another mac."))
		}
	}
}

// planComputed decides which computed values are known. It is called only when
// something changes.
func (p *planning) planComputed() {
	p.plan.Unmanaged, p.plan.ConsoleLog = types.ListUnknown(types.StringType), types.StringUnknown()
	p.plan.PendingRestart = types.ListUnknown(types.StringType)
	p.plan.Addresses = types.MapUnknown(types.StringType)
	p.plan.Incarnation = types.StringUnknown()
	if p.state == nil {
		return
	}
	p.plan.Unmanaged = p.state.Unmanaged
	if p.state.Incarnation.ValueString() != "" {
		p.plan.Incarnation = p.state.Incarnation
	}
	if p.state.Console.Equal(p.plan.Console) {
		p.plan.ConsoleLog = p.state.ConsoleLog
	}
	if p.state.NICs.Equal(p.plan.NICs) && p.state.Power.Equal(p.plan.Power) && p.plan.OnChange.ValueString() == onChangeDefer {
		p.plan.Addresses = p.state.Addresses
	}
	if p.onlySettings() {
		p.plan.PendingRestart, p.plan.Addresses = p.state.PendingRestart, p.state.Addresses
	}
}

// onlySettings reports whether nothing changes but settings of Terraform's own
// that no host ever sees.
func (p *planning) onlySettings() bool {
	same := *p.state
	same.OnChange, same.AdoptExisting, same.ShutdownTimeout, same.Ready, same.Timeouts =
		p.plan.OnChange, p.plan.AdoptExisting, p.plan.ShutdownTimeout, p.plan.Ready, p.plan.Timeouts
	same.PendingRestart, same.Addresses, same.ConsoleLog = p.plan.PendingRestart, p.plan.Addresses, p.plan.ConsoleLog
	return p.plan.equal(&same) && p.plan.OnChange.ValueString() == onChangeDefer
}

// compareDisks refuses to shrink a disk and replaces the VM for what no disk
// can become.
func (p *planning) compareDisks() {
	for i, d := range p.blocks.disks {
		at := path.Root("disk").AtListIndex(i)
		was := slices.IndexFunc(p.before.disks, func(b diskModel) bool { return b.Name.Equal(d.Name) })
		if was < 0 {
			continue
		}
		b := p.before.disks[was]
		if tfconv.Known(d.SizeMiB) && tfconv.Known(b.SizeMiB) && d.SizeMiB.ValueInt64() < b.SizeMiB.ValueInt64() {
			p.fail(tfconv.UnableAt(at.AtName("size_mib"), "plan", "node_vm", p.plan.label(),
				fmt.Sprintf("disk %q has %d MiB and would shrink to %d MiB", d.Name.ValueString(), b.SizeMiB.ValueInt64(), d.SizeMiB.ValueInt64()),
				"A disk only grows, for what lies beyond its new end would be lost.",
				"Keep the size, or give the disk a new name to get a new, empty one."))
		}
		if tfconv.Known(b.Image) && !d.Image.Equal(b.Image) {
			p.resp.RequiresReplace = append(p.resp.RequiresReplace, at.AtName("image"))
		}
		if !d.Pool.IsUnknown() && tfconv.StringOr(d.Pool, defaultPool) != tfconv.StringOr(b.Pool, defaultPool) {
			p.resp.RequiresReplace = append(p.resp.RequiresReplace, at.AtName("pool"))
		}
	}
}

// preflight asks the host about NICs that are new. What cannot be known yet
// (a network of this very apply) is asked again before the create.
func (p *planning) preflight(ctx context.Context) {
	if !p.whole || p.plan.MACs.IsUnknown() || p.plan.URI.IsUnknown() || p.plan.ID.IsUnknown() {
		return
	}
	host, err := p.r.data.Host(p.plan.URI.ValueString())
	if err != nil {
		return
	}
	macs := stringsOf(p.plan.MACs)
	known := map[string]string{}
	if p.state != nil {
		known = stringsOf(p.state.MACs)
	}
	for name, mac := range macs {
		if known[name] == mac {
			continue
		}
		for _, h := range append(p.r.data.OpenHosts(), host) {
			holder, held, err := p.r.data.VMs(h).Holder(ctx, mac)
			if err != nil || !held || holder.UUID == p.plan.ID.ValueString() {
				if err != nil && h == host {
					p.unreachable(err)
				}
				continue
			}
			at, _ := fieldPath(&p.blocks, fmt.Sprintf("nic %q", name))
			p.fail(tfconv.UnableAt(at, "plan", "node_vm", p.plan.label(),
				fmt.Sprintf("the MAC %s of nic %q belongs to the domain %q (uuid %s) on %s", mac, name, holder.Name, holder.UUID, h.URI()),
				"A MAC has one owner.", "Give the NIC another mac, or remove it from the other domain."))
			return
		}
	}
}

func joined(names []string) string { return strings.Join(names, ", ") }
