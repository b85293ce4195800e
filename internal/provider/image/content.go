package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Formats of images.
const (
	formatRaw   = "raw"
	formatQCOW2 = "qcow2"
)

// content is what an image file holds.
type content struct {
	SHA256      string `json:"sha256"` // of the file, lower-case hexadecimal
	Format      string `json:"format"`
	FileSize    int64  `json:"file_size"`    // bytes of the file
	VirtualSize int64  `json:"virtual_size"` // bytes that a guest sees
}

// headerSize is how much of a file tells its format: a version 3 qcow2 header
// up to its feature bits.
const headerSize = 80

// errNotAnImage says that the file cannot be stocked whatever is done.
var errNotAnImage = errors.New("not a usable image")

// foreign are the beginnings of files that would boot nothing if they were
// taken for raw disks.
var foreign = []struct {
	magic []byte
	name  string
}{
	{[]byte("\x1f\x8b"), "compressed with gzip"},
	{[]byte("\xfd7zXZ\x00"), "compressed with xz"},
	{[]byte("\x28\xb5\x2f\xfd"), "compressed with zstd"},
	{[]byte("BZh"), "compressed with bzip2"},
	{[]byte("PK\x03\x04"), "a zip archive"},
	{[]byte("KDMV"), "a VMDK disk"},
	{[]byte("vhdxfile"), "a VHDX disk"},
	{[]byte("<!DOCTYPE"), "an HTML page"},
	{[]byte("<!doctype"), "an HTML page"},
	{[]byte("<html"), "an HTML page"},
}

// detect tells an image's format and virtual size from its first bytes and
// the size of the file.
func detect(header []byte, fileSize int64) (format string, virtual int64, err error) {
	if fileSize == 0 {
		return "", 0, fmt.Errorf("%w: the file is empty", errNotAnImage)
	}
	for _, f := range foreign {
		if bytes.HasPrefix(header, f.magic) {
			return "", 0, fmt.Errorf("%w: it is %s; unpack or convert it to raw or qcow2 first (`qemu-img convert`)", errNotAnImage, f.name)
		}
	}
	if !bytes.HasPrefix(header, []byte("QFI\xfb")) {
		return formatRaw, fileSize, nil
	}
	virtual, err = readQCOW2(header)
	return formatQCOW2, virtual, err
}

// readQCOW2 returns the virtual size in a qcow2 header (QEMU's
// docs/interop/qcow2). An image that needs other files is refused: on the host
// they would be other files.
func readQCOW2(header []byte) (int64, error) {
	if len(header) < 72 {
		return 0, fmt.Errorf("%w: its qcow2 header is cut short", errNotAnImage)
	}
	version := binary.BigEndian.Uint32(header[4:])
	if version != 2 && version != 3 {
		return 0, fmt.Errorf("%w: qcow2 version %d is unknown", errNotAnImage, version)
	}
	if binary.BigEndian.Uint64(header[8:]) != 0 {
		return 0, fmt.Errorf("%w: it is an overlay that needs a backing file; flatten it first (`qemu-img convert -O qcow2`)", errNotAnImage)
	}
	if version == 3 {
		if len(header) < headerSize {
			return 0, fmt.Errorf("%w: its qcow2 header is cut short", errNotAnImage)
		}
		const corrupt, externalData = 1 << 1, 1 << 2
		features := binary.BigEndian.Uint64(header[72:])
		if features&externalData != 0 {
			return 0, fmt.Errorf("%w: its data lies in another file; flatten it first (`qemu-img convert -O qcow2`)", errNotAnImage)
		}
		if features&corrupt != 0 {
			return 0, fmt.Errorf("%w: it is marked corrupt; repair it first (`qemu-img check -r all`)", errNotAnImage)
		}
	}
	size := binary.BigEndian.Uint64(header[24:])
	if size == 0 || size > 1<<62 {
		return 0, fmt.Errorf("%w: its virtual size of %d bytes cannot be right", errNotAnImage, size)
	}
	return int64(size), nil
}

// scanner hashes what is read through it, keeps the header, and ends with ctx.
type scanner struct {
	ctx    context.Context
	r      io.Reader
	sum    hash.Hash
	header []byte
	n      int64
	solid  int64 // bytes up to the last one that is not zero
	report func(done int64)
}

func newScanner(ctx context.Context, r io.Reader, report func(done int64)) *scanner {
	return &scanner{ctx: ctx, r: r, sum: sha256.New(), report: report}
}

// Read implements io.Reader.
func (s *scanner) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	if missing := headerSize - len(s.header); missing > 0 {
		s.header = append(s.header, p[:min(n, missing)]...)
	}
	if k := solid(p[:n]); k > 0 {
		s.solid = s.n + int64(k)
	}
	s.n += int64(n)
	if s.report != nil && n > 0 {
		s.report(s.n)
	}
	return n, err
}

// solid returns the length of p without the zeros at its end.
func solid(p []byte) int {
	const word = 4096
	var zeros [word]byte
	for len(p) >= word && bytes.Equal(p[len(p)-word:], zeros[:]) {
		p = p[:len(p)-word]
	}
	for len(p) > 0 && p[len(p)-1] == 0 {
		p = p[:len(p)-1]
	}
	return len(p)
}

func (s *scanner) digest() string { return hex.EncodeToString(s.sum.Sum(nil)) }

// content returns what was read so far as a whole file.
func (s *scanner) content() (content, error) {
	format, virtual, err := detect(s.header, s.n)
	return content{SHA256: s.digest(), Format: format, FileSize: s.n, VirtualSize: virtual}, err
}

// scanBuffer is how much is read at once; with it the memory of a scan is
// bounded.
const scanBuffer = 1 << 20

// scan reads r to its end.
func scan(ctx context.Context, r io.Reader, report func(done int64)) (content, error) {
	s := newScanner(ctx, r, report)
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, s, make([]byte, scanBuffer)); err != nil {
		return content{}, err
	}
	return s.content()
}
