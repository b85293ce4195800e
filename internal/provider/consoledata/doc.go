// Package consoledata is the data source muster_console: the end of what a VM
// wrote to its serial console, read through libvirt from the log that virtlogd
// keeps on the host.
package consoledata
