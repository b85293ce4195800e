// Package owner defines the mark that everything made by this provider
// carries: whose it is, which identity it was declared with, and how far the
// operation on it got. It decides what a create, update or delete may do with
// an object that bears a mark. How a mark is stored in libvirt or MAAS is the
// adapters' business.
package owner
