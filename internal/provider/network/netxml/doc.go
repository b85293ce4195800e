// Package netxml reads and edits libvirt network definitions. Edits change
// elements by their identity and leave everything else in the document as it
// is; nothing here talks to a host.
package netxml
