package image_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const addr = "muster_image.base"

// noise returns n reproducible bytes that no compression and no luck repeats.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := 0; i+8 <= n; i += 8 {
		v := r.Uint64()
		for j := range 8 {
			b[i+j] = byte(v >> (8 * j))
		}
	}
	return b
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func source(t *testing.T, data []byte) string {
	return write(t, filepath.Join(t.TempDir(), "disk.img"), data)
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// images returns a configuration: for each pair a resource's label and body.
func images(uri string, pairs ...string) string {
	var b strings.Builder
	b.WriteString(acctest.Provider(uri, "lab-a"))
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, "resource \"muster_image\" %q {\n%s\n}\n", pairs[i], pairs[i+1])
	}
	return b.String()
}

func named(name, source string, more ...string) string {
	return fmt.Sprintf("  name = %q\n  source = %q\n  %s", name, source, strings.Join(more, "\n  "))
}

// volumes lists the pool, markers left out.
func volumes(h *libvirttest.Host) (found []string) {
	for line := range strings.Lines(h.Virsh("vol-list", "default")) {
		if f := strings.Fields(line); len(f) == 2 && strings.HasPrefix(f[1], "/") && !strings.Contains(f[0], ".muster-") {
			found = append(found, f[0])
		}
	}
	return found
}

func markers(h *libvirttest.Host) (found []string) {
	for line := range strings.Lines(h.Virsh("vol-list", "default")) {
		if f := strings.Fields(line); len(f) == 2 && strings.Contains(f[0], ".muster-") {
			found = append(found, f[0])
		}
	}
	return found
}

// holds checks that a volume's file has that content.
func holds(h *libvirttest.Host, volume string, data []byte) resource.TestCheckFunc {
	return func(*terraform.State) error {
		got, err := os.ReadFile(filepath.Join(h.Dir, "images", volume))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, data) {
			return fmt.Errorf("volume %s does not hold the source's %d bytes", volume, len(data))
		}
		return nil
	}
}

func count(what string, list func(*libvirttest.Host) []string, h *libvirttest.Host, want int) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if got := list(h); len(got) != want {
			return fmt.Errorf("%d %s, want %d: %v", len(got), what, want, got)
		}
		return nil
	}
}

func action(a plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(addr, a)}}
}

func TestAccImage_lifecycle(t *testing.T) {
	h := libvirttest.Start(t)
	dir := t.TempDir()
	data := noise(1, 3<<20)
	src := write(t, filepath.Join(dir, "disk.img"), data)
	volume := "base-" + hashOf(data)[:16] + ".raw"
	moved := write(t, filepath.Join(dir, "moved.img"), data)
	changed := noise(2, 1<<20)
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config: images(h.URI(), "base", named("base", src)),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(addr, "id", "default/"+volume),
				resource.TestCheckResourceAttr(addr, "sha256", hashOf(data)),
				resource.TestCheckResourceAttr(addr, "format", "raw"),
				resource.TestCheckResourceAttr(addr, "size_bytes", fmt.Sprint(len(data))),
				holds(h, volume, data), count("markers", markers, h, 1),
			),
		},
		resource.TestStep{Config: images(h.URI(), "base", named("base", src)), ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
		// Only touched: nothing to do.
		resource.TestStep{
			PreConfig: func() {
				if err := os.Chtimes(src, time.Now(), time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
			},
			Config: images(h.URI(), "base", named("base", src)), ConfigPlanChecks: action(plancheck.ResourceActionNoop),
		},
		// The same content from elsewhere, and its hash written down: in place.
		resource.TestStep{
			Config:           images(h.URI(), "base", named("base", moved, fmt.Sprintf("sha256 = %q", hashOf(data)))),
			ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check:            holds(h, volume, data),
		},
		// The file is gone from this machine: nothing depends on it.
		resource.TestStep{
			PreConfig: func() {
				if err := os.Remove(moved); err != nil {
					t.Fatal(err)
				}
			},
			Config:           images(h.URI(), "base", named("base", moved, fmt.Sprintf("sha256 = %q", hashOf(data)))),
			ConfigPlanChecks: action(plancheck.ResourceActionNoop),
		},
		resource.TestStep{
			PreConfig: func() { write(t, src, changed) },
			Config:    images(h.URI(), "base", named("base", src)), ConfigPlanChecks: action(plancheck.ResourceActionReplace),
			Check: resource.ComposeTestCheckFunc(
				holds(h, "base-"+hashOf(changed)[:16]+".raw", changed), count("volumes", volumes, h, 1), count("markers", markers, h, 1)),
		},
		resource.TestStep{
			ResourceName: addr, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"timeouts"},
		},
		resource.TestStep{
			ResourceName: addr, ImportState: true, ImportStateId: "base @ " + h.URI(), ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"timeouts"},
		},
		// Removed behind Terraform's back.
		resource.TestStep{
			PreConfig: func() { h.Virsh("vol-delete", "base-"+hashOf(changed)[:16]+".raw", "default") },
			Config:    images(h.URI(), "base", named("base", src)), ConfigPlanChecks: action(plancheck.ResourceActionCreate),
			Check: holds(h, "base-"+hashOf(changed)[:16]+".raw", changed),
		},
	))
	if left := append(volumes(h), markers(h)...); len(left) > 0 {
		t.Errorf("left after destroy: %v", left)
	}
}

func TestAccImage_sharedContent(t *testing.T) {
	h := libvirttest.Start(t)
	data := noise(3, 1<<20)
	src := source(t, data)
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config: images(h.URI(), "base", named("base", src), "twin", named("twin", src)),
			Check: resource.ComposeTestCheckFunc(
				count("volumes", volumes, h, 1), count("markers", markers, h, 2),
				resource.TestCheckResourceAttrPair(addr, "path", "muster_image.twin", "path"),
			),
		},
		resource.TestStep{
			Config: images(h.URI(), "base", named("base", src)),
			Check:  resource.ComposeTestCheckFunc(count("volumes", volumes, h, 1), count("markers", markers, h, 1)),
		},
	))
	if left := append(volumes(h), markers(h)...); len(left) > 0 {
		t.Errorf("left after destroy: %v", left)
	}
}

func TestAccImage_qcow2(t *testing.T) {
	h := libvirttest.Start(t)
	qcow := filepath.Join(t.TempDir(), "disk.qcow2")
	if out, err := h.Exec("qemu-img", "create", "-f", "qcow2", qcow, "64M"); err != nil {
		t.Fatal(out, err)
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config:      images(h.URI(), "base", named("base", qcow, `format = "raw"`)),
			ExpectError: regexp.MustCompile(`is a\s+qcow2\s+image`),
		},
		resource.TestStep{
			Config: images(h.URI(), "base", named("base", qcow)),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(addr, "format", "qcow2"),
				resource.TestCheckResourceAttr(addr, "size_bytes", fmt.Sprint(64<<20)),
			),
		},
	))
}

func TestAccImage_url(t *testing.T) {
	h := libvirttest.Start(t)
	data := noise(4, 2<<20)
	var fetched int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched++
		if r.URL.Query().Get("token") != "geheim" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Header().Set("ETag", `"v1"`)
		if fetched == 1 { // breaks off in the middle; the next request goes on
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			_, _ = w.Write(data[:len(data)/2])
			return
		}
		http.ServeContent(w, r, "disk.img", time.Time{}, bytes.NewReader(data))
	}))
	defer srv.Close()
	url := srv.URL + "/disk.img?token=geheim"
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config:      images(h.URI(), "base", named("base", srv.URL+"/disk.img?token=falsch")),
			ExpectError: regexp.MustCompile(`403 Forbidden`),
		},
		resource.TestStep{
			PreConfig: func() { fetched = 0 },
			Config:    images(h.URI(), "base", named("base", url)),
			Check: resource.ComposeTestCheckFunc(
				holds(h, "base-"+hashOf(data)[:16]+".raw", data),
				func(*terraform.State) error {
					if fetched != 2 {
						return fmt.Errorf("%d requests, want 2: one that broke off, one that went on", fetched)
					}
					return nil
				}),
		},
		// With its hash known it is not fetched again, here for a second name.
		resource.TestStep{
			Config: images(h.URI(), "base", named("base", url), "twin", named("twin", url, fmt.Sprintf("sha256 = %q", hashOf(data)))),
			Check: func(*terraform.State) error {
				if fetched != 2 {
					return fmt.Errorf("%d requests, want still 2", fetched)
				}
				return nil
			},
		},
		resource.TestStep{
			Config:      images(h.URI(), "base", named("base", url, fmt.Sprintf("sha256 = %q", strings.Repeat("0", 64)))),
			ExpectError: regexp.MustCompile(`has the SHA-256`),
		},
	))
}

func TestAccImage_refusals(t *testing.T) {
	h := libvirttest.Start(t)
	data := noise(5, 1<<16)
	src := source(t, data)
	gz := source(t, append([]byte("\x1f\x8b\x08\x00"), data...))
	for _, c := range []struct{ name, config, want string }{
		{"pool", named("base", src, `pool = "fast"`), `there\s+is\s+only\s+default`},
		{"compressed", named("base", gz), `compressed\s+with\s+gzip`},
		{"missing", named("base", "/nonexistent/disk.img"), `no\s+such\s+file`},
		{"hash", named("base", src, fmt.Sprintf("sha256 = %q", strings.Repeat("a", 64))), `has\s+the\s+SHA-256`},
		{"scheme", named("base", "ftp://example.org/x.img"), `not\s+supported`},
		{"unknown argument", named("base", src, `sourze = "x"`), `Unsupported argument`},
	} {
		t.Run(c.name, func(t *testing.T) {
			resource.Test(t, acctest.Case(resource.TestStep{Config: images(h.URI(), "base", c.config), ExpectError: regexp.MustCompile(c.want)}))
			if left := append(volumes(h), markers(h)...); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// An upload that was cut is never used: the next apply uploads again.
func TestAccImage_uploadCut(t *testing.T) {
	h := libvirttest.Start(t)
	data := noise(6, 24<<20)
	src := source(t, data)
	volume := "base-" + hashOf(data)[:16] + ".raw"
	p := libvirttest.NewProxy(t, h.Socket)
	resource.Test(t, acctest.Case(
		// The daemon's confirmation of the upload is lost.
		resource.TestStep{
			PreConfig:   func() { p.SetRules(libvirttest.Rule{Proc: "StorageVolUpload", Nth: 1, Action: libvirttest.LoseReply}) },
			Config:      images(p.URI(), "base", named("base", src)),
			ExpectError: regexp.MustCompile(`upload\s+volume`),
		},
		// Half of it is there, and looks whole to libvirt.
		resource.TestStep{
			PreConfig: func() {
				p.SetRules()
				h.Virsh("vol-create-as", "default", volume, fmt.Sprint(len(data)), "--format", "raw")
			},
			Config: images(p.URI(), "base", named("base", src)),
			Check:  resource.ComposeTestCheckFunc(holds(h, volume, data), count("markers", markers, h, 1)),
		},
	))
}

func TestAccImage_destroyWhileUsed(t *testing.T) {
	h := libvirttest.Start(t)
	data := noise(7, 1<<20)
	src := source(t, data)
	config := images(h.URI(), "base", named("base", src, "timeouts {\n    delete = \"5s\"\n  }"))
	overlay := func() {
		h.Virsh("vol-create-as", "default", "overlay.qcow2", "2M", "--format", "qcow2",
			"--backing-vol", "base-"+hashOf(data)[:16]+".raw", "--backing-vol-format", "raw")
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config},
		resource.TestStep{PreConfig: overlay, Config: config, Destroy: true, ExpectError: regexp.MustCompile(`overlay.qcow2`)},
		resource.TestStep{
			PreConfig: func() { h.Virsh("vol-delete", "overlay.qcow2", "default") },
			Config:    config, ConfigPlanChecks: action(plancheck.ResourceActionNoop),
		},
	))
}

func TestAccImage_unreachable(t *testing.T) {
	h := libvirttest.Start(t)
	src := source(t, noise(8, 1<<20))
	config := images(h.URI(), "base", named("base", src))
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig: h.KillDaemon, Config: config, PlanOnly: true,
		},
		resource.TestStep{PreConfig: h.StartDaemon, Config: config, ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
	))
}
