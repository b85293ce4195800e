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
	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	addr       = "muster_node_vm.n1"
	networkXML = `<network><name>lab</name><bridge name='lab0' stp='off'/></network>`
	otherXML   = `<network><name>other</name><bridge name='other0' stp='off'/></network>`
)

func newHost(t *testing.T) *libvirttest.Host {
	h := libvirttest.Start(t)
	acctest.DefineNetwork(t, h, networkXML)
	return h
}

// lab is a configuration of one VM on a host; the fields are HCL.
type lab struct {
	host      *libvirttest.Host
	namespace string
	name      string // default n1
	memory    int    // default 64
	power     string // default off
	body      string // more arguments and blocks; default: one disk, one NIC
	rest      string // more resources
}

const (
	rootDisk = "\n  disk {\n    name = \"root\"\n    size_mib = 8\n  }\n"
	lanNIC   = "\n  nic {\n    name = \"lan\"\n    network = \"lab\"\n  }\n"
)

func (l lab) hcl() string {
	if l.namespace == "" {
		l.namespace = "lab-a"
	}
	if l.name == "" {
		l.name = "n1"
	}
	if l.memory == 0 {
		l.memory = 64
	}
	if l.power == "" {
		l.power = "off"
	}
	if l.body == "" {
		l.body = rootDisk + lanNIC
	}
	return acctest.Provider(l.host.URI(), l.namespace) + fmt.Sprintf(`
resource "muster_node_vm" "n1" {
  name             = %q
  memory_mib       = %d
  power            = %q
  shutdown_timeout = "1s"
  %s
}
%s
`, l.name, l.memory, l.power, l.body, l.rest)
}

func derived(vm, nic string) string {
	return hwaddr.DeriveMAC(hwaddr.Prefix{}, "lab-a", vm, nic).String()
}

func action(a plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(addr, a)}}
}

func sameIdentity() resource.TestCheckFunc {
	return resource.ComposeAggregateTestCheckFunc(
		resource.TestCheckResourceAttr(addr, "macs.lan", derived("n1", "lan")),
		resource.TestCheckResourceAttr(addr, "id", hwaddr.DeriveUUID("lab-a", "n1")),
	)
}

// onHost checks the domain's persistent definition.
func onHost(h *libvirttest.Host, want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		xml, err := h.TryVirsh("dumpxml", "--inactive", "n1")
		if err != nil {
			return err
		}
		for _, w := range want {
			if !strings.Contains(xml, w) {
				return fmt.Errorf("the definition has no %q:\n%s", w, xml)
			}
		}
		return nil
	}
}

func TestAccNodeVM_createsUpdatesAndDestroys(t *testing.T) {
	h := newHost(t)
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h}.hcl(), Check: sameIdentity()},
		resource.TestStep{
			Config: lab{host: h, memory: 96}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(sameIdentity(), onHost(h, "<memory unit='KiB'>98304</memory>")),
		},
		resource.TestStep{
			ResourceName: addr, ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"shutdown_timeout"}, // a setting that no host knows
		},
	))
	for _, pool := range []string{"default", "muster-console"} {
		if out := h.Virsh("vol-list", pool); strings.Contains(out, "n1") || strings.Contains(out, ".log") {
			t.Errorf("destroy left volumes in pool %s:\n%s", pool, out)
		}
	}
}

// Cases 1, 7, 25: identity outlives update, taint, replacement and a changed
// namespace.
func TestAccNodeVM_keepsIdentity(t *testing.T) {
	h := newHost(t)
	second := rootDisk + "\n  disk {\n    name = \"data\"\n    size_mib = 8\n  }\n" + lanNIC
	renamed := resource.TestCheckResourceAttr(addr, "macs.lan", derived("n1", "lan"))
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h}.hcl(), Check: sameIdentity()},
		resource.TestStep{Config: lab{host: h, body: second}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: sameIdentity()},
		resource.TestStep{Config: lab{host: h, body: second}.hcl(), Taint: []string{addr}, Check: sameIdentity()},
		resource.TestStep{Config: lab{host: h, namespace: "lab-b", body: second}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: sameIdentity()},
		resource.TestStep{
			Config: lab{host: h, namespace: "lab-b", name: "n2", body: second}.hcl(), Check: renamed,
			ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
		},
	))
}

// A VM edited behind Terraform's back keeps all of it, and the foreign NIC is
// listed.
func TestAccNodeVM_keepsForeignEdits(t *testing.T) {
	h := newHost(t)
	edit := func() {
		xml := h.Virsh("dumpxml", "--inactive", "n1")
		xml = strings.Replace(xml, "<metadata>", "<title>rack 7</title><metadata><tool:x xmlns:tool='http://tool.example/1'>keep</tool:x>", 1)
		xml = strings.Replace(xml, "</devices>", `<rng model='virtio'><backend model='random'>/dev/random</backend></rng>
<watchdog model='i6300esb' action='reset'/>
<hostdev mode='subsystem' type='usb' managed='yes'><source startupPolicy='optional'><vendor id='0x1234'/><product id='0xbeef'/></source></hostdev>
<interface type='network'><mac address='52:54:00:00:00:99'/><source network='lab'/><model type='e1000e'/></interface></devices>`, 1)
		xml = regexp.MustCompile(`machine='pc-q35-[^']*'`).ReplaceAllString(xml, "machine='pc-q35-5.2'")
		h.Virsh("define", acctest.XMLFile(t, xml))
	}
	foreign := onHost(h, "<title>rack 7</title>", "<tool:x", ">keep<", "/dev/random<", "i6300esb", "0xbeef", "52:54:00:00:00:99", "pc-q35-5.2")
	wide := rootDisk + "\n  console {\n    enabled = false\n  }\n  nic {\n    name = \"lan\"\n    network = \"lab\"\n    mtu = 1400\n  }\n"
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h}.hcl(), Check: sameIdentity()},
		resource.TestStep{PreConfig: edit, Config: lab{host: h}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: foreign},
		resource.TestStep{
			Config: lab{host: h, memory: 80, body: wide}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(sameIdentity(), foreign, onHost(h, "<mtu size='1400'/>", ">81920<"),
				resource.TestMatchResourceAttr(addr, "unmanaged.#", regexp.MustCompile("^[5-9]$")),
				resource.TestCheckTypeSetElemAttr(addr, "unmanaged.*", "nic 52:54:00:00:00:99 (network lab)")),
		},
	))
}

// The incident: somebody re-defines the domain without its MAC. One apply
// repairs it.
func TestAccNodeVM_repairsDriftedMAC(t *testing.T) {
	for name, lose := range map[string]func(string) string{
		"mark kept": func(xml string) string { return xml },
		"mark lost": func(xml string) string {
			return regexp.MustCompile(`(?s)<metadata>.*</metadata>`).ReplaceAllString(xml, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			redefine := func() {
				xml := regexp.MustCompile(`<mac address='[^']*'/>`).ReplaceAllString(h.Virsh("dumpxml", "--inactive", "n1"), "")
				h.Virsh("define", acctest.XMLFile(t, lose(xml)))
			}
			resource.Test(t, acctest.Case(
				resource.TestStep{Config: lab{host: h}.hcl(), Check: sameIdentity()},
				resource.TestStep{
					PreConfig: redefine, Config: lab{host: h}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
					Check: resource.ComposeAggregateTestCheckFunc(sameIdentity(), onHost(h, derived("n1", "lan")), oneNIC(h)),
				},
			))
		})
	}
}

func oneNIC(h *libvirttest.Host) resource.TestCheckFunc {
	return func(*terraform.State) error {
		xml := h.Virsh("dumpxml", "--inactive", "n1")
		if n := strings.Count(xml, "<interface "); n != 1 {
			return fmt.Errorf("%d interfaces, want 1:\n%s", n, xml)
		}
		return nil
	}
}
