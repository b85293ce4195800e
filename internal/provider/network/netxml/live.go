package netxml

import (
	"github.com/beevik/etree"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

// Changes returns the changes in place, in order, that bring the entries of a
// running network and of its definition from have to want. prior is what this
// provider had written. Entries in which the running network and its
// definition already differ are left to a restart, for libvirt changes both
// or refuses.
func Changes(live, have, want, prior Spec) []libvirt.NetworkUpdate {
	var out []libvirt.NetworkUpdate
	if live.DHCP != nil && have.DHCP != nil && want.DHCP != nil && live.Address == have.Address && have.Address == want.Address {
		out = append(out, changes(libvirt.SectionDHCPRange, "range", false, live.ranges(), have.ranges(), want.ranges(), have.ranges(),
			rangeKey, func(a, b Range) bool { return a == b }, rangeElement)...)
		out = append(out, changes(libvirt.SectionDHCPHost, "host", true, live.hosts(), have.hosts(), want.hosts(), prior.hosts(),
			hostKey, func(a, b Host) bool { return a == b }, hostElement)...)
	}
	if live.DNS.Enabled && have.DNS.Enabled && want.DNS.Enabled {
		out = append(out, changes(libvirt.SectionDNSHost, "host", false, live.DNS.Hosts, have.DNS.Hosts, want.DNS.Hosts, prior.DNS.Hosts,
			dnsHostKey, equalDNSHost, dnsHostElement)...)
	}
	return out
}

// changes compares one section. Removals come first: a new range may overlap
// an old one, and a new host take an old one's address.
func changes[T any](section libvirt.NetworkSection, tag string, modifies bool, live, have, want, prior []T,
	key func(T) string, equal func(T, T) bool, fill func(*etree.Element, T),
) []libvirt.NetworkUpdate {
	var removed, added []libvirt.NetworkUpdate
	update := func(c libvirt.NetworkCommand, e T) libvirt.NetworkUpdate {
		el := etree.NewElement(tag)
		fill(el, e)
		return libvirt.NetworkUpdate{Command: c, Section: section, Parent: -1, XML: write(el)}
	}
	both := func(k string) (T, bool, bool) { // the entry, is it there, do both agree
		i, j := index(live, key, k), index(have, key, k)
		if i < 0 || j < 0 {
			var zero T
			return zero, false, i < 0 && j < 0
		}
		return have[j], true, equal(live[i], have[j])
	}
	for _, p := range prior {
		if index(want, key, key(p)) >= 0 {
			continue
		}
		if old, there, agree := both(key(p)); there && agree {
			removed = append(removed, update(libvirt.NetworkDelete, old))
		}
	}
	for _, w := range want {
		old, there, agree := both(key(w))
		switch {
		case !agree, there && equal(old, w):
		case !there:
			added = append(added, update(libvirt.NetworkAdd, w))
		case modifies:
			added = append(added, update(libvirt.NetworkModify, w))
		default:
			removed = append(removed, update(libvirt.NetworkDelete, old))
			added = append(added, update(libvirt.NetworkAdd, w))
		}
	}
	return append(removed, added...)
}
