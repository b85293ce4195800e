// Package domxml writes, edits and reads libvirt domain XML. It is pure: text
// in, text out. A new domain is built from a Spec; an existing one is edited
// element by element, each found by its identity (a NIC by its MAC, a disk by
// its target), so that whatever somebody else put into the definition is still
// there afterwards. It must not know how XML reaches a hypervisor.
//
// The format is https://libvirt.org/formatdomain.html.
package domxml
