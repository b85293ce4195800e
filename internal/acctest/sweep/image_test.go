package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// imageSubject is an image whose source changes with each generation: an update
// of it is a replacement.
func imageSubject(t *testing.T) subject {
	t.Helper()
	dir := t.TempDir()
	content := func(generation int) []byte {
		return bytes.Repeat(fmt.Appendf(nil, "image of generation %03d\n", generation), 40_000)
	}
	return subject{
		resource: "muster_image",
		config: func(name string, generation int) tfcore.Values {
			source := filepath.Join(dir, fmt.Sprintf("source%d.raw", generation))
			if _, err := os.Stat(source); err != nil {
				if err := os.WriteFile(source, content(generation), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return tfcore.Values{"name": name, "source": source, "format": "raw"}
		},
		reached: func(t *testing.T, l *lab, name string, generation int) {
			t.Helper()
			sum := sha256.Sum256(content(generation))
			volume := fmt.Sprintf("%s-%.16s.raw", name, hex.EncodeToString(sum[:]))
			files := l.files(t)
			if len(files) != 2 || !slices.Contains(files, volume) {
				t.Fatalf("files in the pool: %q, want %s and its marker", files, volume)
			}
			there, err := os.ReadFile(filepath.Join(l.host.Dir, "images", volume))
			if err != nil || !bytes.Equal(there, content(generation)) {
				t.Errorf("the volume has %d bytes that are not the source's: %v", len(there), err)
			}
		},
		gone: func(t *testing.T, l *lab) {
			t.Helper()
			if files := l.files(t); len(files) > 0 {
				t.Fatalf("files left in the pool: %q", files)
			}
		},
	}
}

func TestSweep_image(t *testing.T) {
	for _, f := range []fault{killAfter, loseReply} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			l := &lab{host: libvirttest.Start(t)}
			l.proxy = libvirttest.NewProxy(t, l.host.Socket)
			s := imageSubject(t)
			newEngine := func() engine { return &protocol{tb: t, provider: l.provider(), resource: s.resource} }
			whole := everyCall
			if f == loseReply {
				whole = sometimes(2)
			}
			s.creates(t, l, f, whole, newEngine)
			s.updates(t, l, f, whole, newEngine)
			s.deletes(t, l, f, whole, newEngine)
		})
	}
}
