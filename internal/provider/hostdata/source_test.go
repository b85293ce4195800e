package hostdata_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

func TestAccHost_facts(t *testing.T) {
	h := libvirttest.Start(t)
	const addr = "data.muster_host.it"
	number := regexp.MustCompile(`^[1-9][0-9]*$`)
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config: acctest.Provider(h.URI(), "lab-a") + "data \"muster_host\" \"it\" {}\n",
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(addr, "hostname", h.Name),
				resource.TestCheckResourceAttr(addr, "driver", "QEMU"),
				resource.TestCheckResourceAttr(addr, "domain_type", h.DomainType()),
				resource.TestCheckResourceAttr(addr, "pools.0", "default"),
				resource.TestCheckResourceAttr(addr, "networks.#", "0"),
				resource.TestMatchResourceAttr(addr, "cpus", number),
				resource.TestMatchResourceAttr(addr, "memory_mib", number),
				resource.TestMatchResourceAttr(addr, "free_mib", number),
				resource.TestMatchResourceAttr(addr, "host_uuid", regexp.MustCompile(`^[0-9a-f-]{36}$`)),
			),
		},
		resource.TestStep{
			Config:      acctest.Provider(h.URI(), "lab-a") + "data \"muster_host\" \"it\" {\n  uri = \"vmware://x\"\n}\n",
			ExpectError: regexp.MustCompile(`(?i)unsupported|unknown|not\s+supported`),
		},
		resource.TestStep{
			Config:      acctest.Provider(h.URI(), "lab-a") + "data \"muster_host\" \"it\" {\n  uri = \"qemu+unix:///system?socket=/nonexistent\"\n}\n",
			ExpectError: regexp.MustCompile(`no\s+such\s+file`),
		},
	))
}
