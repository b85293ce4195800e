package nodevm_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
	"github.com/musterlab/terraform-provider-muster/internal/testguest"
)

var buildGuest = sync.OnceValues(func() (testguest.Files, error) { return testguest.Build(context.Background()) })

// guestLab is a VM that really boots, on a network with DHCP.
type guestLab struct {
	host     *libvirttest.Host
	seed     string // directives for the guest
	ready    string
	body     string
	settings string // top-level arguments
	nic      string // arguments of the nic
}

func (l guestLab) hcl(t *testing.T) string {
	guest, err := buildGuest()
	if err == nil { // where QEMU may read it, whoever it runs as
		guest, err = guest.Install(filepath.Join(l.host.Dir, "guest"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return acctest.Provider(l.host.URI(), "lab-a") + fmt.Sprintf(`
resource "muster_network" "lab" {
  name    = "lab"
  mode    = "isolated"
  mtu     = 9000
  address = "10.78.0.1/24"
  dhcp {
    range {
      start = "10.78.0.100"
      end   = "10.78.0.199"
    }
  }
}

resource "muster_node_vm" "n1" {
  name       = "n1"
  memory_mib = 128
  %s
  boot {
    kernel  = %q
    initrd  = %q
    cmdline = %q
  }
  nic {
    name    = "lan"
    network = muster_network.lab.name
    %s
  }
  cloud_init {
    user_data = %q
  }
  ready {
    %s
  }
  %s
}
`, l.settings, guest.Vmlinux, guest.Initrd, testguest.Cmdline, l.nic, "#cloud-config\n"+l.seed, l.ready, l.body)
}

// console returns the console's log on the host.
func console(h *libvirttest.Host) string {
	out, _ := h.Exec("sh", "-c", "cat /var/log/libvirt/muster-console/*.log")
	return out
}

// Cases 13 to 17: the guest boots, is ready through lease and agent and units,
// sees its MTU, has a console with a log, shuts down gracefully, and the plan
// afterwards waits for nothing.
func TestAccNodeVM_bootsAndIsReady(t *testing.T) {
	h := libvirttest.Start(t)
	l := guestLab{
		host: h, nic: "mtu = 9000", seed: "# unit docker.service active\n",
		ready: "lease = true\n agent = true\n units = [\"docker.service\"]\n timeout = \"3m\"", settings: "shutdown_timeout = \"60s\"",
	}
	config := l.hcl(t)
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config, Check: resource.ComposeAggregateTestCheckFunc(
			sameIdentity(),
			resource.TestMatchResourceAttr(addr, "addresses.lan", regexp.MustCompile(`^10\.78\.0\.`)),
			func(*terraform.State) error {
				if log := console(h); !regexp.MustCompile(`(?i)mtu.{0,4}9000`).MatchString(log) {
					return fmt.Errorf("the guest's console does not tell an MTU of 9000:\n%s", log)
				}
				return nil
			},
		)},
		resource.TestStep{Config: config, ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
	))
}

// Case 16: what is missing is named, with the source asked and its last answer,
// and what systemd in the guest waits for; the VM stays.
func TestAccNodeVM_saysWhyItIsNotReady(t *testing.T) {
	h := libvirttest.Start(t)
	l := guestLab{
		host: h, seed: "# unit slow.service activating\n# job slow.service start waiting\n# link eth0 configuring\n",
		ready: "agent = true\n units = [\"slow.service\"]\n timeout = \"45s\"", settings: "shutdown_timeout = \"0s\"",
	}
	config := l.hcl(t)
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config, ExpectError: message(`was not ready after 45s: unit slow.service: asked systemctl in the guest, last answer: activating.*systemd waits for:.*slow.service.*link eth0 is configuring`)},
		resource.TestStep{Config: config, Destroy: true, Check: func(*terraform.State) error { return nil }},
	))
}

// Case 13: a guest that ignores the power button is forced off in the end, and
// both is said.
func TestAccNodeVM_forcesADeafGuestOff(t *testing.T) {
	h := libvirttest.Start(t)
	c := tfcli.New(t, guestLab{host: h, seed: "# ignore-acpi\n# no-agent\n", ready: "lease = true", settings: "shutdown_timeout = \"5s\""}.hcl(t))
	c.Apply().OK(t)
	if r := c.Destroy().OK(t); !r.Says("did not shut down within 5s of being asked, so it was forced off") {
		t.Errorf("nothing is said of the force:\n%s", r.Output)
	}
	nothingLeft(t, h)
}

// A guest that obeys is not forced.
func TestAccNodeVM_shutsDownGracefully(t *testing.T) {
	h := libvirttest.Start(t)
	c := tfcli.New(t, guestLab{host: h, ready: "agent = true"}.hcl(t))
	c.Apply().OK(t)
	if r := c.Destroy().OK(t); r.Says("forced off") {
		t.Errorf("the guest was forced:\n%s", r.Output)
	}
}

// A capture has the guest's first packet, and is switched off and on in place.
func TestAccNodeVM_captures(t *testing.T) {
	h := libvirttest.Start(t, libvirttest.WithUnprivilegedQEMU())
	l := guestLab{host: h, ready: "lease = true", settings: "shutdown_timeout = \"0s\"", body: "capture {\n enabled = true\n }\n"}
	on := l.hcl(t)
	l.body = "capture {\n enabled = false\n }\n"
	off := l.hcl(t)
	windows := func() string {
		out, _ := h.Exec("sh", "-c", "cd /var/lib/libvirt/muster-capture && stat -c '%a %U %s %n' . * 2>&1")
		return out
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: on, Check: func(*terraform.State) error {
			w := windows()
			if !regexp.MustCompile(`(?m)^700 \S+ \d+ \.$`).MatchString(w) || !regexp.MustCompile(`(?m)^600 \S+ [1-9]\d{2,} \S+-lan-0\.pcap$`).MatchString(w) {
				return fmt.Errorf("the folder is\n%s", w)
			}
			if !strings.Contains(h.Virsh("dumpxml", "--inactive", "n1"), "-lan-1.pcap") {
				return fmt.Errorf("the next start would write over the first window:\n%s", w)
			}
			return nil
		}},
		resource.TestStep{Config: on, ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
		resource.TestStep{Config: off, Check: func(*terraform.State) error {
			if out := h.Virsh("qemu-monitor-command", "n1", `{"execute":"qom-list","arguments":{"path":"/objects"}}`); strings.Contains(out, "muster-capture") {
				return fmt.Errorf("QEMU still captures: %s", out)
			}
			return nil
		}},
		resource.TestStep{Config: on, Check: func(*terraform.State) error {
			if out := h.Virsh("qemu-monitor-command", "n1", `{"execute":"qom-list","arguments":{"path":"/objects"}}`); !strings.Contains(out, "muster-capture-lan") {
				return fmt.Errorf("QEMU does not capture: %s", out)
			}
			return nil
		}},
	))
}
