// Package network is the resource muster_network: a libvirt network that is
// changed in place where libvirt can, and restarted only when that was asked
// for.
package network
