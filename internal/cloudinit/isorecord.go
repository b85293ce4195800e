package cloudinit

import (
	"encoding/binary"
	"strings"
)

const flagFolder = 2

// The dates are fixed, so that equal content gives equal bytes:
// 1 January 1980, 00:00:00 UTC, in the two notations of the standard.
const (
	recordDate     = "\x50\x01\x01\x00\x00\x00\x00"
	descriptorDate = "1980010100000000\x00"
	noDate         = "0000000000000000\x00"
)

// directoryRecord returns one record (ECMA-119, 9.1) with its system use
// fields.
func directoryRecord(name string, sector, size uint32, flags byte, use []byte) []byte {
	b := both32([]byte{0, 0}, sector)
	b = both32(b, size)
	b = append(b, recordDate...)
	b = append(b, flags, 0, 0)
	b = both16(b, 1)
	b = append(b, byte(len(name)))
	b = append(b, name...)
	if len(b)%2 != 0 {
		b = append(b, 0)
	}
	b = append(b, use...)
	if len(b)%2 != 0 {
		b = append(b, 0)
	}
	b[0] = byte(len(b))
	return b
}

// suspEntry says that system use fields follow (IEEE P1281, 5.3).
func suspEntry() []byte { return []byte{'S', 'P', 7, 1, 0xbe, 0xef, 0} }

// extensionEntry names Rock Ridge as the extension in use (IEEE P1281, 5.5);
// its descriptive texts may be empty.
func extensionEntry() []byte {
	const id = "RRIP_1991A"
	return append([]byte{'E', 'R', byte(8 + len(id)), 1, byte(len(id)), 0, 0, 1}, id...)
}

// posixEntry holds mode and link count; owner and group are root
// (IEEE P1282, 4.1.1).
func posixEntry(mode, links uint32) []byte {
	b := both32([]byte{'P', 'X', 36, 1}, mode)
	b = both32(b, links)
	b = both32(b, 0)
	return both32(b, 0)
}

// nameEntry holds the file's real name (IEEE P1282, 4.1.4).
func nameEntry(name string) []byte {
	return append([]byte{'N', 'M', byte(5 + len(name)), 1, 0}, name...)
}

func padded(s string, size int) string { return s + strings.Repeat(" ", size-len(s)) }

// both16 and both32 append a number in both byte orders (ECMA-119, 7.2.3 and
// 7.3.3).
func both16(b []byte, v uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, v), v)
}

func both32(b []byte, v uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, v), v)
}
