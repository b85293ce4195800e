package network

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

type model struct {
	ID             types.String   `tfsdk:"id"`
	Name           types.String   `tfsdk:"name"`
	URI            types.String   `tfsdk:"uri"`
	Mode           types.String   `tfsdk:"mode"`
	Bridge         types.String   `tfsdk:"bridge"`
	MTU            types.Int64    `tfsdk:"mtu"`
	Domain         types.String   `tfsdk:"domain"`
	Address        types.String   `tfsdk:"address"`
	Autostart      types.Bool     `tfsdk:"autostart"`
	OnChange       types.String   `tfsdk:"on_change"`
	AdoptExisting  types.Bool     `tfsdk:"adopt_existing"`
	Active         types.Bool     `tfsdk:"active"`
	Incarnation    types.String   `tfsdk:"incarnation"`
	PendingRestart types.List     `tfsdk:"pending_restart"`
	Unmanaged      types.List     `tfsdk:"unmanaged"`
	DHCP           types.List     `tfsdk:"dhcp"`
	BootP          types.List     `tfsdk:"bootp"`
	DNS            types.List     `tfsdk:"dns"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`
}

type dhcpModel struct {
	PingCheck types.Bool `tfsdk:"ping_check"`
	Range     types.List `tfsdk:"range"`
	Host      types.List `tfsdk:"host"`
}

type rangeModel struct {
	Start types.String `tfsdk:"start"`
	End   types.String `tfsdk:"end"`
}

type hostModel struct {
	MAC  tfconv.MAC   `tfsdk:"mac"`
	Name types.String `tfsdk:"name"`
	IP   types.String `tfsdk:"ip"`
}

type bootpModel struct {
	Server types.String `tfsdk:"server"`
	File   types.String `tfsdk:"file"`
}

type dnsModel struct {
	Enabled   types.Bool `tfsdk:"enabled"`
	Host      types.List `tfsdk:"host"`
	Forwarder types.List `tfsdk:"forwarder"`
}

type dnsHostModel struct {
	IP        types.String `tfsdk:"ip"`
	Hostnames types.List   `tfsdk:"hostnames"`
}

type forwarderModel struct {
	Address types.String `tfsdk:"address"`
	Domain  types.String `tfsdk:"domain"`
}

// The types of the blocks' objects, built once.
var (
	rangeType     = types.ObjectType{AttrTypes: map[string]attr.Type{"start": types.StringType, "end": types.StringType}}
	hostType      = types.ObjectType{AttrTypes: map[string]attr.Type{"mac": tfconv.MACType{}, "name": types.StringType, "ip": types.StringType}}
	bootpType     = types.ObjectType{AttrTypes: map[string]attr.Type{"server": types.StringType, "file": types.StringType}}
	dnsHostType   = types.ObjectType{AttrTypes: map[string]attr.Type{"ip": types.StringType, "hostnames": types.ListType{ElemType: types.StringType}}}
	forwarderType = types.ObjectType{AttrTypes: map[string]attr.Type{"address": types.StringType, "domain": types.StringType}}
	dhcpType      = types.ObjectType{AttrTypes: map[string]attr.Type{
		"ping_check": types.BoolType, "range": types.ListType{ElemType: rangeType}, "host": types.ListType{ElemType: hostType},
	}}
	dnsType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"enabled": types.BoolType, "host": types.ListType{ElemType: dnsHostType}, "forwarder": types.ListType{ElemType: forwarderType},
	}}
)

// identityModel is the resource identity.
type identityModel struct {
	URI  types.String `tfsdk:"uri"`
	UUID types.String `tfsdk:"uuid"`
}

// blocks are the nested blocks of a model, read out of their lists.
type blocks struct {
	dhcp       *dhcpModel
	ranges     []rangeModel
	hosts      []hostModel
	bootp      *bootpModel
	dns        *dnsModel
	dnsHosts   []dnsHostModel
	forwarders []forwarderModel
}

func (m model) blocks(ctx context.Context) (b blocks, diags diag.Diagnostics) {
	var d diag.Diagnostics
	b.dhcp, diags = tfconv.First[dhcpModel](ctx, m.DHCP)
	if b.dhcp != nil {
		b.ranges, d = tfconv.Elements[rangeModel](ctx, b.dhcp.Range)
		diags.Append(d...)
		b.hosts, d = tfconv.Elements[hostModel](ctx, b.dhcp.Host)
		diags.Append(d...)
	}
	b.bootp, d = tfconv.First[bootpModel](ctx, m.BootP)
	diags.Append(d...)
	b.dns, d = tfconv.First[dnsModel](ctx, m.DNS)
	diags.Append(d...)
	if b.dns != nil {
		b.dnsHosts, d = tfconv.Elements[dnsHostModel](ctx, b.dns.Host)
		diags.Append(d...)
		b.forwarders, d = tfconv.Elements[forwarderModel](ctx, b.dns.Forwarder)
		diags.Append(d...)
	}
	return b, diags
}

// spec returns what a model wants of the definition.
func (m model) spec(ctx context.Context) (netxml.Spec, diag.Diagnostics) {
	b, diags := m.blocks(ctx)
	s := netxml.Spec{
		Name: m.Name.ValueString(), UUID: m.ID.ValueString(), Mode: m.Mode.ValueString(),
		Bridge: m.Bridge.ValueString(), MTU: int(m.MTU.ValueInt64()), Domain: m.Domain.ValueString(),
	}
	if a := m.Address.ValueString(); a != "" {
		p, err := netip.ParsePrefix(a)
		if err != nil {
			diags.AddError("Invalid address", tfconv.Sentence(err.Error()))
		}
		s.Address = p
	}
	if b.dhcp != nil {
		s.DHCP = &netxml.DHCP{NoPing: !tfconv.BoolOr(b.dhcp.PingCheck, true)}
		for _, r := range b.ranges {
			s.DHCP.Ranges = append(s.DHCP.Ranges, netxml.Range{Start: r.Start.ValueString(), End: r.End.ValueString()})
		}
		for _, h := range b.hosts {
			s.DHCP.Hosts = append(s.DHCP.Hosts, netxml.Host{MAC: h.MAC.Canonical(), Name: h.Name.ValueString(), IP: h.IP.ValueString()})
		}
	}
	if b.bootp != nil {
		s.BootP = &netxml.BootP{Server: b.bootp.Server.ValueString(), File: b.bootp.File.ValueString()}
	}
	dns, d := b.dnsSpec(ctx, m.Mode.ValueString())
	s.DNS = dns
	diags.Append(d...)
	return s, diags
}

// dnsSpec applies the rule that DNS is on with DHCP, unless the block says
// otherwise.
func (b blocks) dnsSpec(ctx context.Context, mode string) (netxml.DNS, diag.Diagnostics) {
	if mode == netxml.ModeBridge {
		return netxml.DNS{}, nil
	}
	if b.dns == nil {
		return netxml.DNS{Enabled: b.dhcp != nil}, nil
	}
	out := netxml.DNS{Enabled: tfconv.BoolOr(b.dns.Enabled, true)}
	var diags diag.Diagnostics
	for _, h := range b.dnsHosts {
		names, d := tfconv.Strings(ctx, h.Hostnames)
		diags.Append(d...)
		out.Hosts = append(out.Hosts, netxml.DNSHost{IP: h.IP.ValueString(), Hostnames: names})
	}
	for _, f := range b.forwarders {
		out.Forwarders = append(out.Forwarders, netxml.Forwarder{Address: f.Address.ValueString(), Domain: f.Domain.ValueString()})
	}
	return out, diags
}
