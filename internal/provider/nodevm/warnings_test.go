package nodevm_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
)

func planSays(t *testing.T, c *tfcli.CLI, config string, want ...string) {
	t.Helper()
	c.Configure(config)
	r := c.Plan()
	for _, w := range want {
		if !r.Says(w) {
			t.Errorf("the plan does not say %q:\n%s", w, r.Output)
		}
	}
}

// The plan warns wherever an apply will restart a VM or change a hardware
// identity, and in every plan of what waits for a power cycle.
func TestAccNodeVM_warnsAtPlan(t *testing.T) {
	h := newHost(t)
	nic := func(mac string) string {
		return rootDisk + "nic {\n name = \"lan\"\n network = \"lab\"\n mac = \"" + mac + "\"\n }\n" + "nic {\n name = \"san\"\n network = \"lab\"\n }\n"
	}
	swapped := rootDisk + "nic {\n name = \"san\"\n network = \"lab\"\n }\n" + "nic {\n name = \"lan\"\n network = \"lab\"\n mac = \"52:54:00:00:00:01\"\n }\n"
	on := lab{host: h, power: "on", body: nic("52:54:00:00:00:01")}
	c := tfcli.New(t, on.hcl())
	c.Apply().OK(t)

	planSays(t, c, lab{host: h, power: "on", body: nic("52:54:00:00:00:02")}.hcl(),
		`MAC of nic "lan" of node_vm "n1" changes`, "From 52:54:00:00:00:01 to 52:54:00:00:00:02", "MAAS, DHCP servers")
	planSays(t, c, lab{host: h, power: "on", body: swapped}.hcl(), `The nic blocks of node_vm "n1" only change places`, "no MAC changes")
	planSays(t, c, lab{host: h, power: "on", memory: 80, body: nic("52:54:00:00:00:01") + "on_change = \"restart\"\n"}.hcl(),
		`node_vm "n1" will be restarted if it runs`, "memory_mib can only change at a power cycle")

	on.memory = 80
	c.Configure(on.hcl())
	c.Apply().OK(t)
	planSays(t, c, on.hcl(), `node_vm "n1" waits for a power cycle`, "memory_mib will be what the configuration says")
	planSays(t, c, on.hcl(), `node_vm "n1" waits for a power cycle`)

	xml := regexp.MustCompile(`52:54:00:00:00:01`).ReplaceAllString(h.Virsh("dumpxml", "--inactive", "n1"), "52:54:00:ff:ff:ff")
	xml = strings.Replace(xml, `mac="52:54:00:ff:ff:ff"`, `mac="52:54:00:00:00:01"`, 1) // the mark
	h.Virsh("define", acctest.XMLFile(t, xml))
	planSays(t, c, on.hcl(), `MAC of nic "lan" of node_vm "n1" has drifted`, "declared with 52:54:00:00:00:01 and has 52:54:00:ff:ff:ff now")
	c.Destroy().OK(t)
}

// Two states on one host: the second cannot take the first one's VM, and the
// first one's destroy works afterwards.
func TestAccNodeVM_twoStatesOnOneHost(t *testing.T) {
	h := newHost(t)
	first, second := tfcli.New(t, lab{host: h}.hcl()), tfcli.New(t, lab{host: h}.hcl())
	first.Apply().OK(t)
	if r := second.Apply(); r.Code == 0 || !r.Says("in no state known here") || !r.Says("terraform import") {
		t.Errorf("the second state's apply: exit code %d\n%s", r.Code, r.Output)
	}
	if r := second.Destroy(); r.Code != 0 {
		t.Errorf("the second state's destroy:\n%s", r.Output)
	}
	if r := first.Plan(); r.Code != 0 {
		t.Errorf("the first state's plan is not empty:\n%s", r.Output)
	}
	first.Destroy().OK(t)
	nothingLeft(t, h)
}

// A taint after the namespace has changed keeps the identity that the VM was
// born with.
func TestAccNodeVM_keepsIdentityThroughTaintInANewNamespace(t *testing.T) {
	h := newHost(t)
	c := tfcli.New(t, lab{host: h}.hcl())
	c.Apply().OK(t)
	c.Configure(lab{host: h, namespace: "lab-b"}.hcl())
	c.Run("taint", addr).OK(t)
	c.Apply().OK(t)
	vm := c.State().Instances("muster_node_vm")
	if len(vm) != 1 || vm[0].Attributes["macs"].(map[string]any)["lan"] != derived("n1", "lan") {
		t.Errorf("after the taint: %+v", vm)
	}
	c.Run("apply", "-auto-approve", "-input=false", "-replace="+addr).OK(t)
	vm = c.State().Instances("muster_node_vm")
	if len(vm) != 1 || vm[0].Attributes["macs"].(map[string]any)["lan"] != derived("n1", "lan") {
		t.Errorf("after the replacement: %+v", vm)
	}
	c.Destroy().OK(t)
}

// Values that are unknown at plan are planned as far as they can be, and a
// secret that is write-only is nowhere in the state.
func TestAccNodeVM_plansUnknowns(t *testing.T) {
	h := newHost(t)
	config := acctest.Provider(h.URI(), "lab-a") + `
resource "terraform_data" "net" {
  input = "lab"
}
resource "terraform_data" "nics" {
  input = ["a", "b"]
}
resource "muster_node_vm" "n1" {
  name             = "n1"
  memory_mib       = 64
  power            = "off"
  nic {
    name    = "lan"
    network = terraform_data.net.output
  }
  dynamic "nic" {
    for_each = terraform_data.nics.output
    content {
      name    = nic.value
      network = "lab"
    }
  }
  cloud_init {
    user_data_wo         = "#cloud-config\npassword: planted-secret\n"
    user_data_wo_version = 1
  }
}
`
	c := tfcli.New(t, config)
	c.Apply().OK(t)
	vm := c.State().Instances("muster_node_vm")
	if len(vm) != 1 || len(vm[0].Attributes["macs"].(map[string]any)) != 3 {
		t.Errorf("state: %+v", vm)
	}
	if r := c.Plan(); r.Code != 0 {
		t.Errorf("the next plan is not empty:\n%s", r.Output)
	}
	if r := c.Run("state", "pull"); r.Says("planted-secret") {
		t.Error("the write-only secret lies in the state")
	}
	c.Destroy().OK(t)
}
