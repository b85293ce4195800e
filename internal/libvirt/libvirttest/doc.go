// Package libvirttest starts private libvirt hosts for tests: each is a root
// libvirtd with its virtlogd in mount, network, PID, IPC and UTS namespaces of
// its own, so that several run side by side, may use the same bridge names and
// subnets, and leave nothing behind. It also has a proxy that stands between a
// client and a daemon and injects faults at chosen calls.
//
// The first process of a host's PID namespace is a keeper: this very program
// started again, which sets the mounts up, starts the daemons and reaps
// orphans at once. When the process that asked for the host ends, in whatever
// way, the keeper sees its pipe close and exits, and the kernel kills every
// daemon and every QEMU of the host with it. Empty mount points such as
// /var/lib/libvirt are made when the machine has none and stay.
//
// It must not know anything of the provider, nor is it imported by production
// code.
package libvirttest
