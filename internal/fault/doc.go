// Package fault is the small set of kinds that every adapter sorts its errors
// into, once, at its own edge. Code above an adapter branches on the kind and
// never reads the text of a message.
package fault
