// Package hostdata is the data source muster_host: what a libvirt host is and
// has.
package hostdata
