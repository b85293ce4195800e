package consoledata_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	uuid = "0f1e2d3c-0000-8000-8000-00000000000a"
	addr = "data.muster_console.it"
)

func config(h *libvirttest.Host, more string) string {
	return acctest.Provider(h.URI(), "lab-a") + fmt.Sprintf("data \"muster_console\" \"it\" {\n  uuid = %q\n%s\n}\n", uuid, more)
}

// The log turns over while it is read, and its older parts are read as well.
func TestAccConsole_tail(t *testing.T) {
	h := libvirttest.Start(t)
	h.Virsh("define", acctest.XMLFile(t, fmt.Sprintf(
		"<domain type='%s'><name>vm</name><uuid>%s</uuid><memory>65536</memory><os><type arch='x86_64'>hvm</type></os></domain>", h.DomainType(), uuid)))
	logs := filepath.Join(h.Dir, "log", "muster-console")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(logs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	resource.Test(t, acctest.Case(
		// Defined, and nothing was ever written.
		resource.TestStep{Config: config(h, ""), Check: resource.TestCheckResourceAttr(addr, "text", "")},
		resource.TestStep{
			PreConfig: func() {
				h.Virsh("pool-define-as", "muster-console", "dir", "--target", "/var/log/libvirt/muster-console")
				h.Virsh("pool-build", "muster-console")
				h.Virsh("pool-start", "muster-console")
				write(uuid+".log", "one\r\n\x1b[1mtwo\x1b[0m\r\nthree\r\n")
			},
			Config: config(h, "  lines = 2"),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(addr, "text", "two\nthree\n"), resource.TestCheckResourceAttr(addr, "truncated", "true")),
		},
		resource.TestStep{
			PreConfig: func() {
				write(uuid+".log.1", "zero\n")
				write(uuid+".log.0", "one\ntwo\n")
				write(uuid+".log", "three\n")
			},
			Config: config(h, ""),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(addr, "text", "zero\none\ntwo\nthree\n"), resource.TestCheckResourceAttr(addr, "truncated", "false")),
		},
		resource.TestStep{
			PreConfig: func() { write(uuid+".log", strings.Repeat("x", 1<<20)+"\nlast\n") },
			Config:    config(h, "  max_bytes = 10"),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(addr, "text", "xxxx\nlast\n"), resource.TestCheckResourceAttr(addr, "truncated", "true")),
		},
		resource.TestStep{
			Config:      strings.Replace(config(h, ""), uuid, "0f1e2d3c-0000-8000-8000-00000000000b", 1),
			ExpectError: regexp.MustCompile(`(?i)domain\s+not\s+found|no\s+domain`),
		},
		resource.TestStep{Config: strings.Replace(config(h, ""), uuid, "vm", 1), ExpectError: regexp.MustCompile(`is\s+not\s+a\s+UUID`)},
		resource.TestStep{Config: config(h, "")},
	))
}
