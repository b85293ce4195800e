package sweep

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// withinSeconds is what an apply may take to end after an interrupt, on a
// loaded machine.
const withinSeconds = 15 * time.Second

// interrupted starts a command, interrupts it once when the daemon has been
// asked for proc, which it never answers, and returns how it ended.
func (l *lab) interrupted(t *testing.T, e *terraform, proc string, args ...string) *tfcli.Result {
	t.Helper()
	l.proxy.Reset()
	l.proxy.SetRules(libvirttest.Rule{Proc: proc, Action: libvirttest.Silence})
	defer l.proxy.SetRules()
	p := e.cli.Start(append(args, "-input=false", "-no-color", "-auto-approve")...)
	l.await(t, p, proc)
	began := time.Now()
	p.Interrupt()
	r := p.Wait()
	if took := time.Since(began); took > withinSeconds {
		t.Errorf("it took %s to end after the interrupt", took)
	}
	if r.Code != 1 || !r.Says("Interrupt received") {
		t.Errorf("exit code %d\n%s", r.Code, r.Output)
	}
	return r
}

func (l *lab) await(t *testing.T, p *tfcli.Process, proc string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := l.proxy.Await(ctx, proc, 1); err != nil {
		t.Fatalf("%v\n%s", err, p.Output())
	}
}

// One Ctrl-C ends each operation within seconds, and the next one goes on from
// the state that it leaves.
func TestInterrupt_nodeVM(t *testing.T) {
	t.Parallel()
	l := newVMLab(t)
	e := newTerraform(t, l.provider(), nodeVM.resource)
	for i, proc := range []string{"DomainDefineXMLFlags", "StorageVolCreateXML", "StorageVolUpload", "DomainSetMetadata"} {
		t.Run("create at "+proc, func(t *testing.T) {
			e.configure(nodeVM.config("n", 0))
			l.interrupted(t, e, proc, "apply")
			if in := e.cli.State().Instances(nodeVM.resource); len(in) > 1 || i > 0 && (len(in) == 0 || !in[0].Tainted()) {
				t.Errorf("state: %+v", in)
			}
			nodeVM.converge(t, l, e, "n", 0)
			nodeVM.end(t, l, e)
		})
	}
	nodeVM.converge(t, l, e, "n", 0)
	for i, proc := range []string{"StorageVolCreateXML", "DomainDefineXMLFlags", "StorageVolDelete"} {
		t.Run("update at "+proc, func(t *testing.T) {
			e.configure(nodeVM.config("n", i+1))
			before := e.cli.State().Instances(nodeVM.resource)[0]
			l.interrupted(t, e, proc, "apply")
			after := e.cli.State().Instances(nodeVM.resource)
			if len(after) != 1 || after[0].Tainted() || after[0].Attributes["incarnation"] != before.Attributes["incarnation"] {
				t.Errorf("state: %+v", after)
			}
			nodeVM.converge(t, l, e, "n", i+1)
		})
	}
	t.Run("destroy", func(t *testing.T) {
		l.interrupted(t, e, "StorageVolDelete", "destroy")
		if in := e.cli.State().Instances(nodeVM.resource); len(in) != 1 {
			t.Errorf("state: %+v", in)
		}
		nodeVM.end(t, l, e)
	})
}

// A machine that never becomes ready does not hold an interrupted apply.
func TestInterrupt_whileWaitingForTheGuest(t *testing.T) {
	t.Parallel()
	l := newVMLab(t)
	e := newTerraform(t, l.provider(), nodeVM.resource)
	config := nodeVM.config("n", 0)
	config["power"] = "on"
	config["ready"] = []tfcore.Values{{"agent": true, "timeout": "10m"}}
	config["shutdown_timeout"] = "1s"
	e.configure(config)
	l.proxy.Reset()
	p := e.cli.Start("apply", "-auto-approve", "-input=false", "-no-color")
	l.await(t, p, "QEMUDomainAgentCommand")
	began := time.Now()
	p.Interrupt()
	r := p.Wait()
	if took := time.Since(began); took > withinSeconds || r.Code != 1 {
		t.Errorf("exit code %d, %s after the interrupt\n%s", r.Code, took, r.Output)
	}
	if in := e.cli.State().Instances(nodeVM.resource); len(in) != 1 || !in[0].Tainted() {
		t.Errorf("state: %+v", in)
	}
	if got := l.host.Virsh("domstate", "n"); got != "running" {
		t.Errorf("the machine is %s, and was to be left for diagnosis", got)
	}
	nodeVM.converge(t, l, e, "n", 0)
	nodeVM.end(t, l, e)
}

func fleet(l *lab, n int) string {
	config := hcl(`provider "muster"`, l.provider())
	for i := range n {
		vm := nodeVM.config(fmt.Sprintf("n%d", i), 0)
		delete(vm, "cloud_init")
		config += hcl(fmt.Sprintf("resource %q \"n%d\"", nodeVM.resource, i), vm)
	}
	return config
}

// hostLimit is what a plan may take when its host does not answer: one wait
// for it, of 10 s for a connection or of 15 s for a reply, and what a plan of
// the fleet takes anyway on a loaded machine.
const hostLimit = 25 * time.Second

func TestPlan_hostThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	l := newVMLab(t)
	const n = 30
	c := tfcli.New(t, fleet(l, n))
	c.Apply().OK(t)
	before := c.State()
	check := func(t *testing.T) {
		t.Helper()
		r := c.Plan()
		t.Logf("the plan took %s", r.Wall)
		if r.Code != 0 || r.Wall > hostLimit {
			t.Errorf("exit code %d after %s", r.Code, r.Wall)
		}
		if strings.Count(r.Output, "Warning: Unable to refresh host") != 1 || r.Says("similar warning") || !r.Says(l.proxy.URI()) {
			t.Errorf("not one warning that names the host:\n%s", r.Output)
		}
		if r := c.Run("apply", "-refresh-only", "-auto-approve", "-input=false", "-no-color"); r.Code != 0 || len(c.State().Instances(nodeVM.resource)) != n {
			t.Errorf("a refresh did not keep the state: exit code %d\n%s", r.Code, r.Output)
		}
	}
	t.Run("silent", func(t *testing.T) {
		thaw := l.host.FreezeDaemon()
		defer thaw()
		check(t)
	})
	t.Run("falls silent", func(t *testing.T) {
		l.proxy.SetRules(libvirttest.Rule{Proc: "DomainGetXMLDesc", Action: libvirttest.Silence})
		defer l.proxy.SetRules()
		check(t)
	})
	t.Run("dead", func(t *testing.T) {
		l.host.KillDaemon()
		defer l.host.StartDaemon()
		check(t)
	})
	t.Run("a destroy there fails in time, and says what it means to give the host up", func(t *testing.T) {
		l.host.KillDaemon()
		defer l.host.StartDaemon()
		r := c.Destroy("-target=muster_node_vm.n0")
		if r.Code != 1 || r.Wall > 2*hostLimit || !r.Says("MUSTER_ABANDON") {
			t.Errorf("exit code %d after %s\n%s", r.Code, r.Wall, r.Output)
		}
	})
	if r := c.Plan(); r.Code != 0 || len(c.State().Resources) != len(before.Resources) {
		t.Errorf("once the host is back: exit code %d\n%s", r.Code, r.Output)
	}
}
