package provider

import (
	"context"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

var namespacePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$`)

func namespaceRule() validator.String {
	return stringvalidator.RegexMatches(namespacePattern,
		"must be 1 to 64 lower-case letters, digits, dots, underscores or hyphens, beginning and ending with a letter or digit")
}

// Schema implements provider.Provider.
func (p *Provider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Raises lab fleets on libvirt: images, networks and virtual machines whose identity outlives every apply.",
		Blocks: map[string]schema.Block{
			"libvirt": schema.SingleNestedBlock{
				MarkdownDescription: "The default libvirt host.",
				Attributes: map[string]schema.Attribute{
					"uri": schema.StringAttribute{
						Optional: true,
						MarkdownDescription: "Libvirt URI: `qemu:///system`, `qemu+unix://`, `qemu+ssh://user@host/system`, `qemu+tls://host/system`, " +
							"`qemu+tcp://host/system` (neither encrypted nor authenticated: a warning) or `test:///default`. " +
							"Default: the environment variable `LIBVIRT_DEFAULT_URI`, else `qemu:///system`.",
					},
				},
				Blocks: map[string]schema.Block{"ssh": sshBlock(), "tls": tlsBlock()},
			},
			"host": schema.ListNestedBlock{
				MarkdownDescription: "A further libvirt host, with how to reach it. Resources name it in their `uri` by this block's `name` or by its URI.",
				NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{
						"name": schema.StringAttribute{
							Required: true, MarkdownDescription: "Name of the host within this configuration.",
							Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`),
								"must be letters, digits, dots, underscores and hyphens, so that it is not taken for a URI")},
						},
						"uri": schema.StringAttribute{Required: true, MarkdownDescription: "Its libvirt URI."},
					},
					Blocks: map[string]schema.Block{"ssh": sshBlock(), "tls": tlsBlock()},
				},
			},
			"identity": schema.SingleNestedBlock{
				MarkdownDescription: "How names become hardware identities. Used only when a network, VM or NIC is born: a later change alters nothing that exists.",
				Attributes: map[string]schema.Attribute{
					"namespace": schema.StringAttribute{
						Optional: true, Validators: []validator.String{namespaceRule()},
						MarkdownDescription: "Within it each VM name is unique, over all hosts. It is part of every derived MAC and UUID and of every owner mark. " +
							"Default: the environment variable `MUSTER_NAMESPACE`; without either, what needs it is refused.",
					},
					"mac_prefix": schema.StringAttribute{
						Optional: true, Validators: []validator.String{tfconv.MACPrefix()},
						MarkdownDescription: "One to four first octets of derived MACs, for example `52:54:00`; the first unicast and locally administered. Default: `02`.",
					},
					"take_over": schema.ListAttribute{
						Optional: true, ElementType: types.StringType,
						Validators:          []validator.List{listvalidator.ValueStringsAre(namespaceRule())},
						MarkdownDescription: "Other namespaces whose objects this configuration may manage.",
					},
				},
			},
		},
	}
}

func sshBlock() schema.Block {
	return schema.SingleNestedBlock{
		MarkdownDescription: "How to log in for `qemu+ssh`. The host's key is always checked; `~/.ssh/config` is not read.",
		Attributes: map[string]schema.Attribute{
			"user": schema.StringAttribute{Optional: true, MarkdownDescription: "Login name. Default: the URI's, else the current user."},
			"port": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{int64validator.Between(1, 65535)},
				MarkdownDescription: "TCP port. Default: the URI's, else 22.",
			},
			"key_file": schema.StringAttribute{Optional: true, MarkdownDescription: "Path of an unencrypted private key."},
			"private_key": schema.StringAttribute{
				Optional: true, Sensitive: true,
				MarkdownDescription: "The private key itself, in PEM form; goes before `key_file`.",
			},
			"agent": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether the SSH agent is asked. Default: when `SSH_AUTH_SOCK` is set and no key is given. `true` makes a missing agent an error.",
			},
			"known_hosts_file": schema.StringAttribute{Optional: true, MarkdownDescription: "Default: `~/.ssh/known_hosts` and `/etc/ssh/ssh_known_hosts`."},
			"host_keys": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Pinned keys of the host: `ssh-ed25519 AAAA...` or `SHA256:...`. Where given, known_hosts is not read.",
			},
			"jump_host": schema.StringAttribute{Optional: true, MarkdownDescription: "`[user@]host[:port]` to go through."},
		},
	}
}

func tlsBlock() schema.Block {
	return schema.SingleNestedBlock{
		MarkdownDescription: "Certificates for `qemu+tls`. Default: libvirt's layout, `~/.pki/libvirt` then `/etc/pki`.",
		Attributes: map[string]schema.Attribute{
			"ca_file":   schema.StringAttribute{Optional: true, MarkdownDescription: "Certificates of the authorities that may vouch for the host."},
			"cert_file": schema.StringAttribute{Optional: true, MarkdownDescription: "The client's certificate."},
			"key_file":  schema.StringAttribute{Optional: true, MarkdownDescription: "The client's private key."},
		},
	}
}
