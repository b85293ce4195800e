package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/musterlab/terraform-provider-muster/internal/provider/network/netxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

var (
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	bridgePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$`)
	domainPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
)

func matching(what, hint string, p *regexp.Regexp) validator.String {
	return tfconv.Check(what, func(s string) error {
		if !p.MatchString(s) {
			return fmt.Errorf("%q is not a %s: %s", s, what, hint)
		}
		return nil
	})
}

func nameRule() validator.String {
	return matching("network name", "want letters, digits, dots, underscores and hyphens", namePattern)
}

func bridgeRule() validator.String {
	return matching("bridge name", "want at most 15 letters, digits, dots, underscores and hyphens", bridgePattern)
}

func domainRule() validator.String {
	return matching("DNS name", "want labels of letters, digits and hyphens, separated by dots", domainPattern)
}

func ipRule() validator.String {
	return tfconv.Check("IPv4 address", func(s string) error {
		if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
			return fmt.Errorf("%q is not an IPv4 address", s)
		}
		return nil
	})
}

func addressRule() validator.String {
	return tfconv.Check("address", func(s string) error {
		p, err := netip.ParsePrefix(s)
		switch {
		case err != nil || !p.Addr().Is4():
			return fmt.Errorf("%q is not an IPv4 address with a prefix length, like 192.168.100.1/24", s)
		case p.Bits() < 8 || p.Bits() > 30:
			return fmt.Errorf("the prefix length of %q must be between 8 and 30", s)
		case p.Addr() == p.Masked().Addr() || p.Addr() == broadcast(p):
			return fmt.Errorf("%q is the subnet's own or its broadcast address; want the address that the host has in it, like %s", s, p.Masked().Addr().Next())
		default:
			return nil
		}
	})
}

func broadcast(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom4(b)
}

// ValidateConfig implements resource.ResourceWithValidateConfig: the rules
// across arguments. What is not known yet is not judged.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	b, diags := m.blocks(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || m.Mode.IsUnknown() {
		return
	}
	v := rules{diags: &resp.Diagnostics, m: m, b: b}
	if m.Mode.ValueString() == netxml.ModeBridge {
		v.foreignBridge()
		return
	}
	v.needs()
	v.addresses()
	v.distinct()
	v.dns()
}

// rules collects what breaks a rule across arguments.
type rules struct {
	diags *diag.Diagnostics
	m     model
	b     blocks
}

func (v rules) refuse(at path.Path, format string, args ...any) {
	v.diags.AddAttributeError(at, fmt.Sprintf("Invalid %s %q", typeName, v.m.Name.ValueString()), tfconv.Sentence(fmt.Sprintf(format, args...)))
}

func (v rules) foreignBridge() {
	if v.m.Bridge.IsNull() {
		v.refuse(path.Root("bridge"), `mode "bridge" needs the name of the host's bridge in the argument bridge`)
	}
	for name, value := range map[string]attr.Value{
		"mtu": v.m.MTU, "domain": v.m.Domain, "address": v.m.Address, "dhcp": v.m.DHCP, "bootp": v.m.BootP, "dns": v.m.DNS,
	} {
		if !value.IsNull() {
			v.refuse(path.Root(name), `with mode "bridge" guests are on a bridge that libvirt does not manage, so %s has no meaning; leave it out or choose another mode`, name)
		}
	}
}

// needs checks what must be there for something else.
func (v rules) needs() {
	if v.b.dhcp != nil && v.m.Address.IsNull() {
		v.refuse(path.Root("dhcp"), "a dhcp block needs the argument address: the subnet to give addresses from")
	}
	if v.b.bootp != nil && v.m.DHCP.IsNull() {
		v.refuse(path.Root("bootp"), "a bootp block needs a dhcp block: guests learn the loader with their address")
	}
	if v.b.dhcp != nil && v.b.dhcp.Range.IsNull() && v.b.dhcp.Host.IsNull() {
		v.refuse(path.Root("dhcp"), "a dhcp block needs at least one range or host block: it would give no address")
	}
}

// addresses checks that all that is given lies in the subnet.
func (v rules) addresses() {
	subnet, err := netip.ParsePrefix(v.m.Address.ValueString())
	if err != nil {
		return // absent, unknown, or refused already
	}
	inside := func(at path.Path, value string) (netip.Addr, error) {
		a, err := netip.ParseAddr(value)
		if err != nil {
			return a, err // unknown, or refused already
		}
		if !subnet.Contains(a) {
			v.refuse(at, "%s is outside the network's subnet %s", a, subnet.Masked())
			return a, errors.New("outside")
		}
		return a, nil
	}
	dhcp := path.Root("dhcp").AtListIndex(0)
	for i, r := range v.b.ranges {
		at := dhcp.AtName("range").AtListIndex(i)
		start, err1 := inside(at.AtName("start"), r.Start.ValueString())
		end, err2 := inside(at.AtName("end"), r.End.ValueString())
		if err1 == nil && err2 == nil && end.Less(start) {
			v.refuse(at, "the range ends at %s, before its start %s", end, start)
		}
	}
	for i, h := range v.b.hosts {
		at := dhcp.AtName("host").AtListIndex(i).AtName("ip")
		a, err := inside(at, h.IP.ValueString())
		switch {
		case err != nil:
		case a == subnet.Addr():
			v.refuse(at, "%s is the host's own address on this network", a)
		case a == subnet.Masked().Addr() || a == broadcast(subnet):
			v.refuse(at, "%s is the subnet's own or its broadcast address", a)
		}
	}
}

// distinct checks that no fixed address or name has two owners.
func (v rules) distinct() {
	seen := map[string]int{}
	twice := func(i int, what, value string) {
		if value == "" {
			return
		}
		key := what + " " + strings.ToLower(value)
		if first, ok := seen[key]; ok {
			v.refuse(path.Root("dhcp").AtListIndex(0).AtName("host").AtListIndex(i), "%s %s is in host block %d already", what, value, first+1)
			return
		}
		seen[key] = i
	}
	for i, h := range v.b.hosts {
		if h.MAC.IsNull() && h.Name.IsNull() {
			v.refuse(path.Root("dhcp").AtListIndex(0).AtName("host").AtListIndex(i), "a host needs a mac or a name to be known by")
		}
		twice(i, "mac", h.MAC.Canonical())
		twice(i, "name", h.Name.ValueString())
		twice(i, "ip", h.IP.ValueString())
	}
	for i, r := range v.b.ranges {
		start, err1 := netip.ParseAddr(r.Start.ValueString())
		end, err2 := netip.ParseAddr(r.End.ValueString())
		if err1 != nil || err2 != nil {
			continue
		}
		for j, o := range v.b.ranges[:i] {
			oStart, err1 := netip.ParseAddr(o.Start.ValueString())
			oEnd, err2 := netip.ParseAddr(o.End.ValueString())
			if err1 == nil && err2 == nil && !end.Less(oStart) && !oEnd.Less(start) {
				v.refuse(path.Root("dhcp").AtListIndex(0).AtName("range").AtListIndex(i), "the range overlaps range %d (%s to %s)", j+1, oStart, oEnd)
			}
		}
	}
}

func (v rules) dns() {
	if v.b.dns == nil {
		return
	}
	at := path.Root("dns").AtListIndex(0)
	off := tfconv.Known(v.b.dns.Enabled) && !v.b.dns.Enabled.ValueBool()
	switch {
	case off && (len(v.b.dnsHosts) > 0 || len(v.b.forwarders) > 0):
		v.refuse(at, "DNS is off (enabled = false), so host and forwarder blocks have no meaning")
	case !off && v.m.Address.IsNull():
		v.refuse(at, "a dns block needs the argument address: where the server listens")
	}
	ips := map[string]bool{}
	for i, h := range v.b.dnsHosts {
		ip := h.IP.ValueString()
		if ip != "" && ips[ip] {
			v.refuse(at.AtName("host").AtListIndex(i), "%s has a host block already; put all its names into one", ip)
		}
		ips[ip] = true
	}
	for i, f := range v.b.forwarders {
		if f.Address.IsNull() && f.Domain.IsNull() {
			v.refuse(at.AtName("forwarder").AtListIndex(i), "a forwarder needs an address, a domain or both")
		}
	}
}
