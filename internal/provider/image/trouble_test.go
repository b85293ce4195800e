package image_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// smallPool makes a pool on a file system of 4 MiB and returns its folder.
func smallPool(t *testing.T, h *libvirttest.Host) string {
	t.Helper()
	dir := filepath.Join(h.Dir, "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := h.Exec("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir); err != nil {
		t.Fatal(out, err)
	}
	h.Virsh("pool-define-as", "small", "dir", "--target", dir)
	h.Virsh("pool-start", "small")
	return dir
}

func TestAccImage_diskFull(t *testing.T) {
	h := libvirttest.Start(t)
	dir := smallPool(t, h)
	pool := `pool = "small"`
	large, fits := source(t, noise(11, 8<<20)), source(t, noise(12, 2<<20))
	empty := func(when string) {
		if out := strings.TrimSpace(h.Virsh("vol-list", "small", "--details")); strings.Contains(out, ".raw") {
			t.Errorf("left %s:\n%s", when, out)
		}
	}
	fill := func(size string) {
		if out, err := h.Exec("dd", "if=/dev/zero", "of="+filepath.Join(dir, "ballast"), "bs=1k", "count="+size, "status=none"); err != nil {
			t.Fatal(out, err)
		}
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config: images(h.URI(), "base", named("base", large, pool)), ExpectError: regexp.MustCompile(`needs\s+8\s+MiB`),
		},
		// Filled by others since libvirt last looked: the disk is full in the
		// middle of the upload, and what was written is removed.
		resource.TestStep{
			PreConfig: func() { empty("before an upload"); fill("3000") },
			Config:    images(h.URI(), "base", named("base", fits, pool)), ExpectError: regexp.MustCompile(`No\s+space\s+left|is\s+full|needs\s+2\s+MiB`),
		},
		resource.TestStep{
			PreConfig: func() {
				empty("after a failed upload")
				if out, err := h.Exec("rm", filepath.Join(dir, "ballast")); err != nil {
					t.Fatal(out, err)
				}
			},
			Config: images(h.URI(), "base", named("base", fits, pool)),
		},
	))
}

func TestAccImage_inactivePool(t *testing.T) {
	h := libvirttest.Start(t)
	dir := smallPool(t, h)
	src := source(t, noise(13, 1<<20))
	config := images(h.URI(), "base", named("base", src, `pool = "small"`))
	resource.Test(t, acctest.Case(
		// Defined and stopped: started.
		resource.TestStep{PreConfig: func() { h.Virsh("pool-destroy", "small") }, Config: config},
		// Stopped later: what the state says is kept.
		resource.TestStep{PreConfig: func() { h.Virsh("pool-destroy", "small") }, Config: config, PlanOnly: true},
		resource.TestStep{
			PreConfig: func() { h.Virsh("pool-start", "small") },
			Config:    config, ConfigPlanChecks: action(plancheck.ResourceActionNoop),
		},
		// One that does not start: waited for, within the timeout, and named.
		resource.TestStep{
			PreConfig: func() {
				h.Virsh("pool-define-as", "gone", "dir", "--target", filepath.Join(dir, "missing"))
			},
			Config: config + "resource \"muster_image\" \"other\" {\n" + named("other", src, `pool = "gone"`, "timeouts {\n    create = \"5s\"\n  }") + "\n}\n",
			// Both what ran out and why it was needed.
			ExpectError: regexp.MustCompile(`(?s)Pool\s+gone\s+is\s+not\s+active.*5s.*missing`),
		},
		resource.TestStep{Config: config},
	))
}

// Nobody's marker says any more that the volume is whole: it is uploaded again,
// in its place.
func TestAccImage_markerRemoved(t *testing.T) {
	h := libvirttest.Start(t)
	data := noise(14, 1<<20)
	config := images(h.URI(), "base", named("base", source(t, data)))
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig: func() {
				h.Virsh("vol-delete", markers(h)[0], "default")
				if err := os.Truncate(filepath.Join(h.Dir, "images", volumes(h)[0]), 4096); err != nil {
					t.Fatal(err)
				}
			},
			Config: config, ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.ComposeTestCheckFunc(holds(h, "base-"+hashOf(data)[:16]+".raw", data), count("markers", markers, h, 1)),
		},
	))
}

// A host that is gone for good: destroy fails, and is abandoned when told.
func TestAccImage_hostGone(t *testing.T) {
	h := libvirttest.Start(t)
	config := images(h.URI(), "base", named("base", source(t, noise(15, 1<<20))))
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config},
		resource.TestStep{PreConfig: h.KillDaemon, Config: config, Destroy: true, ExpectError: regexp.MustCompile(`Unable\s+to\s+destroy\s+muster_image\s+"base"`)},
		resource.TestStep{PreConfig: func() { t.Setenv("MUSTER_ABANDON", h.URI()) }, Config: config, Destroy: true},
	))
}
