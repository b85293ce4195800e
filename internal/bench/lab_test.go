package bench

import (
	"fmt"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// network is what the VMs are on. It exists before anything is measured.
const network = `<network><name>lab</name><bridge name='lab0' stp='off'/></network>`

// vms is a configuration of n VMs: two NICs, a disk and a console each, off.
func vms(uri string, n int) string {
	return acctest.Provider(uri, "bench") + fmt.Sprintf(`
resource "muster_node_vm" "n" {
  count      = %d
  name       = "vm${count.index}"
  memory_mib = 128
  power      = "off"
  disk {
    name     = "root"
    size_mib = 64
  }
  nic {
    name    = "lan"
    network = "lab"
  }
  nic {
    name    = "san"
    network = "lab"
  }
  console {
    enabled = true
  }
}
`, n)
}

// newHost returns a private host behind a proxy that counts calls.
func newHost(tb testing.TB) *libvirttest.Proxy {
	tb.Helper()
	h := libvirttest.Start(tb)
	acctest.DefineNetwork(tb, h, network)
	return libvirttest.NewProxy(tb, h.Socket)
}
