// Package hwaddr holds the hardware identities of a node: MAC addresses and
// system UUIDs. It parses them, derives them from names, and knows nothing of
// who assigns or stores them.
package hwaddr
