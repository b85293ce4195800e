package nodevm_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func nothingLeft(t *testing.T, h *libvirttest.Host) {
	t.Helper()
	if out := h.Virsh("list", "--all", "--name"); strings.TrimSpace(out) != "" {
		t.Errorf("domains are left:\n%s", out)
	}
	if out := h.Virsh("vol-list", "default"); strings.Contains(out, "n1") {
		t.Errorf("volumes are left:\n%s", out)
	}
}

// Cases 2 and 12: UEFI and TPM keep their NVRAM through an update; destroy
// works with NVRAM, TPM, snapshots, managed save and a checkpoint.
func TestAccNodeVM_firmware(t *testing.T) {
	h := newHost(t)
	body := rootDisk + lanNIC + "firmware {\n type = \"uefi\"\n tpm = true\n }\n"
	nvram := func() string {
		m := regexp.MustCompile(`<nvram[^>]*>([^<]*)</nvram>`).FindStringSubmatch(h.Virsh("dumpxml", "n1"))
		if m == nil {
			t.Fatal("the running VM has no NVRAM file")
		}
		return m[1]
	}
	var before string
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h, power: "on", memory: 128, body: body}.hcl(), Check: func(*terraform.State) error {
			before = nvram()
			if _, err := h.Exec("sh", "-c", "printf MUSTER | dd of="+before+" bs=1 seek=4096 conv=notrunc"); err != nil {
				return err
			}
			return nil
		}},
		resource.TestStep{
			Config:           lab{host: h, power: "on", memory: 160, body: body + "on_change = \"restart\"\n"}.hcl(),
			ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(sameIdentity(), func(*terraform.State) error {
				if now := nvram(); now != before {
					return fmt.Errorf("NVRAM moved from %s to %s", before, now)
				}
				if out, err := h.Exec("grep", "-c", "MUSTER", before); err != nil {
					return fmt.Errorf("NVRAM was written anew: %s", out)
				}
				return nil
			}),
		},
	))
	nothingLeft(t, h)
	if out, err := h.Exec("test", "-e", before); err == nil {
		t.Errorf("NVRAM is left: %s %s", before, out)
	}
}

func TestAccNodeVM_destroysWithSnapshotsAndManagedSave(t *testing.T) {
	for name, prepare := range map[string][]string{
		"snapshot":     {"snapshot-create-as", "n1", "before"},
		"managed save": {"managedsave", "n1"},
		"paused":       {"suspend", "n1"},
		"checkpoint":   {"checkpoint-create-as", "n1", "c1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			resource.Test(t, acctest.Case(resource.TestStep{
				Config: lab{host: h, power: "on"}.hcl(),
				Check: func(*terraform.State) error {
					_, err := h.TryVirsh(prepare...)
					return err
				},
				ExpectNonEmptyPlan: name == "managed save" || name == "paused", // it is not on any more
			}))
			nothingLeft(t, h)
		})
	}
}

// Case 5: an explicit MAC is really changed.
func TestAccNodeVM_changesExplicitMAC(t *testing.T) {
	h := newHost(t)
	nic := func(mac string) string {
		return rootDisk + "nic {\n name = \"lan\"\n network = \"lab\"\n mac = \"" + mac + "\"\n }\n"
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h, body: nic("52:54:00:AA:00:01")}.hcl(), Check: resource.ComposeAggregateTestCheckFunc(
			resource.TestCheckResourceAttr(addr, "macs.lan", "52:54:00:aa:00:01"), resource.TestCheckResourceAttr(addr, "nic.0.mac", "52:54:00:AA:00:01"))},
		resource.TestStep{
			Config: lab{host: h, body: nic("52:54:00:aa:00:02")}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(resource.TestCheckResourceAttr(addr, "macs.lan", "52:54:00:aa:00:02"), onHost(h, "52:54:00:aa:00:02"), oneNIC(h)),
		},
		resource.TestStep{
			Config: lab{host: h}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			Check: resource.TestCheckResourceAttr(addr, "macs.lan", "52:54:00:aa:00:02"), // taking the line out changes nothing
		},
	))
}

// NICs are known by name: reordering changes no MAC, nor does taking one away.
func TestAccNodeVM_reordersNICs(t *testing.T) {
	h := newHost(t)
	nic := func(name string) string { return "nic {\n name = \"" + name + "\"\n network = \"lab\"\n }\n" }
	macs := func(names ...string) resource.TestCheckFunc {
		checks := []resource.TestCheckFunc{resource.TestCheckResourceAttr(addr, "macs.%", fmt.Sprint(len(names)))}
		for _, n := range names {
			checks = append(checks, resource.TestCheckResourceAttr(addr, "macs."+n, derived("n1", n)))
		}
		return resource.ComposeAggregateTestCheckFunc(checks...)
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h, body: rootDisk + nic("a") + nic("b") + nic("c")}.hcl(), Check: macs("a", "b", "c")},
		resource.TestStep{Config: lab{host: h, body: rootDisk + nic("c") + nic("a") + nic("b")}.hcl(), Check: macs("a", "b", "c")},
		resource.TestStep{Config: lab{host: h, body: rootDisk + nic("b") + nic("c")}.hcl(), Check: macs("b", "c")},
		resource.TestStep{Config: lab{host: h, body: rootDisk + nic("b") + nic("a") + nic("c")}.hcl(), Check: macs("a", "b", "c")},
	))
}

// Case 9: changed user data makes a new seed under a name of its content, in
// place; the old one goes.
func TestAccNodeVM_changesSeed(t *testing.T) {
	h := newHost(t)
	body := func(text string) string {
		return rootDisk + lanNIC + "cloud_init {\n user_data = \"#cloud-config\\nruncmd: [" + text + "]\\n\"\n }\n"
	}
	seeds := func() []string {
		return regexp.MustCompile(`n1-seed-[0-9a-f]+\.iso`).FindAllString(h.Virsh("vol-list", "default"), -1)
	}
	var first string
	one := func(check func(string) bool) resource.TestCheckFunc {
		return func(*terraform.State) error {
			s := seeds() // each is listed once with its name and once in its path
			if len(s) != 2 || !check(s[0]) {
				return fmt.Errorf("seeds: %q, before: %q", s, first)
			}
			first = s[0]
			return nil
		}
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h, body: body("a")}.hcl(), Check: one(func(string) bool { return true })},
		resource.TestStep{Config: lab{host: h, body: body("b")}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: one(func(s string) bool { return s != first })},
		resource.TestStep{Config: lab{host: h, power: "on", body: body("b")}.hcl(), Check: inState(h, "running")},
		resource.TestStep{
			Config: lab{host: h, power: "on", body: body("c")}.hcl(), Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(addr, "pending_restart.0", "cloud_init"),
				func(*terraform.State) error { // the running machine still has the old one open
					if s := seeds(); len(s) != 4 {
						return fmt.Errorf("seeds: %q", s)
					}
					return nil
				}),
		},
		resource.TestStep{Config: lab{host: h, power: "on", body: body("c") + "on_change = \"restart\"\n"}.hcl(), Check: one(func(s string) bool { return s != first })},
	))
}

// Case 18: import, then plan, gives no change, whether defaults are written or
// left out. The domain is one that others made.
func TestAccNodeVM_importsForeignDomain(t *testing.T) {
	h := newHost(t)
	h.Virsh("vol-create-as", "default", "old.qcow2", "16M", "--format", "qcow2")
	path := strings.TrimSpace(h.Virsh("vol-path", "--pool", "default", "old.qcow2"))
	h.Virsh("define", acctest.XMLFile(t, `<domain type='qemu'><name>old</name><memory unit='MiB'>64</memory><vcpu>2</vcpu><os><type machine='q35'>hvm</type></os>
<cpu mode='maximum'/>
<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='`+path+`'/><target dev='vda' bus='virtio'/></disk>
<interface type='network'><mac address='52:54:00:00:00:41'/><source network='lab'/><model type='virtio'/></interface>
<interface type='network'><mac address='52:54:00:00:00:42'/><source network='lab'/><model type='virtio'/></interface></devices></domain>`))
	config := func(first, second string) string {
		return acctest.Provider(h.URI(), "lab-a") + `
resource "muster_node_vm" "n1" {
  name       = "old"
  memory_mib = 64
  vcpus      = 2
  power      = "off"
  boot {
    order = ["disk"]
  }
  console {
    enabled = false
  }
  disk {
    name     = "vda"
    size_mib = 16
  }
  nic {
    name    = "` + first + `"
    network = "lab"
  }
  nic {
    name    = "` + second + `"
    network = "lab"
  }
}
`
	}
	macs := func(first, second string) resource.TestCheckFunc {
		return resource.ComposeAggregateTestCheckFunc(
			resource.TestCheckResourceAttr(addr, "macs."+first, "52:54:00:00:00:41"), resource.TestCheckResourceAttr(addr, "macs."+second, "52:54:00:00:00:42"))
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config("nic0", "nic1"), ResourceName: addr, ImportState: true, ImportStateId: "old", ImportStatePersist: true},
		resource.TestStep{Config: config("nic0", "nic1"), ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: macs("nic0", "nic1")},
		resource.TestStep{Config: config("lan", "san"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: macs("lan", "san")},
		resource.TestStep{Config: config("lan", "san"), ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: macs("lan", "san")},
	))
	if out := h.Virsh("vol-list", "default"); !strings.Contains(out, "old.qcow2") {
		t.Error("destroy deleted a volume that the provider did not make")
	}
}

// adopt_existing takes a domain over as it is.
func TestAccNodeVM_adoptsExisting(t *testing.T) {
	h := newHost(t)
	h.Virsh("define", acctest.XMLFile(t, `<domain type='qemu'><name>n1</name><title>theirs</title><memory unit='MiB'>32</memory><os><type machine='q35'>hvm</type></os>
<devices><interface type='network'><mac address='52:54:00:00:00:51'/><source network='lab'/></interface></devices></domain>`))
	uuid := strings.TrimSpace(h.Virsh("domuuid", "n1"))
	resource.Test(t, acctest.Case(resource.TestStep{
		Config: lab{host: h, body: "adopt_existing = true\n" + rootDisk + lanNIC}.hcl(),
		Check: resource.ComposeAggregateTestCheckFunc(
			resource.TestCheckResourceAttr(addr, "id", uuid), resource.TestCheckResourceAttr(addr, "macs.lan", "52:54:00:00:00:51"), oneNIC(h), onHost(h, "theirs"),
		),
	}))
}

// Case 20: create_before_destroy destroys nobody's VM, and neither does a
// second state.
func TestAccNodeVM_ownsByIncarnation(t *testing.T) {
	h := newHost(t)
	cbd := func(image string) string {
		return lab{host: h, body: "lifecycle {\n create_before_destroy = true\n }\n disk {\n name = \"root\"\n image = \"default/" + image + "\"\n }\n" + lanNIC}.hcl()
	}
	for _, v := range []string{"a.qcow2", "b.qcow2"} {
		h.Virsh("vol-create-as", "default", v, "8M", "--format", "qcow2")
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: cbd("a.qcow2"), Check: sameIdentity()},
		resource.TestStep{Config: cbd("b.qcow2"), ExpectError: message("in no state known here")},
		resource.TestStep{Config: cbd("a.qcow2"), ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: sameIdentity()},
	))
}

// A newer create owns the VM: an older state's destroy leaves it alone.
func TestAccNodeVM_leavesNewerCreation(t *testing.T) {
	h := newHost(t)
	newer := func() {
		xml := h.Virsh("dumpxml", "--inactive", "n1")
		h.Virsh("define", acctest.XMLFile(t, regexp.MustCompile(`incarnation="[^"]*"`).ReplaceAllString(xml, `incarnation="ffffffffffffffff"`)))
	}
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h}.hcl()},
		resource.TestStep{PreConfig: newer, Config: lab{host: h, memory: 80}.hcl(), ExpectError: message("another state owns it now")},
	))
	if out := h.Virsh("list", "--all", "--name"); strings.TrimSpace(out) != "n1" {
		t.Errorf("domains: %q, want the newer creation left", out)
	}
}

// Case 26: a daemon that restarts between plan and apply, or while nobody
// looks, is no event.
func TestAccNodeVM_survivesDaemonRestart(t *testing.T) {
	h := newHost(t)
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h, power: "on"}.hcl()},
		resource.TestStep{PreConfig: h.RestartDaemon, Config: lab{host: h, power: "on"}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
		resource.TestStep{
			Config:           lab{host: h, power: "on", memory: 80}.hcl(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{then(h.RestartDaemon)}},
			Check:            sameIdentity(),
		},
	))
}

type planFunc func()

func then(f func()) plancheck.PlanCheck { return planFunc(f) }

func (f planFunc) CheckPlan(context.Context, plancheck.CheckPlanRequest, *plancheck.CheckPlanResponse) {
	f()
}

// Case 24: fifty VMs at once.
func TestAccNodeVM_fiftyAtOnce(t *testing.T) {
	h := newHost(t)
	config := acctest.Provider(h.URI(), "lab-a") + `
resource "muster_node_vm" "n" {
  count      = 50
  name       = "n${count.index}"
  memory_mib = 64
  power      = "off"
` + rootDisk + lanNIC + "}\n"
	resource.Test(t, acctest.Case(resource.TestStep{Config: config, Check: func(*terraform.State) error {
		if n := len(strings.Fields(h.Virsh("list", "--all", "--name"))); n != 50 {
			return fmt.Errorf("%d domains, want 50", n)
		}
		return nil
	}}))
}

// A VM removed behind Terraform's back is made again, with the same identity.
func TestAccNodeVM_comesBack(t *testing.T) {
	h := newHost(t)
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h}.hcl()},
		resource.TestStep{PreConfig: func() { h.Virsh("undefine", "n1", "--remove-all-storage") }, Config: lab{host: h}.hcl(), Check: sameIdentity()},
	))
}

// Case 8: no file on the Terraform host is part of a VM.
func TestAccNodeVM_needsNoTemporaryFiles(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	config := lab{host: h, body: rootDisk + lanNIC + "cloud_init {\n user_data = \"#cloud-config\\n\"\n }\n"}.hcl()
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config, Check: func(*terraform.State) error {
			left, err := os.ReadDir(dir)
			for _, f := range left {
				if strings.Contains(f.Name(), "seed") || strings.HasSuffix(f.Name(), ".iso") {
					return fmt.Errorf("%s is left", f.Name())
				}
			}
			return err
		}},
		resource.TestStep{Config: config, ConfigPlanChecks: action(plancheck.ResourceActionNoop)},
	))
}
