package nodevm_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const networkXML = `<network><name>lab</name><bridge name='lab0' stp='off'/></network>`

func newHost(t *testing.T) *libvirttest.Host {
	h := libvirttest.Start(t)
	acctest.DefineNetwork(t, h, networkXML)
	return h
}

func TestAccNodeVM_createsUpdatesAndDestroys(t *testing.T) {
	h := newHost(t)
	config := func(memory string) string {
		return acctest.Provider(h.URI(), "lab-a") + `
resource "muster_node_vm" "n1" {
  name       = "n1"
  memory_mib = ` + memory + `
  power      = "off"
  disk {
    name     = "root"
    size_mib = 64
  }
  nic {
    name    = "lan"
    network = "lab"
  }
}
`
	}
	mac := hwaddr.DeriveMAC(hwaddr.Prefix{}, "lab-a", "n1", "lan").String()
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config: config("128"),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr("muster_node_vm.n1", "macs.lan", mac),
				resource.TestCheckResourceAttr("muster_node_vm.n1", "id", hwaddr.DeriveUUID("lab-a", "n1")),
			),
		},
		resource.TestStep{
			Config: config("192"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("muster_node_vm.n1", plancheck.ResourceActionUpdate),
			}},
			Check: resource.TestCheckResourceAttr("muster_node_vm.n1", "macs.lan", mac),
		},
		resource.TestStep{
			ResourceName: "muster_node_vm.n1", ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"power"}, // as found; the configuration says it
		},
	))
}
