// Package acctest holds what the acceptance tests of all resources share: the
// provider under test in-process, its configuration for a private libvirt
// host, and checks of what is on that host. Production never imports it.
package acctest
