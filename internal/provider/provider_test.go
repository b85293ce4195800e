package provider_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const network = `
resource "muster_network" "lab" {
  name = "lab"
  mode = "isolated"
  %s
}
`

// The host's URI comes of another resource, and is not known in the plan that
// changes it: what the state says is kept, and the apply goes on with it.
func TestAccProvider_hostKnownAtApply(t *testing.T) {
	h := libvirttest.Start(t)
	config := func(token string) string {
		return fmt.Sprintf(`
resource "terraform_data" "host" {
  input            = %q
  triggers_replace = %q
}
provider "muster" {
  libvirt {
    uri = terraform_data.host.output
  }
  identity {
    namespace = "lab-a"
  }
}
`, h.URI(), token) + fmt.Sprintf(network, "")
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config("1")},
		resource.TestStep{Config: config("1"), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
		resource.TestStep{
			Config: config("2"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("muster_network.lab", plancheck.ResourceActionNoop),
			}},
		},
	))
}

// Hosts are named by their block or by their URI, and both are one host.
func TestAccProvider_namedHosts(t *testing.T) {
	first, second := libvirttest.Start(t), libvirttest.Start(t)
	config := func(uri string) string {
		return fmt.Sprintf(`
provider "muster" {
  libvirt {
    uri = %q
  }
  host {
    name = "rack2"
    uri  = %q
  }
  identity {
    namespace = "lab-a"
  }
}
data "muster_host" "it" {
  uri = muster_network.lab.uri
}
`, first.URI(), second.URI()) + fmt.Sprintf(network, fmt.Sprintf("uri = %q", uri))
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config: config("rack2"),
			Check:  resource.TestCheckResourceAttr("data.muster_host.it", "canonical_uri", second.URI()),
		},
		resource.TestStep{Config: config("rack3"), ExpectError: regexp.MustCompile(`(?i)rack3`)},
		resource.TestStep{Config: config("rack2")},
	))
}

func TestAccProvider_refusals(t *testing.T) {
	nowhere := "qemu+unix:///system?socket=" + filepath.Join(t.TempDir(), "none")
	block := func(body string) string { return "provider \"muster\" {\n" + body + "\n}\n" + fmt.Sprintf(network, "") }
	for name, c := range map[string]struct{ config, want string }{
		"no namespace":   {block("libvirt {\n uri = \"" + nowhere + "\"\n}"), `no\s+namespace`},
		"bad namespace":  {block("identity {\n namespace = \"Lab A\"\n}"), `lower-case`},
		"bad prefix":     {block("identity {\n namespace = \"a\"\n mac_prefix = \"53\"\n}"), `locally\s+administered`},
		"bad uri":        {block("libvirt {\n uri = \"vmware://x\"\n}\nidentity {\n namespace = \"a\"\n}"), `Unable to use the libvirt hosts`},
		"two of a name":  {block("identity {\n namespace = \"a\"\n}\nhost {\n name = \"x\"\n uri = \"qemu:///system\"\n}\nhost {\n name = \"x\"\n uri = \"qemu:///system\"\n}"), `(?i)two\s+host\s+blocks`},
		"unknown key":    {block("libvirt {\n urii = \"x\"\n}"), `Unsupported argument`},
		"unknown option": {block("libvirt {\n uri = \"qemu+ssh://h/system?no_verify=1\"\n}\nidentity {\n namespace = \"a\"\n}"), `always\s+checked`},
	} {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, acctest.Case(resource.TestStep{Config: c.config, ExpectError: regexp.MustCompile(c.want), PlanOnly: true}))
		})
	}
}
