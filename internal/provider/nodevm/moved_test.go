package nodevm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
)

// A `moved` block takes over a libvirt_domain of each state format that is in
// use, with its UUID and MACs, and the plan changes nothing.
func TestAccNodeVM_movesLibvirtDomain(t *testing.T) {
	rc := movedConfig(t)
	for version, attributes := range map[string]string{
		"0.7": `{"id": "%s", "uuid": null, "name": "old"}`,
		"0.8": `{"id": "%s", "name": "old", "arch": "x86_64", "cpu": [{"mode": "host-passthrough"}], "network_interface": [{"network_name": "lab", "mac": ""}]}`,
		"0.9": `{"id": 7, "uuid": "%s", "name": "old", "devices": {"interfaces": []}}`,
	} {
		t.Run(version, func(t *testing.T) {
			h := newHost(t)
			h.Virsh("define", acctest.XMLFile(t, `<domain type='qemu'><name>old</name><memory unit='MiB'>64</memory><os><type machine='q35'>hvm</type></os><cpu mode='maximum'/>
<devices><interface type='network'><mac address='52:54:00:00:00:61'/><source network='lab'/><model type='virtio'/></interface></devices></domain>`))
			uuid := strings.TrimSpace(h.Virsh("domuuid", "old"))
			c := tfcli.New(t, "", "TF_CLI_CONFIG_FILE="+rc)
			config := `
terraform {
  required_providers {
    muster  = { source = "musterlab/muster" }
    libvirt = { source = "dmacvicar/libvirt" }
  }
}
moved {
  from = libvirt_domain.old
  to   = muster_node_vm.n1
}
` + acctest.Provider(h.URI(), "lab-a") + `
resource "muster_node_vm" "n1" {
  name             = "old"
  memory_mib       = 64
  power            = "off"
  shutdown_timeout = "0s"
  boot {
    order = ["network", "disk"]
  }
  console {
    enabled = false
  }
  nic {
    name    = "lan"
    network = "lab"
  }
}
`
			state := fmt.Sprintf(`{"version": 4, "terraform_version": "1.11.0", "serial": 1, "lineage": "a", "outputs": {}, "resources": [
{"mode": "managed", "type": "libvirt_domain", "name": "old", "provider": "provider[\"registry.terraform.io/dmacvicar/libvirt\"]",
"instances": [{"schema_version": 0, "attributes": %s}]}]}`, fmt.Sprintf(attributes, uuid))
			for file, text := range map[string]string{"main.tf": config, "terraform.tfstate": state} {
				if err := os.WriteFile(filepath.Join(c.Dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := c.Apply().OK(t)
			if r.Says("must be replaced") || r.Says("will be destroyed") {
				t.Errorf("the move is not one:\n%s", r.Output)
			}
			vm := c.State().Instances("muster_node_vm")
			if len(vm) != 1 || vm[0].Attributes["id"] != uuid || fmt.Sprint(vm[0].Attributes["macs"]) != "map[lan:52:54:00:00:00:61]" {
				t.Fatalf("state: %+v\n%s", vm, r.Output)
			}
			if r := c.Plan(); r.Code != 0 {
				t.Errorf("the next plan is not empty:\n%s", r.Output)
			}
			c.Destroy().OK(t)
		})
	}
}

// movedConfig writes a CLI configuration with the provider under test and a
// stub where the domain comes from.
func movedConfig(t *testing.T) string {
	binary, err := tfcli.Binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "terraform-provider-libvirt"), "github.com/musterlab/terraform-provider-muster/internal/acctest/stublibvirt")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rc := filepath.Join(dir, "cli.tfrc")
	text := fmt.Sprintf("provider_installation {\n dev_overrides {\n %q = %q\n %q = %q\n }\n direct {}\n}\n", "musterlab/muster", filepath.Dir(binary), "dmacvicar/libvirt", dir)
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return rc
}
