package network

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// take writes what was read from the host into a model that holds what was
// configured or known before. Values that mean the same stay as written, our
// entries keep their order, and hosts of others stay out of it. With all,
// after an import, every host is ours.
func (m *model) take(ctx context.Context, have netxml.Spec, all bool) diag.Diagnostics {
	prior, diags := m.blocks(ctx)
	m.ID, m.Name, m.Mode = types.StringValue(have.UUID), types.StringValue(have.Name), types.StringValue(have.Mode)
	m.Bridge = tfconv.StringOrNull(have.Bridge)
	m.MTU = tfconv.Int64OrNull(int64(have.MTU))
	m.Domain = tfconv.StringOrNull(have.Domain)
	m.Address = address(m.Address, have.Address)

	m.DHCP = types.ListNull(dhcpType)
	if have.DHCP != nil {
		list, d := prior.takeDHCP(ctx, *have.DHCP, all)
		diags.Append(d...)
		m.DHCP = list
	}
	m.BootP = types.ListNull(bootpType)
	if have.BootP != nil {
		m.BootP = listOf(ctx, bootpType, []bootpModel{{
			Server: tfconv.StringOrNull(have.BootP.Server), File: types.StringValue(have.BootP.File),
		}}, &diags)
	}
	list, d := prior.takeDNS(ctx, have, all)
	diags.Append(d...)
	m.DNS = list
	return diags
}

// address keeps the configured spelling of an equal address.
func address(prior types.String, have netip.Prefix) types.String {
	if !have.IsValid() {
		return types.StringNull()
	}
	if p, err := netip.ParsePrefix(prior.ValueString()); err == nil && p == have {
		return prior
	}
	return types.StringValue(have.String())
}

func (b blocks) takeDHCP(ctx context.Context, have netxml.DHCP, all bool) (types.List, diag.Diagnostics) {
	var diags diag.Diagnostics
	out := dhcpModel{PingCheck: types.BoolNull()}
	if b.dhcp != nil {
		out.PingCheck = b.dhcp.PingCheck
	} else {
		all = true
	}
	if have.NoPing == tfconv.BoolOr(out.PingCheck, true) {
		out.PingCheck = types.BoolValue(!have.NoPing)
	}
	var order []netxml.Range
	for _, r := range b.ranges {
		order = append(order, netxml.Range{Start: r.Start.ValueString(), End: r.End.ValueString()})
	}
	var ranges []rangeModel
	for _, r := range arranged(have.Ranges, order, func(r netxml.Range) string { return r.Start + r.End }, true) {
		ranges = append(ranges, rangeModel{types.StringValue(r.Start), types.StringValue(r.End)})
	}
	out.Range = listOf(ctx, rangeType, ranges, &diags)
	out.Host = listOf(ctx, hostType, b.takeHosts(have.Hosts, all), &diags)
	return listOf(ctx, dhcpType, []dhcpModel{out}, &diags), diags
}

func (b blocks) takeHosts(have []netxml.Host, all bool) []hostModel {
	var order []netxml.Host
	written := map[string]tfconv.MAC{}
	for _, h := range b.hosts {
		n := netxml.Host{MAC: h.MAC.Canonical(), Name: h.Name.ValueString(), IP: h.IP.ValueString()}
		order = append(order, n)
		written[n.MAC] = h.MAC
	}
	var out []hostModel
	for _, h := range arranged(have, order, netxml.Host.Key, all) {
		mac, ok := written[h.MAC]
		if !ok {
			mac = tfconv.MACString(h.MAC)
		}
		out = append(out, hostModel{MAC: mac, Name: tfconv.StringOrNull(h.Name), IP: tfconv.StringOrNull(h.IP)})
	}
	return out
}

// takeDNS leaves the block absent where it is and the definition holds what
// its absence means.
func (b blocks) takeDNS(ctx context.Context, have netxml.Spec, all bool) (types.List, diag.Diagnostics) {
	var diags diag.Diagnostics
	byDefault := have.Mode != netxml.ModeBridge && have.DHCP != nil
	if b.dns == nil {
		foreign := len(have.DNS.Forwarders) > 0 || all && len(have.DNS.Hosts) > 0
		if have.DNS.Enabled == byDefault && !foreign {
			return types.ListNull(dnsType), nil
		}
	}
	out := dnsModel{Enabled: types.BoolNull()}
	if b.dns != nil {
		out.Enabled = b.dns.Enabled
	}
	if have.DNS.Enabled != tfconv.BoolOr(out.Enabled, true) {
		out.Enabled = types.BoolValue(have.DNS.Enabled)
	}
	out.Host = listOf(ctx, dnsHostType, b.takeDNSHosts(ctx, have.DNS.Hosts, all, &diags), &diags)
	var order []netxml.Forwarder
	for _, f := range b.forwarders {
		order = append(order, netxml.Forwarder{Address: f.Address.ValueString(), Domain: f.Domain.ValueString()})
	}
	var forwarders []forwarderModel
	for _, f := range arranged(have.DNS.Forwarders, order, func(f netxml.Forwarder) string { return f.Address + " " + f.Domain }, true) {
		forwarders = append(forwarders, forwarderModel{tfconv.StringOrNull(f.Address), tfconv.StringOrNull(f.Domain)})
	}
	out.Forwarder = listOf(ctx, forwarderType, forwarders, &diags)
	return listOf(ctx, dnsType, []dnsModel{out}, &diags), diags
}

func (b blocks) takeDNSHosts(ctx context.Context, have []netxml.DNSHost, all bool, diags *diag.Diagnostics) []dnsHostModel {
	var order []netxml.DNSHost
	for _, h := range b.dnsHosts {
		names, d := tfconv.Strings(ctx, h.Hostnames)
		diags.Append(d...)
		order = append(order, netxml.DNSHost{IP: h.IP.ValueString(), Hostnames: names})
	}
	var out []dnsHostModel
	for _, h := range arranged(have, order, func(h netxml.DNSHost) string { return h.IP }, all) {
		out = append(out, dnsHostModel{IP: types.StringValue(h.IP), Hostnames: tfconv.StringList(h.Hostnames)})
	}
	return out
}

// arranged returns the entries of have that are in order, in its order; with
// all, the others follow.
func arranged[T any](have, order []T, key func(T) string, all bool) []T {
	var out []T
	seen := map[string]bool{}
	byKey := map[string]T{}
	for _, h := range have {
		byKey[key(h)] = h
	}
	for _, o := range order {
		if h, ok := byKey[key(o)]; ok && !seen[key(o)] {
			seen[key(o)] = true
			out = append(out, h)
		}
	}
	if !all {
		return out
	}
	for _, h := range have {
		if !seen[key(h)] {
			seen[key(h)] = true
			out = append(out, h)
		}
	}
	return out
}

// listOf makes a list of block objects; no elements is a null list, which is
// what an absent block is.
func listOf[T any](ctx context.Context, t attr.Type, elems []T, diags *diag.Diagnostics) types.List {
	if len(elems) == 0 {
		return types.ListNull(t)
	}
	l, d := types.ListValueFrom(ctx, t, elems)
	diags.Append(d...)
	return l
}
