package nodevm_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func inState(h *libvirttest.Host, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		out, err := h.TryVirsh("domstate", "n1")
		if err != nil {
			return err
		}
		if got := strings.TrimSpace(out); got != want {
			return fmt.Errorf("the domain is %q, want %q", got, want)
		}
		return nil
	}
}

// Case 4: on starts, off stops, drift shows, and a paused VM is neither.
func TestAccNodeVM_powerState(t *testing.T) {
	h := newHost(t)
	on, off := lab{host: h, power: "on"}.hcl(), lab{host: h, power: "off"}.hcl()
	virsh := func(args ...string) func() { return func() { h.Virsh(args...) } }
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: on, Check: inState(h, "running")},
		resource.TestStep{PreConfig: virsh("destroy", "n1"), Config: on, ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: inState(h, "running")},
		resource.TestStep{PreConfig: virsh("suspend", "n1"), Config: on, ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: inState(h, "running")},
		resource.TestStep{Config: off, ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: inState(h, "shut off")},
		resource.TestStep{PreConfig: virsh("start", "n1"), Config: off, ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: inState(h, "shut off")},
	))
}

// A VM that boots from the network is external by default, and its power is
// nobody's business but MAAS's.
func TestAccNodeVM_externalPower(t *testing.T) {
	h := newHost(t)
	config := acctest.Provider(h.URI(), "lab-a") + `
resource "muster_node_vm" "n1" {
  name             = "n1"
  memory_mib       = 64
  shutdown_timeout = "0s"
  boot {
    order = ["network", "disk"]
  }
` + rootDisk + lanNIC + "}\n"
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config, Check: resource.ComposeAggregateTestCheckFunc(inState(h, "shut off"), resource.TestCheckResourceAttr(addr, "power", "external"))},
		resource.TestStep{PreConfig: func() { h.Virsh("start", "n1") }, Config: config, ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: inState(h, "running")},
	))
}

// Cases 6, 19, 25: what needs a power cycle is pending until it happened, or is
// resolved by a restart that was asked for; the MAC stays.
func TestAccNodeVM_pendingRestart(t *testing.T) {
	h := newHost(t)
	config := func(memory int, onChange string) string {
		return lab{host: h, memory: memory, power: "on", body: fmt.Sprintf("  on_change = %q\n", onChange) + rootDisk + lanNIC}.hcl()
	}
	pending := func(want ...string) resource.TestCheckFunc {
		checks := []resource.TestCheckFunc{sameIdentity(), resource.TestCheckResourceAttr(addr, "pending_restart.#", fmt.Sprint(len(want)))}
		for _, w := range want {
			checks = append(checks, resource.TestCheckTypeSetElemAttr(addr, "pending_restart.*", w))
		}
		return resource.ComposeAggregateTestCheckFunc(checks...)
	}
	liveMemory := func(kib string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if xml := h.Virsh("dumpxml", "n1"); !strings.Contains(xml, "<memory unit='KiB'>"+kib+"<") {
				return fmt.Errorf("live memory is not %s KiB", kib)
			}
			return nil
		}
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config(64, "defer"), Check: pending()},
		resource.TestStep{Config: config(80, "defer"), Check: resource.ComposeAggregateTestCheckFunc(pending("memory_mib"), liveMemory("65536"))},
		resource.TestStep{Config: config(80, "defer"), ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: pending("memory_mib")},
		resource.TestStep{Config: config(80, "restart"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: resource.ComposeAggregateTestCheckFunc(pending(), liveMemory("81920"))},
		resource.TestStep{Config: config(96, "restart"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: resource.ComposeAggregateTestCheckFunc(pending(), liveMemory("98304"))},
	))
}

// What can be plugged while the VM runs is plugged.
func TestAccNodeVM_changesLive(t *testing.T) {
	h := newHost(t)
	acctest.DefineNetwork(t, h, otherXML)
	second := "\n  nic {\n    name = \"san\"\n    network = \"lab\"\n  }\n  disk {\n    name = \"data\"\n    size_mib = 8\n  }\n"
	moved := "\n  nic {\n    name = \"lan\"\n    network = \"other\"\n    link = \"down\"\n  }\n"
	live := func(want ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			xml := h.Virsh("dumpxml", "n1")
			for _, w := range want {
				if !strings.Contains(xml, w) {
					return fmt.Errorf("the live definition has no %q:\n%s", w, xml)
				}
			}
			return nil
		}
	}
	none := resource.TestCheckResourceAttr(addr, "pending_restart.#", "0")
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h, power: "on"}.hcl(), Check: none},
		resource.TestStep{
			Config: lab{host: h, power: "on", body: rootDisk + lanNIC + second}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(none, live(derived("n1", "san"), "n1-data-"), sameIdentity()),
		},
		resource.TestStep{
			Config: lab{host: h, power: "on", body: rootDisk + moved + second}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(none, live("network='other'", "<link state='down'/>"), sameIdentity()),
		},
	))
}

// Case 10: a disk grows, running or not, and never shrinks.
func TestAccNodeVM_growsDisks(t *testing.T) {
	h := newHost(t)
	config := func(power string, size int) string {
		return lab{host: h, power: power, body: fmt.Sprintf("disk {\n    name = \"root\"\n    size_mib = %d\n  }\n", size) + lanNIC}.hcl()
	}
	capacity := func(want string) resource.TestCheckFunc {
		return func(s *terraform.State) error {
			if out := h.Virsh("domblkinfo", "n1", "vda"); !strings.Contains(out, want) {
				return fmt.Errorf("capacity is not %s:\n%s", want, out)
			}
			return nil
		}
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config("off", 8), Check: capacity("8388608")},
		resource.TestStep{Config: config("off", 16), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: capacity("16777216")},
		resource.TestStep{Config: config("on", 16), Check: inState(h, "running")},
		resource.TestStep{Config: config("on", 24), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: capacity("25165824")},
		resource.TestStep{Config: config("on", 8), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)has 24 MiB and would\s+shrink to 8 MiB`)},
	))
}
