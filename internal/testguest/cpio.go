package testguest

import (
	"bytes"
	"fmt"
)

// archive is a cpio archive in the "newc" format, the one that a kernel unpacks
// (its Documentation/driver-api/early-userspace/buffer-format).
type archive struct {
	buf   bytes.Buffer
	inode int
}

const (
	modeDirectory = 0o040000
	modeCharacter = 0o020000
	modeRegular   = 0o100000
)

func (a *archive) directory(name string) { a.entry(name, modeDirectory|0o755, nil, 0, 0) }

func (a *archive) device(name string, major, minor int) {
	a.entry(name, modeCharacter|0o600, nil, major, minor)
}

func (a *archive) file(name string, mode int, data []byte) {
	a.entry(name, modeRegular|mode, data, 0, 0)
}

// close ends the archive and returns it.
func (a *archive) close() []byte {
	a.entry("TRAILER!!!", 0, nil, 0, 0)
	return a.buf.Bytes()
}

func (a *archive) entry(name string, mode int, data []byte, major, minor int) {
	a.inode++
	fields := []int{
		a.inode, mode, 0, 0, 1, 0, // inode, mode, owner, group, links, time
		len(data), 0, 0, major, minor, len(name) + 1, 0,
	}
	a.buf.WriteString("070701")
	for _, f := range fields {
		fmt.Fprintf(&a.buf, "%08x", f)
	}
	a.buf.WriteString(name)
	a.buf.WriteByte(0)
	a.pad()
	a.buf.Write(data)
	a.pad()
}

func (a *archive) pad() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}
