// Package cloudinit makes the NoCloud seed of a VM: an ISO 9660 image labelled
// cidata that holds user-data, meta-data, network-config and vendor-data. It
// also says what is wrong with such documents before a guest would, and writes
// network configuration that leaves no link half configured.
//
// Everything here is a pure function: the same input gives the same bytes, on
// every machine and at any time, because a seed volume is named by the digest
// of its content. The package knows nothing of libvirt or Terraform, and no
// error of its quotes a document, for user data holds secrets.
package cloudinit
