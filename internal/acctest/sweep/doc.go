// Package sweep holds the tests that end a provider at every single call it
// makes to libvirt: killed after the call, killed before it, or with the reply
// lost. Whatever is left, one more apply has to reach the wanted state, with
// nothing doubled and no identity changed. It also holds the tests of
// interrupts and of daemons that fall silent.
//
// Most points are driven over the provider protocol in a process of their own
// (package tfcore); a sample of them with the real terraform and the built
// provider (package tfcli).
package sweep
