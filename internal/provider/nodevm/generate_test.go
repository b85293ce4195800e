package nodevm_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
)

// Case 18: the configuration that Terraform generates for an import is valid,
// and its plan changes nothing.
func TestAccNodeVM_importsWithGeneratedConfiguration(t *testing.T) {
	h := newHost(t)
	made := tfcli.New(t, lab{host: h, power: "external", body: "boot {\n order = [\"network\", \"disk\"]\n }\n firmware {\n type = \"uefi\"\n }\n" + rootDisk + lanNIC}.hcl())
	made.Apply().OK(t)

	c := tfcli.New(t, acctest.Provider(h.URI(), "lab-a")+`
import {
  to = muster_node_vm.n1
  id = "n1"
}
`)
	c.Run("plan", "-input=false", "-no-color", "-generate-config-out=generated.tf").OK(t)
	r := c.Apply().OK(t)
	if !r.Says("1 imported, 0 added, 0 changed, 0 destroyed") {
		text, _ := os.ReadFile(filepath.Join(c.Dir, "generated.tf"))
		t.Errorf("%s\n%s", r.Output, text)
	}
	if r := c.Plan(); r.Code != 0 {
		t.Errorf("the next plan is not empty:\n%s", r.Output)
	}
}
