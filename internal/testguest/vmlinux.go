package testguest

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// extractVmlinux writes the uncompressed kernel that a bzImage carries. Where
// it finds none it writes the bzImage, which boots as well, only slower.
func extractVmlinux(to, bzimage string) error {
	b, err := os.ReadFile(bzimage)
	if err != nil {
		return err
	}
	if k := findVmlinux(b); k != nil {
		b = k
	}
	return os.WriteFile(to, b, 0o644)
}

// decompressors of kernels, by the bytes with which the stream begins.
var decompressors = []struct {
	magic  []byte
	expand func([]byte) []byte
}{
	{[]byte{0x02, 0x21, 0x4c, 0x18}, expandLZ4},
	{[]byte{0x28, 0xb5, 0x2f, 0xfd}, expandZstd},
	{[]byte{0x1f, 0x8b, 0x08}, expandGzip},
	{[]byte{0xfd, '7', 'z', 'X', 'Z', 0}, expandXZ},
}

// findVmlinux looks for a compressed ELF file in a bzImage; nil if there is
// none. A magic may also occur by chance.
func findVmlinux(b []byte) []byte {
	for _, d := range decompressors {
		for at := 0; ; at++ {
			i := bytes.Index(b[at:], d.magic)
			if i < 0 {
				break
			}
			at += i
			k := d.expand(b[at:])
			if _, err := elf.NewFile(bytes.NewReader(k)); err == nil {
				return k
			}
		}
	}
	return nil
}

// lz4Block is the size of an uncompressed block in LZ4's legacy format.
const lz4Block = 8 << 20

// expandLZ4 reads the legacy format: blocks with their compressed size before
// them. Whatever follows the last one ends it.
func expandLZ4(b []byte) []byte {
	var out []byte
	block := make([]byte, lz4Block)
	for b = b[4:]; len(b) > 4; {
		n := int(binary.LittleEndian.Uint32(b))
		if b = b[4:]; n <= 0 || n > len(b) {
			break
		}
		m, err := lz4.UncompressBlock(b[:n], block)
		if err != nil {
			break
		}
		out = append(out, block[:m]...)
		b = b[n:]
	}
	return out
}

func expandZstd(b []byte) []byte {
	r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil
	}
	defer r.Close()
	return readAvailable(r)
}

func expandGzip(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	r.Multistream(false)
	return readAvailable(r)
}

func expandXZ(b []byte) []byte {
	r, err := xz.ReaderConfig{SingleStream: true}.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return readAvailable(r)
}

// readAvailable returns what comes before the end or the first error: behind
// the stream in a bzImage lies something else.
func readAvailable(r io.Reader) []byte {
	var out bytes.Buffer
	if _, err := io.Copy(&out, r); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && out.Len() == 0 {
		return nil
	}
	return out.Bytes()
}
