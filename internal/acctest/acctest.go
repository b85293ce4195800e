package acctest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/musterlab/terraform-provider-muster/internal/provider"
)

// Main prepares the environment of an acceptance test binary: the installed
// terraform, no user's CLI configuration, no call home. Use it in TestMain.
func Main(m *testing.M) {
	for k, v := range map[string]string{
		"TF_ACC": "1", "TF_CLI_CONFIG_FILE": os.DevNull, "CHECKPOINT_DISABLE": "1", "MUSTER_NAMESPACE": "",
	} {
		if err := os.Setenv(k, v); err != nil {
			panic(err)
		}
	}
	if path, err := exec.LookPath("terraform"); err == nil && os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		if err := os.Setenv("TF_ACC_TERRAFORM_PATH", path); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// Factories serve the provider in-process.
func Factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"muster": providerserver.NewProtocol6WithError(provider.New("test")),
	}
}

// Case returns a test case with the provider and steps.
func Case(steps ...resource.TestStep) resource.TestCase {
	return resource.TestCase{
		ProtoV6ProviderFactories: Factories(),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.RequireAbove(tfversion.Version1_11_0)},
		Steps:                    steps,
	}
}

// Provider returns a provider block for a host and namespace.
func Provider(uri, namespace string) string {
	return fmt.Sprintf(`
provider "muster" {
  libvirt {
    uri = %q
  }
  identity {
    namespace = %q
  }
}
`, uri, namespace)
}
