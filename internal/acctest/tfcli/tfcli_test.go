package tfcli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
)

// A provider that is configured and asked to validate: nothing is dialled.
const offline = `
provider "muster" {
  libvirt {
    uri = "qemu+unix:///system?socket=/nonexistent"
  }
  identity {
    namespace = "lab-a"
  }
}
`

func TestCLI_runsTheBuiltProvider(t *testing.T) {
	c := tfcli.New(t, offline+`
resource "muster_node_vm" "n1" {
  name       = "n1"
  memory_mib = 1
}
`)
	r := c.Run("validate", "-no-color")
	if r.Code != 1 || !r.Says("memory_mib value must be between") {
		t.Errorf("exit code %d\n%s", r.Code, r.Output)
	}
	if r.Provider.Processes == 0 || r.Provider.PeakRSS < 1<<20 || r.Terraform.PeakRSS < 1<<20 || r.PeakTogether < r.Terraform.PeakRSS {
		t.Errorf("measured %+v", r)
	}
	if r.Terraform.CPU <= 0 || r.Provider.CPU <= 0 || r.Terraform.CPU+r.Provider.CPU > 10*r.Wall {
		t.Errorf("CPU time: terraform %s, provider %s in %s", r.Terraform.CPU, r.Provider.CPU, r.Wall)
	}
}

func TestCLI_keepsAState(t *testing.T) {
	c := tfcli.New(t, `resource "terraform_data" "a" { input = "x" }`)
	if r := c.Plan(); r.Code != 2 {
		t.Fatalf("plan: exit code %d\n%s", r.Code, r.Output)
	}
	c.Apply().OK(t)
	if r := c.Plan(); r.Code != 0 {
		t.Fatalf("plan after apply: exit code %d\n%s", r.Code, r.Output)
	}
	found := c.State().Instances("terraform_data")
	if len(found) != 1 || found[0].Attributes["input"].(map[string]any)["value"] != "x" || c.State().Size == 0 {
		t.Errorf("state: %+v", found)
	}
	if c.ShowJSON()["values"] == nil {
		t.Error("show -json has no values")
	}
	c.Destroy().OK(t)
	if len(c.State().Resources) != 0 {
		t.Error("resources left")
	}
}

func TestProcess_interrupt(t *testing.T) {
	c := tfcli.New(t, `
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "trap '' INT; touch begun; exec sleep 60"
  }
}`)
	p := c.Start("apply", "-auto-approve", "-no-color")
	await(t, func() bool { _, err := os.Stat(filepath.Join(c.Dir, "begun")); return err == nil })
	p.Interrupt()
	r := p.Wait()
	if r.Code == 0 || r.Wall > 30*time.Second || !strings.Contains(r.Output, "Interrupt received") {
		t.Errorf("exit code %d after %s\n%s", r.Code, r.Wall, r.Output)
	}
	if in := c.State().Instances("terraform_data"); len(in) != 1 || !in[0].Tainted() {
		t.Errorf("state: %+v", in)
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not come")
		}
	}
}
