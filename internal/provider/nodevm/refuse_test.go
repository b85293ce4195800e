package nodevm_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
)

func message(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)` + strings.Join(strings.Fields(words), `\s+`))
}

// Bad input gets its answer while planning or before anything is changed.
func TestAccNodeVM_refusesBadInput(t *testing.T) {
	h := newHost(t)
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"no pool":           {"disk {\n name = \"root\"\n size_mib = 8\n pool = \"nope\"\n }" + lanNIC, `"?nope"? .* exist`},
		"no image":          {"disk {\n name = \"root\"\n image = \"default/nope\"\n }" + lanNIC, `default/nope`},
		"no network":        {rootDisk + "nic {\n name = \"lan\"\n network = \"nope\"\n }", `nope`},
		"both sources":      {rootDisk + "nic {\n name = \"lan\"\n network = \"lab\"\n bridge = \"br0\"\n }", `exactly one of network and bridge`},
		"no source":         {rootDisk + "nic {\n name = \"lan\"\n }", `exactly one of network and bridge`},
		"unknown key":       {rootDisk + "nic {\n name = \"lan\"\n network = \"lab\"\n mtuu = 1500\n }", `mtuu`},
		"mtu out of range":  {rootDisk + "nic {\n name = \"lan\"\n network = \"lab\"\n mtu = 67\n }", `between 68 and 65535`},
		"mtu too large":     {rootDisk + "nic {\n name = \"lan\"\n network = \"lab\"\n mtu = 9000\n }", `MTU of 9000 does not fit the network lab, whose MTU is 1500`},
		"multicast mac":     {rootDisk + "nic {\n name = \"lan\"\n network = \"lab\"\n mac = \"01:00:5e:00:00:01\"\n }", `multicast`},
		"mac twice":         {rootDisk + strings.Repeat("nic {\n name = \"lan\"\n network = \"lab\"\n mac = \"52:54:00:00:00:01\"\n }\n", 1) + "nic {\n name = \"b\"\n network = \"lab\"\n mac = \"52:54:00:00:00:01\"\n }\n", `same MAC`},
		"nic name twice":    {rootDisk + lanNIC + lanNIC, `[tT]wo nics are named "lan"`},
		"disk without size": {"disk {\n name = \"root\"\n }" + lanNIC, `neither an image nor a size`},
		"secure boot bios":  {rootDisk + lanNIC + "firmware {\n type = \"bios\"\n secure_boot = true\n }", `secure_boot needs`},
		"bad yaml":          {rootDisk + lanNIC + "cloud_init {\n user_data = \"#cloud-config\\na: [\"\n }", `line`},
		"two boot blocks":   {rootDisk + lanNIC + "boot {\n }\nboot {\n }", `at most 1`},
		"ready when off":    {rootDisk + lanNIC + "ready {\n agent = true\n }", `nothing to wait for`},
		"bad cpu model":     {rootDisk + lanNIC + "cpu {\n mode = \"custom\"\n }", `[mM]odel goes with mode`},
	} {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, acctest.Case(resource.TestStep{Config: lab{host: h, body: c.body}.hcl(), ExpectError: message(c.want)}))
			if out := h.Virsh("list", "--all", "--name"); strings.TrimSpace(out) != "" {
				t.Errorf("the refused VM is there:\n%s", out)
			}
			if out := h.Virsh("vol-list", "default"); strings.Contains(out, "n1") {
				t.Errorf("the refused VM left volumes:\n%s", out)
			}
		})
	}
}

// A refused definition leaves the old one as it was.
func TestAccNodeVM_refusedDefinitionChangesNothing(t *testing.T) {
	h := newHost(t)
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: lab{host: h}.hcl()},
		resource.TestStep{
			Config:      lab{host: h, body: rootDisk + lanNIC + "firmware {\n type = \"bios\"\n machine = \"nonesuch\"\n }"}.hcl(),
			ExpectError: message("nonesuch"),
		},
		resource.TestStep{Config: lab{host: h}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: sameIdentity()},
	))
}

// Two owners of a MAC or a name are errors that name both.
func TestAccNodeVM_refusesClashes(t *testing.T) {
	h := newHost(t)
	foreign := func(name, mac string) func() {
		return func() {
			h.Virsh("define", acctest.XMLFile(t, `<domain type='qemu'><name>`+name+`</name><memory unit='MiB'>64</memory><os><type>hvm</type></os>
<devices><interface type='network'><mac address='`+mac+`'/><source network='lab'/></interface></devices></domain>`))
		}
	}
	second := func(name, mac string) string {
		return `
resource "muster_node_vm" "n2" {
  name       = "` + name + `"
  memory_mib = 64
  power      = "off"
  nic {
    name    = "lan"
    network = "lab"
    mac     = "` + mac + `"
  }
}`
	}
	gone := func(names ...string) {
		for _, n := range names {
			h.Virsh("undefine", n)
		}
	}
	t.Run("mac of a foreign domain", func(t *testing.T) {
		resource.Test(t, acctest.Case(resource.TestStep{
			PreConfig: foreign("stranger", derived("n1", "lan")), Config: lab{host: h}.hcl(), PlanOnly: true, ExpectError: message(`belongs to the domain "stranger"`),
		}))
		gone("stranger")
	})
	t.Run("mac of another resource", func(t *testing.T) {
		resource.Test(t, acctest.Case(resource.TestStep{
			Config: lab{host: h, rest: second("n2", strings.ToUpper(derived("n1", "lan")))}.hcl(), PlanOnly: true, ExpectError: message(`would both have the MAC`),
		}))
	})
	t.Run("name of a foreign domain", func(t *testing.T) {
		resource.Test(t, acctest.Case(resource.TestStep{
			PreConfig: foreign("n1", "52:54:00:00:00:77"), Config: lab{host: h}.hcl(), PlanOnly: true, ExpectError: message(`already there and was not made by this provider`),
		}))
		gone("n1")
	})
	t.Run("two resources of one name", func(t *testing.T) {
		resource.Test(t, acctest.Case(
			resource.TestStep{Config: lab{host: h}.hcl()},
			resource.TestStep{Config: lab{host: h, rest: second("n1", "52:54:00:00:00:78")}.hcl(), ExpectError: message(`(in no state known here|another resource of this configuration)`)},
			resource.TestStep{Config: lab{host: h}.hcl(), ConfigPlanChecks: action(plancheck.ResourceActionNoop), Check: sameIdentity()},
		))
	})
}

// A pool that is full is named, and the next apply goes on once there is space.
func TestAccNodeVM_fullPool(t *testing.T) {
	h := newHost(t)
	dir := h.Dir + "/small"
	for _, cmd := range []string{"mkdir -p " + dir, "mount -t tmpfs -o size=40k none " + dir} {
		if out, err := h.Exec("sh", "-c", cmd); err != nil {
			t.Fatalf("%s: %v: %s", cmd, err, out)
		}
	}
	h.Virsh("pool-define-as", "small", "dir", "--target", dir)
	h.Virsh("pool-start", "small")
	config := lab{host: h, body: rootDisk + lanNIC + "cloud_init {\n user_data = \"#cloud-config\\n\"\n pool = \"small\"\n }\n"}.hcl()
	resource.Test(t, acctest.Case(
		resource.TestStep{Config: config, ExpectError: message(`(the pool is full|No space left)`)},
		resource.TestStep{
			PreConfig: func() {
				if out, err := h.Exec("mount", "-o", "remount,size=4m", dir); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			},
			Config: config, Check: sameIdentity(),
		},
	))
}
