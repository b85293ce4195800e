package testguest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// anELF is a small program: any ELF file stands for a kernel.
func anELF(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compressLZ4(t *testing.T, b []byte) []byte {
	t.Helper()
	out := []byte{0x02, 0x21, 0x4c, 0x18}
	for len(b) > 0 {
		n := min(len(b), lz4Block)
		block := make([]byte, lz4.CompressBlockBound(n))
		m, err := lz4.CompressBlock(b[:n], block, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(binary.LittleEndian.AppendUint32(out, uint32(m)), block[:m]...)
		b = b[n:]
	}
	return out
}

func compressWith(t *testing.T, b []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := open(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestExtractVmlinux_knowsEveryCompression(t *testing.T) {
	kernel := make([]byte, lz4Block+1<<20) // more than one block of LZ4
	copy(kernel, anELF(t))
	small := anELF(t)
	cases := map[string]struct{ kernel, packed []byte }{
		"lz4":  {kernel, compressLZ4(t, kernel)},
		"gzip": {kernel, compressWith(t, kernel, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })},
		"zstd": {kernel, compressWith(t, kernel, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })},
		"xz":   {small, compressWith(t, small, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) })},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			// A magic without a stream, the stream, and what a bzImage has behind it.
			image := append(append([]byte("MZ setup \x1f\x8b\x08 and code"), c.packed...), bytes.Repeat([]byte{0xff}, 64)...)
			got := findVmlinux(image)
			if !bytes.Equal(got, c.kernel) {
				t.Errorf("found %d bytes, want %d", len(got), len(c.kernel))
			}
		})
	}
}

func TestExtractVmlinux_keepsWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "bz"), filepath.Join(dir, "vm")
	if err := os.WriteFile(from, []byte("no kernel at all"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := extractVmlinux(to, from); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(to); err != nil || string(b) != "no kernel at all" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestArchive_isAlignedAndEnded(t *testing.T) {
	var a archive
	a.directory("dev")
	a.file("init", 0o755, []byte("abc"))
	b := a.close()
	if len(b)%4 != 0 || !bytes.HasPrefix(b, []byte("070701")) || !bytes.Contains(b, []byte("TRAILER!!!")) {
		t.Errorf("%d bytes: %q", len(b), b)
	}
	at := bytes.Index(b, []byte("abc"))
	if at%4 != 0 {
		t.Errorf("data at %d", at)
	}
}

func TestFindKernelPackage_readsDepends(t *testing.T) {
	text := "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-57-cloud-amd64\n"
	m := kernelPackage.FindStringSubmatch(text)
	if m == nil || m[1] != "linux-image-6.1.0-57-cloud-amd64" || m[2] != "6.1.0-57-cloud-amd64" {
		t.Errorf("%q", m)
	}
}

func TestInstall_copiesEverything(t *testing.T) {
	from := t.TempDir()
	path := func(name string) string {
		p := filepath.Join(from, name)
		if err := os.WriteFile(p, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	f := Files{path("a"), path("b"), path("c"), path("d"), path("e")}
	to := filepath.Join(t.TempDir(), "deep")
	got, err := f.Install(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{got.Vmlinux, got.Bzimage, got.Initrd, got.Image, got.ImageQCOW2} {
		if b, err := os.ReadFile(p); err != nil || string(b) != filepath.Base(p) || filepath.Dir(p) != to {
			t.Errorf("%s: %q, %v", p, b, err)
		}
	}
}
