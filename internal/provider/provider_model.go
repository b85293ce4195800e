package provider

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// Environment variables that stand in for arguments.
const (
	envURI       = "LIBVIRT_DEFAULT_URI"
	envNamespace = "MUSTER_NAMESPACE"
	defaultURI   = "qemu:///system"
)

type model struct {
	Libvirt  *libvirtModel  `tfsdk:"libvirt"`
	Host     types.List     `tfsdk:"host"`
	Identity *identityModel `tfsdk:"identity"`
}

type libvirtModel struct {
	URI types.String `tfsdk:"uri"`
	SSH *sshModel    `tfsdk:"ssh"`
	TLS *tlsModel    `tfsdk:"tls"`
}

type hostModel struct {
	Name types.String `tfsdk:"name"`
	URI  types.String `tfsdk:"uri"`
	SSH  *sshModel    `tfsdk:"ssh"`
	TLS  *tlsModel    `tfsdk:"tls"`
}

type sshModel struct {
	User       types.String `tfsdk:"user"`
	Port       types.Int64  `tfsdk:"port"`
	KeyFile    types.String `tfsdk:"key_file"`
	PrivateKey types.String `tfsdk:"private_key"`
	Agent      types.Bool   `tfsdk:"agent"`
	KnownHosts types.String `tfsdk:"known_hosts_file"`
	HostKeys   types.List   `tfsdk:"host_keys"`
	JumpHost   types.String `tfsdk:"jump_host"`
}

type tlsModel struct {
	CA   types.String `tfsdk:"ca_file"`
	Cert types.String `tfsdk:"cert_file"`
	Key  types.String `tfsdk:"key_file"`
}

type identityModel struct {
	Namespace types.String `tfsdk:"namespace"`
	MACPrefix types.String `tfsdk:"mac_prefix"`
	TakeOver  types.List   `tfsdk:"take_over"`
}

func (m model) config(ctx context.Context) (providerdata.Config, diag.Diagnostics) {
	cfg := providerdata.Config{Logger: providerdata.NewLogger()}
	identity, diags := m.Identity.convert(ctx)
	cfg.Identity = identity

	def := libvirtModel{}
	if m.Libvirt != nil {
		def = *m.Libvirt
	}
	fallback := defaultURI
	if env := os.Getenv(envURI); env != "" {
		fallback = env
	}
	cfg.Default = providerdata.Host{
		URI: tfconv.StringOr(def.URI, fallback), TLS: def.TLS.convert(),
		Unknown: anyUnknown(def.URI) || def.SSH.unknown() || def.TLS.unknown(),
	}
	var d diag.Diagnostics
	cfg.Default.SSH, d = def.SSH.convert(ctx)
	diags.Append(d...)

	hosts, d := tfconv.Elements[hostModel](ctx, m.Host)
	diags.Append(d...)
	for _, h := range hosts {
		ssh, d := h.SSH.convert(ctx)
		diags.Append(d...)
		cfg.Hosts = append(cfg.Hosts, providerdata.Host{
			Name: h.Name.ValueString(), URI: h.URI.ValueString(), SSH: ssh, TLS: h.TLS.convert(),
			Unknown: anyUnknown(h.URI) || h.SSH.unknown() || h.TLS.unknown(),
		})
	}
	return cfg, diags
}

func (m *identityModel) convert(ctx context.Context) (providerdata.Identity, diag.Diagnostics) {
	id := providerdata.Identity{Namespace: os.Getenv(envNamespace)}
	if m == nil {
		return id, nil
	}
	id.Namespace = tfconv.StringOr(m.Namespace, id.Namespace)
	// An unknown prefix makes derived addresses unknown as an unknown
	// namespace does.
	id.NamespaceUnknown = anyUnknown(m.Namespace, m.MACPrefix)
	takeOver, diags := tfconv.Strings(ctx, m.TakeOver)
	id.TakeOver = takeOver
	if s := m.MACPrefix.ValueString(); s != "" {
		prefix, err := hwaddr.ParsePrefix(s)
		if err != nil {
			diags.AddAttributeError(path.Root("identity").AtName("mac_prefix"), "Invalid MAC prefix", tfconv.Sentence(err.Error()))
		}
		id.Prefix = prefix
	}
	return id, diags
}

func (m *sshModel) convert(ctx context.Context) (libvirt.SSHConfig, diag.Diagnostics) {
	if m == nil {
		return libvirt.SSHConfig{}, nil
	}
	keys, diags := tfconv.Strings(ctx, m.HostKeys)
	return libvirt.SSHConfig{
		User: m.User.ValueString(), Port: int(m.Port.ValueInt64()),
		KeyFile: m.KeyFile.ValueString(), PrivateKey: m.PrivateKey.ValueString(), Agent: m.Agent.ValueBoolPointer(),
		KnownHostsFile: m.KnownHosts.ValueString(), HostKeys: keys, JumpHost: m.JumpHost.ValueString(),
	}, diags
}

func (m *sshModel) unknown() bool {
	return m != nil && anyUnknown(m.User, m.Port, m.KeyFile, m.PrivateKey, m.Agent, m.KnownHosts, m.HostKeys, m.JumpHost)
}

func (m *tlsModel) convert() libvirt.TLSConfig {
	if m == nil {
		return libvirt.TLSConfig{}
	}
	return libvirt.TLSConfig{CAFile: m.CA.ValueString(), CertFile: m.Cert.ValueString(), KeyFile: m.Key.ValueString()}
}

func (m *tlsModel) unknown() bool { return m != nil && anyUnknown(m.CA, m.Cert, m.Key) }

func anyUnknown(values ...attr.Value) bool {
	for _, v := range values {
		if v.IsUnknown() {
			return true
		}
	}
	return false
}
