// Package tfconv holds what every Terraform type of this provider needs at its
// edge: null-safe conversions, a MAC address type, diagnostics in the house's
// three parts, import ids and timeouts. It knows Terraform's framework and the
// kinds of fault, and nothing of libvirt.
package tfconv
