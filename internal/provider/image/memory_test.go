package image_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

const (
	largeImage  = 1 << 30  // bytes
	memoryLimit = 64 << 20 // bytes, of the provider's process
)

// One GiB goes up within 64 MiB of memory, whole, and is not lost by Ctrl-C in
// the middle.
func TestAccImage_largeUpload(t *testing.T) {
	h := libvirttest.Start(t)
	src := filepath.Join(t.TempDir(), "large.img")
	if err := os.WriteFile(src, noise(9, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(src, largeImage); err != nil {
		t.Fatal(err)
	}
	cli := tfcli.New(t, images(h.URI(), "base", named("base", src)))

	cut := cli.Start("apply", "-input=false", "-no-color", "-auto-approve")
	awaitVolume(t, h)
	cut.Interrupt()
	if r := cut.Wait(); r.Code == 0 || !r.Says("interrupted") {
		t.Fatalf("exit code %d after Ctrl-C:\n%s", r.Code, r.Output)
	}
	if left := append(volumes(h), markers(h)...); len(left) > 0 {
		t.Errorf("left after Ctrl-C: %v", left)
	}

	r := cli.Apply()
	if r.Code != 0 {
		t.Fatal(r.Output)
	}
	t.Logf("1 GiB in %s, %s of CPU time; the provider's peak is %d MiB", r.Wall, r.Provider.CPU, r.Provider.PeakRSS>>20)
	if r.Provider.PeakRSS > memoryLimit {
		t.Errorf("the provider took %d MiB, the limit is %d", r.Provider.PeakRSS>>20, memoryLimit>>20)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(h.Dir, "images", volumes(h)[0]), &st); err != nil || st.Size != largeImage {
		t.Errorf("the volume has %d bytes: %v", st.Size, err)
	}
	if r := cli.Destroy(); r.Code != 0 {
		t.Error(r.Output)
	}
}

// awaitVolume returns when an upload has begun.
func awaitVolume(t *testing.T, h *libvirttest.Host) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		files, err := filepath.Glob(filepath.Join(h.Dir, "images", "base-*.raw"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			var st unix.Stat_t
			if unix.Stat(f, &st) == nil && st.Blocks*512 > 16<<20 {
				return
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("no upload has begun")
		}
	}
}
