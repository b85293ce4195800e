package network_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const addr = "muster_network.lab"

func config(uri, body string) string {
	return acctest.Provider(uri, "lab-a") + "resource \"muster_network\" \"lab\" {\n  name = \"lab\"\n" + body + "\n}\n"
}

const routed = `
  mode    = "route"
  bridge  = "lab0"
  address = "10.44.0.1/24"
  domain  = "lab.test"
`

const leases = `
  dhcp {
    range {
      start = "10.44.0.100"
      end   = "10.44.0.199"
    }
    host {
      mac  = "52:54:00:AA:00:01"
      name = "one"
      ip   = "10.44.0.11"
    }
%s
  }
`

func dhcp(more string) string { return fmt.Sprintf(leases, more) }

func action(a plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(addr, a)}}
}

// defined checks the definition on the host.
func defined(h *libvirttest.Host, want ...string) resource.TestCheckFunc {
	return contains(func() string { return h.Virsh("net-dumpxml", "lab", "--inactive") }, want)
}

// runs checks what runs on the host.
func runs(h *libvirttest.Host, want ...string) resource.TestCheckFunc {
	return contains(func() string { return h.Virsh("net-dumpxml", "lab") }, want)
}

// contains checks for texts; one that begins with ! must not be there.
func contains(read func() string, want []string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		xml := read()
		for _, w := range want {
			text, not := strings.CutPrefix(w, "!")
			if strings.Contains(xml, text) == not {
				return fmt.Errorf("the definition does not fit %q:\n%s", w, xml)
			}
		}
		return nil
	}
}

func bridgeMAC(h *libvirttest.Host) string {
	m := regexp.MustCompile(`<mac address='([^']+)'/>`).FindStringSubmatch(h.Virsh("net-dumpxml", "lab", "--inactive"))
	if m == nil {
		return ""
	}
	return m[1]
}

func pending(want ...string) statecheck.StateCheck {
	values := make([]knownvalue.Check, len(want))
	for i, w := range want {
		values[i] = knownvalue.StringExact(w)
	}
	return statecheck.ExpectKnownValue(addr, tfjsonpath.New("pending_restart"), knownvalue.ListExact(values))
}

func TestAccNetwork_lifecycle(t *testing.T) {
	h := libvirttest.Start(t)
	var mac string
	two := `
    host {
      mac = "52:54:00:aa:00:02"
      ip  = "10.44.0.12"
    }`
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config: config(h.URI(), routed+dhcp("")),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectKnownValue(addr, tfjsonpath.New("id"), knownvalue.NotNull()),
			}},
			Check: resource.ComposeTestCheckFunc(
				runs(h, "lab.test", "10.44.0.100", "52:54:00:aa:00:01", "mode='route'"),
				resource.TestCheckResourceAttr(addr, "active", "true"),
				resource.TestCheckResourceAttr(addr, "dhcp.0.host.0.mac", "52:54:00:AA:00:01"),
				func(*terraform.State) error { mac = bridgeMAC(h); return nil },
			),
			ConfigStateChecks: []statecheck.StateCheck{pending()},
		},
		resource.TestStep{
			Config: config(h.URI(), routed+dhcp("")), ConfigPlanChecks: action(plancheck.ResourceActionNoop),
			Check: defined(h, `complete="yes"`),
		},
		// Hosts and ranges in place, in the running network too.
		resource.TestStep{
			Config: config(h.URI(), routed+dhcp(two)), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check:             resource.ComposeTestCheckFunc(runs(h, "10.44.0.12"), defined(h, "10.44.0.12")),
			ConfigStateChecks: []statecheck.StateCheck{pending()},
		},
		resource.TestStep{
			Config: config(h.URI(), strings.ReplaceAll(routed+dhcp(two), "10.44.0.100", "10.44.0.50")),
			Check:  resource.ComposeTestCheckFunc(runs(h, "10.44.0.50", "!10.44.0.100"), defined(h, "10.44.0.50", "!10.44.0.100")),
		},
		// What others add stays, and is listed.
		resource.TestStep{
			PreConfig: func() {
				h.Virsh("net-update", "lab", "add", "ip-dhcp-host", "<host mac='52:54:00:bb:00:01' ip='10.44.0.33'/>", "--live", "--config")
			},
			Config: config(h.URI(), routed+dhcp("")+"\n  dns {\n    host {\n      ip = \"10.44.0.9\"\n      hostnames = [\"nine\"]\n    }\n  }\n"),
			Check: resource.ComposeTestCheckFunc(
				runs(h, "10.44.0.33", "nine", "!10.44.0.12"),
				resource.TestCheckResourceAttr(addr, "unmanaged.0", "dhcp.host 52:54:00:bb:00:01 10.44.0.33"),
			),
			ConfigStateChecks: []statecheck.StateCheck{pending()},
		},
		resource.TestStep{
			ResourceName: addr, ImportState: true, ImportStateId: "lab", ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"timeouts", "unmanaged", "dhcp", "adopt_existing"},
		},
		// MTU: deferred, then a restart is asked for.
		resource.TestStep{
			Config:            config(h.URI(), routed+dhcp("")+"  mtu = 1400\n"),
			Check:             resource.ComposeTestCheckFunc(defined(h, "mtu size='1400'"), runs(h, "!1400")),
			ConfigStateChecks: []statecheck.StateCheck{pending("mtu")},
		},
		resource.TestStep{
			Config: config(h.URI(), routed+dhcp("")+"  mtu = 1400\n  on_change = \"restart\"\n"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check:             runs(h, "mtu size='1400'"),
			ConfigStateChecks: []statecheck.StateCheck{pending()},
		},
		// Stopped behind Terraform's back: started again.
		resource.TestStep{
			PreConfig: func() { h.Virsh("net-destroy", "lab") },
			Config:    config(h.URI(), routed+dhcp("")+"  mtu = 1400\n  on_change = \"restart\"\n"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.TestCheckResourceAttr(addr, "active", "true"),
		},
		// Removed behind Terraform's back: the same network again.
		resource.TestStep{
			PreConfig: func() { h.Virsh("net-destroy", "lab"); h.Virsh("net-undefine", "lab") },
			Config:    config(h.URI(), routed+dhcp("")), ConfigPlanChecks: action(plancheck.ResourceActionCreate),
			Check: func(*terraform.State) error {
				if got := bridgeMAC(h); got != mac || mac == "" {
					return fmt.Errorf("the bridge's MAC is %s, was %s", got, mac)
				}
				return nil
			},
		},
	))
	if out := h.Virsh("net-list", "--all", "--name"); strings.TrimSpace(out) != "" {
		t.Errorf("left after destroy: %s", out)
	}
}

// A definition keeps what this provider does not know, through every change.
func TestAccNetwork_keepsWhatOthersDefined(t *testing.T) {
	h := libvirttest.Start(t)
	foreign := `<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>lab</name><metadata><x:y xmlns:x='urn:other'>kept</x:y></metadata>
  <forward mode='route'/><bridge name='lab0' stp='off' delay='3'/>
  <dns><txt name='t' value='v'/></dns>
  <ip address='10.44.0.1' netmask='255.255.255.0'/><ip family='ipv6' address='fd00:44::1' prefix='64'/>
  <dnsmasq:options><dnsmasq:option value='cache-size=7'/></dnsmasq:options></network>`
	kept := []string{"urn:other", "delay='3'", "name='t'", "fd00:44::1", "cache-size=7"}
	body := "  mode = \"route\"\n  bridge = \"lab0\"\n  address = \"10.44.0.1/24\"\n  adopt_existing = true\n"
	resource.Test(t, acctest.Case(
		resource.TestStep{
			PreConfig: func() { h.Virsh("net-define", acctest.XMLFile(t, foreign)) },
			Config:    config(h.URI(), strings.Replace(body, "true", "false", 1)), ExpectError: regexp.MustCompile(`not\s+made\s+by\s+this\s+provider`),
		},
		resource.TestStep{
			Config: config(h.URI(), body+"  dns {\n  }\n"), Check: defined(h, kept...),
		},
		resource.TestStep{
			Config: config(h.URI(), body+"  mtu = 1450\n"+dhcp("")), Check: defined(h, append(kept, "1450", "10.44.0.100")...),
		},
	))
}

func TestAccNetwork_import(t *testing.T) {
	h := libvirttest.Start(t)
	xml := `<network><name>lab</name><forward mode='nat'/><bridge name='lab0'/><ip address='10.44.0.1' prefix='24'><dhcp><range start='10.44.0.5' end='10.44.0.9'/></dhcp></ip></network>`
	h.Virsh("net-define", acctest.XMLFile(t, xml))
	h.Virsh("net-start", "lab")
	body := "  mode = \"nat\"\n  bridge = \"lab0\"\n  address = \"10.44.0.1/24\"\n  autostart = false\n  dhcp {\n    range {\n      start = \"10.44.0.5\"\n      end = \"10.44.0.9\"\n    }\n  }\n"
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config(h.URI(), body), ResourceName: addr, ImportState: true, ImportStateId: "lab @ " + h.URI(), ImportStatePersist: true},
		resource.TestStep{Config: config(h.URI(), body), ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
	))
}

func TestAccNetwork_modes(t *testing.T) {
	h := libvirttest.Start(t)
	if out, err := h.Exec("ip", "link", "add", "br-host", "type", "bridge"); err != nil {
		t.Fatal(out, err)
	}
	restart := "  on_change = \"restart\"\n"
	resource.Test(t, acctest.Case(
		resource.TestStep{
			Config: config(h.URI(), "  mode = \"isolated\"\n  address = \"10.44.0.1/24\"\n"+restart),
			Check:  runs(h, "!<forward", "dns enable='no'", "!<dhcp"),
		},
		resource.TestStep{
			Config: config(h.URI(), "  mode = \"bridge\"\n  bridge = \"br-host\"\n"+restart), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: runs(h, "mode='bridge'", "br-host", "!<ip "),
		},
		resource.TestStep{
			Config: config(h.URI(), "  mode = \"open\"\n  address = \"10.44.0.1/24\"\n"+dhcp("")+restart), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: runs(h, "mode='open'", "!br-host", "10.44.0.100", "!enable='no'"),
		},
		resource.TestStep{
			Config: config(h.URI(), "  mode = \"nat\"\n  address = \"10.44.0.1/24\"\n"+strings.Replace(dhcp(""), "dhcp {", "dhcp {\n    ping_check = false", 1)+
				"  bootp {\n    file = \"boot.ipxe\"\n    server = \"10.44.0.2\"\n  }\n  dns {\n    forwarder {\n      address = \"10.9.9.9\"\n      domain = \"corp.test\"\n    }\n  }\n"+restart),
			Check: runs(h, "mode='nat'", "no-ping", "boot.ipxe", "10.9.9.9"),
		},
		resource.TestStep{
			Config: config(h.URI(), "  mode = \"nat\"\n  address = \"10.44.0.1/24\"\n"+dhcp("")+restart),
			Check:  runs(h, "!no-ping", "!boot.ipxe", "!10.9.9.9"),
		},
	))
}

func TestAccNetwork_refusals(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"bridge needs a name": {"  mode = \"bridge\"\n", `needs the name`},
		"bridge takes no mtu": {"  mode = \"bridge\"\n  bridge = \"br0\"\n  mtu = 1500\n", `has\s+no\s+meaning`},
		"dhcp needs address":  {"  mode = \"nat\"\n" + dhcp(""), `dhcp\s+block\s+needs`},
		"range outside":       {strings.Replace(routed+dhcp(""), "10.44.0.199", "10.45.0.1", 1), `outside\s+the\s+network`},
		"host outside":        {strings.Replace(routed+dhcp(""), "10.44.0.11", "10.45.0.1", 1), `outside\s+the\s+network`},
		"host twice":          {routed + dhcp("host {\n mac = \"52:54:00:aa:00:01\"\n ip = \"10.44.0.12\"\n}"), `host\s+block\s+1`},
		"mtu too small":       {routed + "  mtu = 67\n", `between\s+68\s+and\s+65535`},
		"subnet's address":    {"  mode = \"nat\"\n  address = \"10.44.0.0/24\"\n", `broadcast`},
		"multicast mac":       {strings.Replace(routed+dhcp(""), "52:54:00:AA:00:01", "01:00:00:00:00:01", 1), `multicast`},
		"unknown key":         {routed + "  mtuu = 1400\n", `Unsupported argument`},
		"bootp without dhcp":  {routed + "  bootp {\n    file = \"x\"\n  }\n", `bootp\s+block\s+needs`},
	} {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, acctest.Case(resource.TestStep{
				Config: config("qemu+unix:///system?socket=/nonexistent", c.body), PlanOnly: true, ExpectError: regexp.MustCompile(c.want),
			}))
		})
	}
}
