package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
	"github.com/musterlab/terraform-provider-muster/internal/testguest"
)

// bootConfig is a machine that boots the test guest and waits for its agent.
func bootConfig(f testguest.Files, name string) tfcore.Values {
	return tfcore.Values{
		"name": name, "memory_mib": 192, "power": "on", "shutdown_timeout": "0s",
		"boot":  []tfcore.Values{{"kernel": f.Vmlinux, "initrd": f.Initrd, "cmdline": testguest.Cmdline}},
		"disk":  []tfcore.Values{{"name": "data", "size_mib": 8}},
		"nic":   []tfcore.Values{{"name": "lan", "network": "lab"}},
		"ready": []tfcore.Values{{"agent": true, "timeout": "2m"}},
	}
}

// A create that boots is killed after each call from the start on: once each,
// for those that it repeats while it waits.
func TestSweep_boot(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	guest, err := testguest.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l := newVMLab(t)
	newEngine := func() engine { return &protocol{tb: t, provider: l.provider(), resource: nodeVM.resource} }
	e := newEngine()
	if err := e.apply(bootConfig(guest, "whole"), l.proxy.Reset); err != nil {
		t.Fatal(err)
	}
	points := afterStart(l.proxy.Calls())
	if len(points) < 5 {
		t.Fatalf("points %+v", points)
	}
	bootEnds(t, l, e)
	for i, p := range points {
		where(t, fmt.Sprintf("boot, killed after call %d of %s", p.Nth, p.Proc), func() {
			e, name := newEngine(), fmt.Sprintf("b%d", i)
			config := bootConfig(guest, name)
			err := e.apply(config, func() {
				l.proxy.Reset()
				l.proxy.SetRules(p)
			})
			struck := l.proxy.Fired() > 0
			l.proxy.SetRules()
			if !struck || !errors.Is(err, errKilled) {
				t.Fatalf("not killed: %v", err)
			}
			booted(t, l, e, config)
			bootEnds(t, l, e)
		})
	}
	t.Logf("%d points", len(points))
}

func booted(t *testing.T, l *lab, e engine, config tfcore.Values) {
	t.Helper()
	name := config["name"].(string)
	if err := e.apply(config, nil); err != nil {
		t.Fatalf("the next apply: %v", err)
	}
	if got := l.lines("list", "--all", "--name"); !slices.Equal(got, []string{name}) || l.host.Virsh("domstate", name) != "running" {
		t.Fatalf("domains on the host: %q, the first %s", got, l.host.Virsh("domstate", name))
	}
	l.host.Virsh("qemu-agent-command", name, `{"execute":"guest-ping"}`)
	if got := l.files(t); len(got) != len(l.known)+1 {
		t.Fatalf("files in the pool: %q", got)
	}
	if err := e.settled(config); err != nil {
		t.Fatalf("the plan afterwards: %v", err)
	}
}

func bootEnds(t *testing.T, l *lab, e engine) {
	t.Helper()
	if err := e.destroy(nil); err != nil {
		t.Fatalf("destroy: %v", err)
	}
	vmGone(t, l)
}

// afterStart returns a kill for each call from the start of the machine on;
// of those that come again and again only the first two.
func afterStart(calls []libvirttest.Call) []libvirttest.Rule {
	var rules []libvirttest.Rule
	seen, again := map[string]int{}, map[string]int{}
	started := false
	for _, c := range calls {
		seen[c.Proc]++
		started = started || c.Proc == "DomainCreateWithFlags"
		if !started || again[c.Proc] == 2 {
			continue
		}
		again[c.Proc]++
		rules = append(rules, libvirttest.Rule{Proc: c.Proc, Nth: seen[c.Proc], Action: libvirttest.KillPeer})
	}
	return rules
}
