package nodevm

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
	"github.com/musterlab/terraform-provider-muster/internal/vm"
)

// job is one create or update under way.
type job struct {
	verb    string
	uri     string // as configured
	host    *libvirt.Host
	vms     *vm.Manager
	blocks  blockSet
	macs    map[string]string
	request vm.Request
}

func (r *Resource) prepare(ctx context.Context, verb string, plan, config Model) (*job, diag.Diagnostics) {
	host, err := r.data.Host(plan.URI.ValueString())
	if err != nil {
		return nil, diag.Diagnostics{tfconv.UnableFault(verb, "node_vm", plan.label(), plan.URI.ValueString(), err)}
	}
	j := &job{verb: verb, uri: plan.URI.ValueString(), host: host, vms: r.data.VMs(host), macs: stringsOf(plan.MACs)}
	var diags, d diag.Diagnostics
	j.blocks, diags = plan.blocks(ctx)
	if diags.HasError() {
		return nil, diags
	}
	j.request, d = plan.request(ctx, j.blocks, j.macs)
	diags.Append(d...)
	j.request.Claim = r.claim(plan)
	secret, d := tfconv.First[cloudInitModel](ctx, config.CloudInit)
	diags.Append(d...)
	if diags.HasError() {
		return nil, diags
	}
	j.request.Seed, d = seed(ctx, host, j.request, j.blocks, secret)
	diags.Append(d...)
	return j, diags
}

func (j *job) identity() identityModel {
	return identityModel{URI: types.StringValue(j.host.URI()), UUID: types.StringValue(j.request.Spec.UUID)}
}

func (j *job) nicNames() []string {
	out := make([]string, len(j.blocks.nics))
	for i, n := range j.blocks.nics {
		out[i] = n.Name.ValueString()
	}
	return out
}

// failed makes the diagnostic of an error. Where the operation's own limit ran
// out, or Terraform was interrupted, it is that which the user has to hear.
func (j *job) failed(ctx context.Context, err error) diag.Diagnostic {
	if cause := context.Cause(ctx); ctx.Err() != nil && cause != nil {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	return diagnose(j.verb, j.request.Spec.Name, j.uri, &j.blocks, err)
}

// readBack fills the plan's computed values from the host, and says where a
// declared value is not what is there. verify is false after a failure, when
// the host is only asked for what it can tell quickly.
func (j *job) readBack(ctx context.Context, plan *Model, verify bool) diag.Diagnostics {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterCancel)
	defer cancel()
	planned := *plan
	plan.settle()
	observed, err := j.vms.Observe(ctx, plan.ID.ValueString(), domxml.Names{}, true)
	if err != nil {
		if !verify {
			return nil // the failure has been told
		}
		return diag.Diagnostics{tfconv.UnableFault("read back", "node_vm", j.request.Spec.Name, j.uri, err)}
	}
	domainType, err := j.host.DomainType(ctx)
	if err != nil {
		domainType = observed.Definition.Type
	}
	there := *plan
	diags := there.absorb(ctx, observed, domainType)
	if verify {
		diags.Append(j.differences(plan, &there)...)
	}
	plan.learn(planned, there)
	return diags
}

// learn takes over what the plan left unknown, and nothing else.
func (m *Model) learn(planned, there Model) {
	if planned.Addresses.IsUnknown() {
		m.Addresses = there.Addresses
	}
	if planned.PendingRestart.IsUnknown() {
		m.PendingRestart = there.PendingRestart
	}
	if planned.Unmanaged.IsUnknown() {
		m.Unmanaged = there.Unmanaged
	}
	if planned.ConsoleLog.IsUnknown() {
		m.ConsoleLog = there.ConsoleLog
	}
}

// settle makes every computed value known: a state may hold no unknowns.
func (m *Model) settle() {
	if m.Addresses.IsUnknown() {
		m.Addresses = tfconv.StringMap(nil)
	}
	if m.PendingRestart.IsUnknown() {
		m.PendingRestart = tfconv.StringList(nil)
	}
	if m.Unmanaged.IsUnknown() {
		m.Unmanaged = tfconv.StringList(nil)
	}
	if m.ConsoleLog.IsUnknown() {
		m.ConsoleLog = types.StringValue("")
	}
	if m.Incarnation.IsUnknown() {
		m.Incarnation = types.StringValue("")
	}
}

// differences names declared values that the host did not take over. The power
// state is left out: a guest may power itself off at any time.
func (j *job) differences(plan, there *Model) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, f := range plan.declared(there) {
		if f.want.Equal(f.have) {
			continue
		}
		diags.Append(tfconv.Problem{
			Verb: j.verb, Type: "node_vm", Name: j.request.Spec.Name,
			Happened: fmt.Sprintf("libvirt took the definition, and reads it back with another %s: %s", f.name, f.have),
			Expected: fmt.Sprintf("%s was to be %s", f.name, f.want),
			Todo:     "Apply again; if it stays so, this host does not support the value.",
		}.ErrorAt(path.Root(f.name)))
	}
	return diags
}

type field struct {
	name       string
	want, have attr.Value
}

func (m *Model) declared(there *Model) []field {
	return []field{
		{"memory_mib", m.MemoryMiB, there.MemoryMiB},
		{"vcpus", m.VCPUs, there.VCPUs},
		{"autostart", m.Autostart, there.Autostart},
		{"macs", m.MACs, there.MACs},
		{"cpu", m.CPU, there.CPU},
		{"firmware", m.Firmware, there.Firmware},
		{"boot", m.Boot, there.Boot},
		{"disk", m.Disks, there.Disks},
		{"nic", m.NICs, there.NICs},
		{"console", m.Console, there.Console},
		{"capture", m.Capture, there.Capture},
	}
}

// equal reports whether two states say the same.
func (m *Model) equal(o *Model) bool {
	for _, f := range append(m.declared(o),
		field{"id", m.ID, o.ID}, field{"name", m.Name, o.Name}, field{"power", m.Power, o.Power},
		field{"on_change", m.OnChange, o.OnChange}, field{"incarnation", m.Incarnation, o.Incarnation},
		field{"addresses", m.Addresses, o.Addresses}, field{"pending_restart", m.PendingRestart, o.PendingRestart},
		field{"unmanaged", m.Unmanaged, o.Unmanaged}, field{"console_log", m.ConsoleLog, o.ConsoleLog},
		field{"cloud_init", m.CloudInit, o.CloudInit},
	) {
		if !f.want.Equal(f.have) {
			return false
		}
	}
	return true
}

// knownDevices says which devices of a domain without a mark are ours: those
// that the records name, and after an import or move, where names were given
// by position, those that the declaration names now.
func knownDevices(ctx context.Context, recorded *born, state Model, j *job) (domxml.Names, diag.Diagnostics) {
	known := recorded.known()
	if recorded == nil || !recorded.Unnamed {
		return known, nil
	}
	before, diags := state.blocks(ctx)
	for name, mac := range j.macs {
		known.NIC[mac] = name // the plan has matched them
	}
	known.Order = nil
	var want, have []domxml.Disk
	for _, d := range j.blocks.disks {
		want = append(want, domxml.Disk{Name: d.Name.ValueString(), Target: recorded.Targets[d.Name.ValueString()]})
	}
	for _, d := range before.disks {
		have = append(have, domxml.Disk{Name: d.Name.ValueString(), Target: recorded.Targets[d.Name.ValueString()]})
	}
	for target, name := range domxml.Match(nil, want, domxml.Spec{Disks: have}).Disk {
		known.Disk[target] = name
	}
	return known, diags
}

var fieldForm = regexp.MustCompile(`^(\w+)(?: "([^"]*)")?(?:\.(\w+))?$`)

// fieldPath finds the attribute that a use case's refusal names.
func fieldPath(b *blockSet, name string) (path.Path, bool) {
	parts := fieldForm.FindStringSubmatch(name)
	if parts == nil {
		return path.Empty(), false
	}
	p := path.Root(parts[1])
	switch {
	case parts[2] != "":
		i := b.index(parts[1], parts[2])
		if i < 0 {
			return path.Empty(), false
		}
		p = p.AtListIndex(i)
	case parts[3] != "" || isBlock(parts[1]):
		p = p.AtListIndex(0)
	}
	if parts[3] != "" {
		p = p.AtName(parts[3])
	}
	return p, true
}

func isBlock(name string) bool {
	return strings.Contains(" cpu firmware boot console cloud_init ready capture ", " "+name+" ")
}

func (b *blockSet) index(block, name string) int {
	if b == nil {
		return -1
	}
	switch block {
	case "nic":
		for i, n := range b.nics {
			if n.Name.ValueString() == name {
				return i
			}
		}
	case "disk":
		for i, d := range b.disks {
			if d.Name.ValueString() == name {
				return i
			}
		}
	}
	return -1
}
