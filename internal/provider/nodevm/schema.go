package nodevm

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// limits are the default timeouts. The create limit holds what a guest needs to
// become ready as well.
var limits = tfconv.Timeouts{Create: 20 * time.Minute, Read: 2 * time.Minute, Update: 20 * time.Minute, Delete: 10 * time.Minute}

// Schema implements resource.Resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	blocks := blocks()
	blocks["timeouts"] = limits.Block(ctx)
	resp.Schema = schema.Schema{
		Description: "A libvirt domain that acts as a metal node. Its UUID and MAC addresses are known at plan and outlive every apply: " +
			"update, taint, replace, import, a changed namespace. Updates edit the persistent definition in place; what others put there stays.",
		Attributes: attributes(),
		Blocks:     blocks,
	}
}

// IdentitySchema implements resource.ResourceWithIdentity.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"uri":  identityschema.StringAttribute{OptionalForImport: true, Description: "Canonical URI of the libvirt host. Default: the provider's."},
		"uuid": identityschema.StringAttribute{RequiredForImport: true, Description: "UUID of the domain."},
	}}
}

func attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			Description: "Name of the domain, unique in the namespace across all hosts, for UUID and MACs derive from it when the VM is born. " +
				"A change renames the domain in place, UUID and MACs stay; libvirt renames only what is off, so a running VM must be off or have on_change = restart.",
			Validators: []validator.String{stringvalidator.RegexMatches(nameForm, "must be 1 to 63 letters, digits, '.', '_' or '-', the first a letter or digit")},
		},
		"uri": schema.StringAttribute{
			Optional:      true,
			Description:   "Libvirt host to be on, as a URI or the name of a host block of the provider. Default: the provider's libvirt uri. A change replaces the VM and carries UUID and MACs over.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		},
		"memory_mib": schema.Int64Attribute{
			Required:    true,
			Description: "Memory in MiB. Changes at the next power cycle.",
			Validators:  []validator.Int64{int64validator.Between(16, 16<<20)},
		},
		"vcpus": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(1),
			Description: "Number of virtual CPUs. Default: 1. Changes at the next power cycle.",
			Validators:  []validator.Int64{int64validator.Between(1, 1024)},
		},
		"power": schema.StringAttribute{
			Optional: true, Computed: true,
			Description: "on: kept running; off: kept off; external: defined, and never started or stopped by Terraform until destroy (MAAS does). " +
				"Default: external when the boot order starts with the network, else on. Changes live.",
			Validators: []validator.String{stringvalidator.OneOf("on", "off", "external")},
		},
		"on_change": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(onChangeDefer),
			Description: "What happens to a running VM when a change needs a power cycle. defer: it waits and is listed in pending_restart; " +
				"restart: the VM is shut down gracefully, by force after shutdown_timeout, and started again, one VM at a time per host. Default: defer.",
			Validators: []validator.String{stringvalidator.OneOf(onChangeDefer, onChangeRestart)},
		},
		"autostart": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			Description: "Start with the host. Default: false. Changes live.",
		},
		"adopt_existing": schema.BoolAttribute{
			Optional:    true,
			Description: "Take over a domain of this name that is already there, with the UUID, MACs and disks that it has. Default: false, which makes it an error.",
		},
		"shutdown_timeout": schema.StringAttribute{
			Optional:    true,
			Description: "How long the guest gets to shut down, asked by ACPI and its agent, before it is forced off, at a stop, a restart and a destroy. Default: 60s. 0s forces at once.",
			Validators:  []validator.String{durationValidator{}},
		},
		"id":          schema.StringAttribute{Computed: true, Description: "UUID of the domain, known at plan.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"macs":        schema.MapAttribute{Computed: true, ElementType: types.StringType, Description: "MAC address of each NIC by its name, in lower case, known at plan."},
		"incarnation": schema.StringAttribute{Computed: true, Description: "Random mark of this creation of the VM. A newer creation has another one, and this state then leaves the VM alone."},
		"addresses":   schema.MapAttribute{Computed: true, ElementType: types.StringType, Description: "Address that libvirt's DHCP server has leased to each NIC, by NIC name, while the VM runs."},
		"pending_restart": schema.ListAttribute{
			Computed: true, ElementType: types.StringType,
			Description: "Arguments whose change waits for a power cycle of the running VM.",
		},
		"unmanaged": schema.ListAttribute{
			Computed: true, ElementType: types.StringType,
			Description: "What others put into the definition: devices, title, description, metadata of other tools. It is never touched.",
		},
		"console_log": schema.StringAttribute{Computed: true, Description: "Volume of the pool muster-console that holds the console's output, for the data source muster_console. Empty without a console."},
	}
}

func blocks() map[string]schema.Block {
	return map[string]schema.Block{
		"cpu":        atMostOne("Guest CPU. Default: host-passthrough with KVM, maximum without. Changes at the next power cycle.", cpuAttributes()),
		"firmware":   atMostOne("Firmware and machine. Default: BIOS on q35. Changes at the next power cycle; NVRAM is kept.", firmwareAttributes()),
		"boot":       atMostOne("What the VM starts from. Default: its disks, then the network. Changes at the next power cycle.", bootAttributes()),
		"disk":       list("A disk. It is known by its name.", diskAttributes()),
		"nic":        list("A network interface. It is known by its name, never by its position: reordering changes no MAC.", nicAttributes()),
		"console":    atMostOne("Serial console with a log on the host that survives restarts and redefinition. Default: enabled. Changes at the next power cycle.", consoleAttributes()),
		"cloud_init": atMostOne("NoCloud seed (cloud-init). A change writes a new seed, which the guest sees at the next power cycle.", cloudInitAttributes()),
		"ready":      atMostOne("What has to be true before a started VM counts as ready. Default: that it runs. A refresh never waits.", readyAttributes()),
		"capture": atMostOne("Packet capture of the VM's NICs by QEMU, into the pool muster-capture. Changes live. "+
			"An apply that starts or changes the VM gives its next start a new, empty file; of several starts by others since then the newest is kept. The size of a file has no limit.", captureAttributes()),
	}
}

func atMostOne(description string, attributes map[string]schema.Attribute) schema.Block {
	b := list(description, attributes)
	b.Validators = []validator.List{listvalidator.SizeAtMost(1)}
	return b
}

// list is a list block that carries its type with it. Left to itself the
// framework derives the type from the attributes again for each value that it
// touches, which was a fifth of what the provider does in a plan.
func list(description string, attributes map[string]schema.Attribute) schema.ListNestedBlock {
	object := schema.NestedBlockObject{Attributes: attributes}
	object.CustomType = object.Type()
	return schema.ListNestedBlock{
		Description:  description,
		NestedObject: object,
		CustomType:   types.ListType{ElemType: object.CustomType},
	}
}
