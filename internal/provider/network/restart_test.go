package network_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// guestXML is a machine that does nothing, on the network with two NICs.
const guestXML = `<domain type='%s'><name>guest</name><memory unit='MiB'>64</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
<devices><controller type='usb' model='none'/>
<interface type='network'><mac address='52:54:00:aa:00:01'/><source network='lab'/><model type='virtio'/><mtu size='1300'/></interface>
<interface type='network'><mac address='52:54:00:aa:00:02'/><source network='lab'/><model type='virtio'/><link state='down'/></interface>
<memballoon model='none'/></devices></domain>`

// ports lists the devices on a bridge of the host.
func ports(h *libvirttest.Host, bridge string) string {
	out, err := h.Exec("ls", "/sys/class/net/"+bridge+"/brif")
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(out), " ")
}

func onBridge(h *libvirttest.Host, bridge string, want int) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if got := strings.Fields(ports(h, bridge)); len(got) != want {
			return fmt.Errorf("on bridge %s are %q, want %d", bridge, got, want)
		}
		return nil
	}
}

func links(h *libvirttest.Host, first, second string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		for mac, want := range map[string]string{"52:54:00:aa:00:01": first, "52:54:00:aa:00:02": second} {
			if got := h.Virsh("domif-getlink", "guest", mac); !strings.Contains(got, " "+want) {
				return fmt.Errorf("link of %s: %s, want %s", mac, got, want)
			}
		}
		return nil
	}
}

func startGuest(t *testing.T, h *libvirttest.Host) {
	h.Virsh("create", acctest.XMLFile(t, fmt.Sprintf(guestXML, h.DomainType())))
}

// A restart puts the NICs of running guests back, each with its link as it was.
func TestAccNetwork_restartWithGuests(t *testing.T) {
	h := libvirttest.Start(t)
	on := routed + "  on_change = \"restart\"\n"
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config(h.URI(), routed)},
		resource.TestStep{
			PreConfig: func() { startGuest(t, h) },
			Config:    config(h.URI(), on+"  mtu = 1400\n"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check:             resource.ComposeTestCheckFunc(runs(h, "mtu size='1400'"), onBridge(h, "lab0", 2), links(h, "up", "down")),
			ConfigStateChecks: []statecheck.StateCheck{pending()},
		},
		// Onto another bridge.
		resource.TestStep{
			Config: config(h.URI(), strings.Replace(on, "lab0", "lab1", 1)+"  mtu = 1400\n"),
			Check:  resource.ComposeTestCheckFunc(onBridge(h, "lab1", 2), links(h, "up", "down")),
		},
		// A definition that does not start: what ran before runs again.
		resource.TestStep{
			PreConfig: func() {
				if out, err := h.Exec("sh", "-c", "ip link add taken type bridge && ip addr add 10.55.0.1/24 dev taken && ip link set taken up"); err != nil {
					t.Fatal(out, err)
				}
			},
			Config:      config(h.URI(), strings.NewReplacer("lab0", "lab1", "10.44.0.1", "10.55.0.1").Replace(on)+"  mtu = 1400\n"),
			ExpectError: regexp.MustCompile(`runs\s+as\s+it\s+was\s+before`),
		},
		resource.TestStep{
			Config: config(h.URI(), strings.Replace(on, "lab0", "lab1", 1)+"  mtu = 1400\n"), ConfigPlanChecks: action(plancheck.ResourceActionNoop),
			Check: resource.ComposeTestCheckFunc(onBridge(h, "lab1", 2), links(h, "up", "down"), runs(h, "10.44.0.1")),
		},
		// With a guest on it, it is not removed.
		resource.TestStep{
			Config: config(h.URI(), strings.Replace(on, "lab0", "lab1", 1)+"  mtu = 1400\n  timeouts {\n    delete = \"5s\"\n  }\n"),
		},
		resource.TestStep{
			Config:  config(h.URI(), strings.Replace(on, "lab0", "lab1", 1)+"  mtu = 1400\n  timeouts {\n    delete = \"5s\"\n  }\n"),
			Destroy: true, ExpectError: regexp.MustCompile(`running\s+domains\s+are\s+on\s+it:\s+guest`),
		},
		resource.TestStep{
			PreConfig: func() { h.Virsh("destroy", "guest") },
			Config:    config(h.URI(), strings.Replace(on, "lab0", "lab1", 1)+"  mtu = 1400\n"),
		},
	))
	if out := strings.TrimSpace(h.Virsh("net-list", "--all", "--name")); out != "" {
		t.Errorf("left after destroy: %s", out)
	}
}

// A restart that was cut after the network came up is finished by the next
// apply.
func TestAccNetwork_restartCutShort(t *testing.T) {
	h := libvirttest.Start(t)
	p := libvirttest.NewProxy(t, h.Socket)
	on := routed + "  on_change = \"restart\"\n  mtu = 1400\n"
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config(p.URI(), routed)},
		resource.TestStep{
			PreConfig: func() {
				startGuest(t, h)
				p.SetRules(libvirttest.Rule{Proc: "DomainUpdateDeviceFlags", Nth: 2, Action: libvirttest.LoseReply})
			},
			Config: config(p.URI(), on), ExpectError: regexp.MustCompile(`attach\s+guests\s+again`),
		},
		resource.TestStep{
			PreConfig: func() { p.SetRules() },
			Config:    config(p.URI(), on), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check:             onBridge(h, "lab0", 2),
			ConfigStateChecks: []statecheck.StateCheck{pending()},
		},
		resource.TestStep{Config: config(p.URI(), on), ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
		resource.TestStep{PreConfig: func() { h.Virsh("destroy", "guest") }, Config: config(p.URI(), on)},
	))
	if out := strings.TrimSpace(h.Virsh("net-list", "--all", "--name")); out != "" {
		t.Errorf("left after destroy: %s", out)
	}
}

func TestAccNetwork_unreachable(t *testing.T) {
	h := libvirttest.Start(t)
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config(h.URI(), routed)},
		resource.TestStep{PreConfig: h.KillDaemon, Config: config(h.URI(), routed), PlanOnly: true},
		resource.TestStep{PreConfig: h.StartDaemon, Config: config(h.URI(), routed), ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
	))
}

// Two states, one name: the second is refused, and adopts only when told; then
// the first one's destroy leaves the network alone.
func TestAccNetwork_twoStates(t *testing.T) {
	h := libvirttest.Start(t)
	first := config(h.URI(), routed)
	other := strings.ReplaceAll(first, `"lab" {`, `"twin" {`)
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: first},
		resource.TestStep{
			Config:      first + strings.SplitN(other, "}\n}\n", 2)[1],
			ExpectError: regexp.MustCompile(`(?s)is\s+in\s+no\s+state\s+known\s+here|completed\s+by\s+an\s+apply`),
		},
		resource.TestStep{Config: first, ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
	))
}

// A create that fails in the middle is tainted, and the next apply makes the
// network anew with the same UUID.
func TestAccNetwork_createFailsInTheMiddle(t *testing.T) {
	h := libvirttest.Start(t)
	p := libvirttest.NewProxy(t, h.Socket)
	var uuid string
	resource.Test(t, acctest.Case(
		resource.TestStep{
			PreConfig: func() {
				p.SetRules(libvirttest.Rule{Proc: "NetworkCreate", Nth: 1, Action: libvirttest.Error, Code: 1, Message: "the rack is on fire"})
			},
			Config: config(p.URI(), routed), ExpectError: regexp.MustCompile(`the\s+rack\s+is\s+on\s+fire`),
		},
		resource.TestStep{
			PreConfig: func() { p.SetRules(); uuid = h.Virsh("net-uuid", "lab") },
			Config:    config(p.URI(), routed), ConfigPlanChecks: action(plancheck.ResourceActionReplace),
			Check: func(*terraform.State) error {
				if got := h.Virsh("net-uuid", "lab"); got != uuid || strings.TrimSpace(uuid) == "" {
					return fmt.Errorf("uuid %s, was %s", got, uuid)
				}
				return nil
			},
		},
		// A daemon that falls silent ends the plan in time, with the state kept.
		resource.TestStep{
			PreConfig: func() { p.SetRules(libvirttest.Rule{Action: libvirttest.Silence}) },
			Config:    config(p.URI(), routed), PlanOnly: true,
		},
		resource.TestStep{PreConfig: func() { p.SetRules() }, Config: config(p.URI(), routed), ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
	))
}

// create_before_destroy with one name: the new one is refused, the old stays.
func TestAccNetwork_createBeforeDestroy(t *testing.T) {
	h := libvirttest.Start(t)
	with := func(token string) string {
		return config(h.URI(), routed+`
  lifecycle {
    create_before_destroy = true
    replace_triggered_by  = [terraform_data.token]
  }`) + fmt.Sprintf("resource \"terraform_data\" \"token\" {\n  triggers_replace = %q\n}\n", token)
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: with("1")},
		resource.TestStep{Config: with("2"), ExpectError: regexp.MustCompile(`completed\s+by\s+an\s+apply`)},
		resource.TestStep{Config: with("2"), PlanOnly: true, ExpectNonEmptyPlan: true, Check: runs(h, "lab0")},
	))
}
