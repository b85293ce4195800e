// Package nodevm is the resource muster_node_vm: a libvirt domain that acts as
// a metal node. It plans identities, converts between Terraform's values and
// the use case in package vm, and leaves every step on the host to that.
package nodevm
