package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"golang.org/x/sync/errgroup"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
	"github.com/musterlab/terraform-provider-muster/internal/provider"
)

// The limits of a plan of 200 unchanged VMs. Calls and bytes of state are what
// is promised; allocations, which do not drift with the machine, are what was
// measured and a tenth more.
const (
	gateVMs     = 200
	maxCalls    = 2.0
	maxState    = 7.5 * 1024
	maxAllocs   = 85_000
	parallelism = 10 // terraform's
)

// TestGate_planOfUnchangedVMs holds what a plan costs to its limits, where the
// figures do not depend on the machine.
func TestGate_planOfUnchangedVMs(t *testing.T) {
	p := newHost(t)
	objects := make([]*tfcore.Object, gateVMs)
	converge(t, p, objects, "")
	calls := 0
	allocs := testing.AllocsPerRun(1, func() {
		p.Reset()
		converge(t, p, objects, tfcore.NoOp)
		calls = len(p.Calls())
	})
	if perVM := float64(calls) / gateVMs; perVM > maxCalls {
		t.Errorf("%.2f calls to libvirt per VM, want at most %.1f: %v", perVM, maxCalls, p.Counts())
	}
	if perVM := allocs / gateVMs; perVM > maxAllocs {
		t.Errorf("%.0f allocations per VM, want at most %d", perVM, maxAllocs)
	}
	state := 0
	for _, o := range objects {
		state += len(o.Attributes) + len(o.Private)
	}
	if perVM := float64(state) / gateVMs; perVM > maxState {
		t.Errorf("%.0f bytes of state per VM, want at most %.0f", perVM, maxState)
	}
	t.Logf("%d VMs: %d calls, %.0f allocations and %d bytes of state per VM", gateVMs, calls, allocs/gateVMs, state/gateVMs)
	runtime.KeepAlive(objects)
}

// converge plans every VM with a provider of its own, as one terraform run
// does, and applies what is to do. A wanted action other than "" is checked.
func converge(t *testing.T, p *libvirttest.Proxy, objects []*tfcore.Object, want tfcore.Action) {
	t.Helper()
	core, err := tfcore.New(t.Context(), providerserver.NewProtocol6(provider.New("test"))(), tfcore.Values{
		"libvirt":  tfcore.Values{"uri": p.URI()},
		"identity": tfcore.Values{"namespace": "bench"},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(parallelism)
	for i := range objects {
		g.Go(func() error {
			o, action, err := core.Converge(ctx, "muster_node_vm", config(i), objects[i])
			if err == nil && want != "" && action != want {
				return fmt.Errorf("vm%d: the plan is to %v, want %v", i, action, want)
			}
			objects[i] = o
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func config(i int) tfcore.Values {
	return tfcore.Values{
		"name": fmt.Sprintf("vm%d", i), "memory_mib": 128, "power": "off",
		"disk":    []tfcore.Values{{"name": "root", "size_mib": 64}},
		"nic":     []tfcore.Values{{"name": "lan", "network": "lab"}, {"name": "san", "network": "lab"}},
		"console": []tfcore.Values{{"enabled": true}},
	}
}
