// Package testguest builds the small Linux guest that tests and the demo boot:
// a Debian or Ubuntu kernel, an initramfs whose only program is a static Go
// init (its sources are in init), and a disk image that boots the two under a
// BIOS. The guest takes an address by DHCP or from NoCloud network
// configuration, answers as a guest agent, and plays the parts of systemd that
// readiness is judged by; its user-data says how it behaves (see the command
// init). Nothing of it is imported by production code.
package testguest
