// Package libvirt adapts libvirt's remote protocol, over go-libvirt, to what
// the rest of the program needs of a hypervisor: domains, volumes, pools,
// networks and facts, each call with a deadline, ended by its context, and
// with its error classified once into a fault kind.
//
// It knows nothing of Terraform, of what a domain's XML should say (see
// domxml) or of who owns an object. Connections are disposable: reads, writes
// and calls that wait for a guest go over connections of their own, every
// stream over a fresh one, and a connection with an unanswered call is closed
// rather than waited for.
package libvirt
