// Package bench measures what the provider costs: CPU time and memory of
// terraform and provider, calls to libvirt, size of the state. `make bench`
// prints the figures; an ordinary test holds those that do not drift with the
// machine to their limits.
package bench
