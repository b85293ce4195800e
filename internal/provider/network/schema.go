package network

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
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

const typeName = "muster_network"

// What a change that a running network cannot take does.
const (
	onChangeDefer   = "defer"
	onChangeRestart = "restart"
)

// limits are the default timeouts.
var limits = tfconv.Timeouts{Create: 5 * time.Minute, Read: 2 * time.Minute, Update: 10 * time.Minute, Delete: 5 * time.Minute}

// Schema implements resource.Resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A libvirt network.\n\n" +
			"Fixed DHCP hosts, DHCP ranges and DNS hosts change in place, in the running network and in its definition. Everything else (mode, bridge, MTU, address, " +
			"domain, boot server, forwarders, DNS on or off) takes effect when the network restarts: until then it is listed in `pending_restart`, or with " +
			"`on_change = \"restart\"` the apply restarts the network and attaches the NICs of running guests again, which see their link go down and up. " +
			"What is in the definition beside the arguments here stays as it is, and so does the MAC of the bridge.",
		Attributes: attributes(),
		Blocks: map[string]schema.Block{
			"dhcp":     dhcpBlock(),
			"bootp":    bootpBlock(),
			"dns":      dnsBlock(),
			"timeouts": limits.Block(ctx),
		},
	}
}

func attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "UUID, derived from the namespace and the name when the network is made.",
		},
		"name": schema.StringAttribute{
			Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			Validators:          []validator.String{stringvalidator.LengthBetween(1, 50), nameRule()},
			MarkdownDescription: "Name of the network in libvirt. A change replaces it.",
		},
		"uri": schema.StringAttribute{
			Optional: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			MarkdownDescription: "Libvirt URI, or name of a `host` block, of the host. Default: the provider's.",
		},
		"mode": schema.StringAttribute{
			Required: true,
			Validators: []validator.String{stringvalidator.OneOf(
				netxml.ModeNAT, netxml.ModeRoute, netxml.ModeIsolated, netxml.ModeBridge, netxml.ModeOpen)},
			MarkdownDescription: "`nat`, `route`, `open` (routed, no firewall rules by libvirt), `isolated`, or `bridge` (guests on an existing bridge of the host; libvirt gives no addresses there).",
		},
		"bridge": schema.StringAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			Validators:          []validator.String{bridgeRule()},
			MarkdownDescription: "Name of the bridge device, at most 15 bytes. Needed with mode `bridge`, where it exists already; otherwise libvirt makes it and may choose its name.",
		},
		"mtu": schema.Int64Attribute{
			Optional: true, Validators: []validator.Int64{int64validator.Between(68, 65535)},
			MarkdownDescription: "MTU of the bridge in bytes, 68 to 65535. It reaches a guest only where its NIC has the `mtu` as well. Default: the kernel's, 1500.",
		},
		"domain": schema.StringAttribute{
			Optional: true, Validators: []validator.String{domainRule()},
			MarkdownDescription: "DNS domain that the network's DHCP and DNS serve.",
		},
		"address": schema.StringAttribute{
			Optional: true, Validators: []validator.String{addressRule()},
			MarkdownDescription: "IPv4 address of the host on this network with the length of its prefix, for example `192.168.100.1/24`.",
		},
		"autostart": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether the network starts with the host. Default: `true`.",
		},
		"on_change": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(onChangeDefer),
			Validators:          []validator.String{stringvalidator.OneOf(onChangeDefer, onChangeRestart)},
			MarkdownDescription: "What becomes of a change that a running network cannot take: `defer` writes it into the definition and lists it in `pending_restart`; `restart` restarts the network. Default: `defer`.",
		},
		"adopt_existing": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "Whether a network of that name that is there already is taken over. Default: `false`.",
		},
		"active": schema.BoolAttribute{
			Computed: true, PlanModifiers: []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "Whether the network runs. One that was stopped is started by the next apply.",
		},
		"incarnation": schema.StringAttribute{
			Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "Random, fresh at every create; stands in the owner mark and tells this network from a newer one of the same name.",
		},
		"pending_restart": schema.ListAttribute{
			Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{listplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "Fields in which the running network still differs from its definition.",
		},
		"unmanaged": schema.ListAttribute{
			Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{listplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "DHCP and DNS hosts that others have added; they stay.",
		},
	}
}

func dhcpBlock() schema.Block {
	return schema.ListNestedBlock{
		MarkdownDescription: "Addresses given by DHCP. Without this block there is no DHCP, and no DNS either (see `dns`), so that a rack controller on the same network has both to itself.",
		Validators:          []validator.List{listvalidator.SizeAtMost(1)},
		NestedObject: schema.NestedBlockObject{
			Attributes: map[string]schema.Attribute{
				"ping_check": schema.BoolAttribute{
					Optional:            true,
					MarkdownDescription: "Whether an address is probed for three seconds before it is offered. `false` makes guests boot faster where addresses cannot clash. Default: `true`.",
				},
			},
			Blocks: map[string]schema.Block{
				"range": schema.ListNestedBlock{
					MarkdownDescription: "Addresses that may be given to anybody.",
					NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
						"start": schema.StringAttribute{Required: true, Validators: []validator.String{ipRule()}, MarkdownDescription: "First address."},
						"end":   schema.StringAttribute{Required: true, Validators: []validator.String{ipRule()}, MarkdownDescription: "Last address."},
					}},
				},
				"host": schema.ListNestedBlock{
					MarkdownDescription: "A fixed address, for a MAC or, without one, for the name that the guest gives.",
					NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
						"mac":  schema.StringAttribute{Optional: true, CustomType: tfconv.MACType{}, MarkdownDescription: "MAC of the NIC."},
						"name": schema.StringAttribute{Optional: true, Validators: []validator.String{domainRule()}, MarkdownDescription: "Host name, answered by the network's DNS too."},
						"ip":   schema.StringAttribute{Required: true, Validators: []validator.String{ipRule()}, MarkdownDescription: "Its address."},
					}},
				},
			},
		},
	}
}

func bootpBlock() schema.Block {
	return schema.ListNestedBlock{
		MarkdownDescription: "Where guests that boot from the network find their loader. Needs `dhcp`.",
		Validators:          []validator.List{listvalidator.SizeAtMost(1)},
		NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
			"server": schema.StringAttribute{Optional: true, Validators: []validator.String{ipRule()}, MarkdownDescription: "Address of the TFTP server. Default: the host itself."},
			"file":   schema.StringAttribute{Required: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "Name of the file there."},
		}},
	}
}

func dnsBlock() schema.Block {
	return schema.ListNestedBlock{
		MarkdownDescription: "The network's DNS server. Without this block DNS is on with `dhcp` and off without.",
		Validators:          []validator.List{listvalidator.SizeAtMost(1)},
		NestedObject: schema.NestedBlockObject{
			Attributes: map[string]schema.Attribute{
				"enabled": schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether it runs. Default: `true`."},
			},
			Blocks: map[string]schema.Block{
				"host": schema.ListNestedBlock{
					MarkdownDescription: "Names of an address.",
					NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
						"ip": schema.StringAttribute{Required: true, Validators: []validator.String{ipRule()}, MarkdownDescription: "The address."},
						"hostnames": schema.ListAttribute{
							Required: true, ElementType: types.StringType,
							Validators:          []validator.List{listvalidator.SizeAtLeast(1), listvalidator.ValueStringsAre(domainRule())},
							MarkdownDescription: "Its names.",
						},
					}},
				},
				"forwarder": schema.ListNestedBlock{
					MarkdownDescription: "Another server for what this one does not know.",
					NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
						"address": schema.StringAttribute{Optional: true, Validators: []validator.String{ipRule()}, MarkdownDescription: "Its address. Default, with a domain: the host's own resolvers."},
						"domain":  schema.StringAttribute{Optional: true, Validators: []validator.String{domainRule()}, MarkdownDescription: "Only for names in this domain. Default: all."},
					}},
				},
			},
		},
	}
}

// IdentitySchema implements resource.ResourceWithIdentity.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"uri":  identityschema.StringAttribute{OptionalForImport: true, Description: "Canonical URI of the host; default: the provider's."},
		"uuid": identityschema.StringAttribute{RequiredForImport: true, Description: "UUID of the network."},
	}}
}
