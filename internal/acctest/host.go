package acctest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// DefineNetwork defines and starts a network, past the provider.
func DefineNetwork(t testing.TB, h *libvirttest.Host, xml string) {
	t.Helper()
	file := XMLFile(t, xml)
	h.Virsh("net-create", file)
}

// XMLFile writes XML to a file that virsh can read.
func XMLFile(t testing.TB, xml string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object.xml")
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
