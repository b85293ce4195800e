// Package vm takes one owned libvirt domain through its life: create or
// continue, observe, update in place, restart, wait until it is ready, destroy.
// It decides the order of steps so that a process killed between any two of
// them leaves something that the next run recognises by its owner mark and
// goes on with. It knows the libvirt adapter and nothing of Terraform.
package vm
