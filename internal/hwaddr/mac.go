package hwaddr

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// MAC is a 48-bit EUI address (IEEE 802). It is comparable and usable as a map
// key.
type MAC [6]byte

// ParseMAC reads six colon-separated pairs of hexadecimal digits, in either
// case. Other separators are refused, as libvirt refuses them. Multicast
// addresses (the lowest bit of the first octet) and the all-zero address are
// refused because no NIC may own them.
func ParseMAC(s string) (MAC, error) {
	var m MAC
	parts := strings.Split(s, ":")
	if len(parts) != len(m) {
		return MAC{}, fmt.Errorf("%q is not a MAC address: want six pairs of hexadecimal digits separated by colons, like 52:54:00:12:34:56", s)
	}
	for i, p := range parts {
		if len(p) != 2 {
			return MAC{}, fmt.Errorf("%q is not a MAC address: %q is not a pair of hexadecimal digits", s, p)
		}
		if _, err := hex.Decode(m[i:i+1], []byte(p)); err != nil {
			return MAC{}, fmt.Errorf("%q is not a MAC address: %q is not a pair of hexadecimal digits", s, p)
		}
	}
	if m[0]&1 != 0 {
		return MAC{}, fmt.Errorf("%q is a multicast address: a NIC needs a unicast one, whose first octet is even", s)
	}
	if m == (MAC{}) {
		return MAC{}, fmt.Errorf("%q is the all-zero address, which no NIC may own", s)
	}
	return m, nil
}

// String returns the address in lower case with colons.
func (m MAC) String() string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, 17)
	for i, o := range m {
		if i > 0 {
			b = append(b, ':')
		}
		b = append(b, digits[o>>4], digits[o&15])
	}
	return string(b)
}

// Prefix is the fixed first octets of derived addresses: one to four of them.
// The zero Prefix stands for DefaultPrefix.
type Prefix struct {
	octets [4]byte
	n      int
}

// DefaultPrefix is one locally administered unicast octet, which leaves 40
// bits to the hash.
var DefaultPrefix = Prefix{octets: [4]byte{0x02}, n: 1}

// ParsePrefix reads one to four colon-separated octets. The first must be
// unicast and locally administered: its second digit 2, 6, a or e, as in
// QEMU's own 52:54:00.
func ParsePrefix(s string) (Prefix, error) {
	var p Prefix
	parts := strings.Split(s, ":")
	if s == "" || len(parts) > len(p.octets) {
		return Prefix{}, fmt.Errorf("%q is not a MAC prefix: want one to four octets, like 02 or 52:54:00", s)
	}
	for i, part := range parts {
		if len(part) != 2 {
			return Prefix{}, fmt.Errorf("%q is not a MAC prefix: %q is not a pair of hexadecimal digits", s, part)
		}
		if _, err := hex.Decode(p.octets[i:i+1], []byte(part)); err != nil {
			return Prefix{}, fmt.Errorf("%q is not a MAC prefix: %q is not a pair of hexadecimal digits", s, part)
		}
	}
	p.n = len(parts)
	if p.octets[0]&3 != 2 {
		return Prefix{}, fmt.Errorf("%q is not a MAC prefix for guests: the first octet must be unicast and locally administered (second digit 2, 6, a or e)", s)
	}
	return p, nil
}

// String returns the prefix's octets in lower case with colons.
func (p Prefix) String() string {
	if p.n == 0 {
		p = DefaultPrefix
	}
	parts := make([]string, p.n)
	for i := range parts {
		parts[i] = hex.EncodeToString(p.octets[i : i+1])
	}
	return strings.Join(parts, ":")
}

// DeriveMAC returns the address of the NIC named nic of the VM named vm in
// namespace: the prefix, then as many bits of a SHA-256 over the three names
// as remain. It is the same on every machine and in every run.
func DeriveMAC(p Prefix, namespace, vm, nic string) MAC {
	if p.n == 0 {
		p = DefaultPrefix
	}
	sum := digest("mac", namespace, vm, nic)
	var m MAC
	copy(m[:], p.octets[:p.n])
	copy(m[p.n:], sum[:])
	return m
}

// digest hashes length-prefixed fields, so that no two lists of names collide
// by concatenation.
func digest(fields ...string) [sha256.Size]byte {
	h := sha256.New()
	for _, f := range fields {
		fmt.Fprintf(h, "%d:%s", len(f), f)
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return sum
}
