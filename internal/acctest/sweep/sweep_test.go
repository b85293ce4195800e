package sweep

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

const namespace = "sweep"

// subject is a resource that is swept. Generations are configurations of one
// object: each differs from the one before it in everything that changes in
// place, and there and back are different changes.
type subject struct {
	resource string
	config   func(name string, generation int) tfcore.Values
	// reached fails the test unless the host has exactly what the
	// configuration says.
	reached func(t *testing.T, l *lab, name string, generation int)
	// gone fails the test unless nothing is left.
	gone func(t *testing.T, l *lab)
}

// lab is a private host with a proxy in front.
type lab struct {
	host  *libvirttest.Host
	proxy *libvirttest.Proxy
	// known is what the pool held before.
	known []string
}

// ask runs several virsh commands in one and returns the words of each answer.
func (l *lab) ask(commands ...string) [][]string {
	const mark = "----"
	out := l.host.Virsh(strings.Join(commands, "; echo "+mark+"; "))
	var answers [][]string
	for _, a := range strings.Split(out, mark) {
		answers = append(answers, strings.Fields(a))
	}
	return answers
}

func (l *lab) provider() tfcore.Values {
	return tfcore.Values{
		"libvirt":  tfcore.Values{"uri": l.proxy.URI()},
		"identity": tfcore.Values{"namespace": namespace},
	}
}

// fault is what strikes at a call.
type fault struct {
	action libvirttest.Action
	name   string
}

var (
	killAfter  = fault{libvirttest.KillPeer, "killed after"}
	killBefore = fault{libvirttest.KillPeerBefore, "killed before"}
	loseReply  = fault{libvirttest.LoseReply, "reply lost of"}
)

// struck runs do with the fault at its nth call. It reports whether do came so
// far; then do has ended in whatever way, else it must have succeeded.
func (l *lab) struck(t *testing.T, f fault, n int, do func(arm func()) error) bool {
	t.Helper()
	err := do(func() {
		l.proxy.Reset()
		l.proxy.SetRules(libvirttest.Rule{Nth: n, Action: f.action})
	})
	struck := l.proxy.Fired() > 0
	l.proxy.SetRules()
	switch {
	case !struck && err != nil:
		t.Fatalf("no fault was injected, and yet: %v", err)
	case err != nil && f != loseReply && !errors.Is(err, errKilled): // a process may be killed at its very end, all said
		t.Fatalf("%s call %d, and yet: %v", f.name, n, err)
	}
	return struck
}

// at describes where the fault of the last run struck.
func (l *lab) at(f fault, n int) string {
	calls := l.proxy.Calls()
	if n > len(calls) {
		return fmt.Sprintf("%s call %d", f.name, n)
	}
	return fmt.Sprintf("%s call %s", f.name, calls[n-1])
}

// converge is the one apply that has to heal what a fault has left.
func (s subject) converge(t *testing.T, l *lab, e engine, name string, generation int) {
	t.Helper()
	config := s.config(name, generation)
	if err := e.apply(config, nil); err != nil {
		t.Fatalf("the next apply: %v", err)
	}
	s.reached(t, l, name, generation)
	if t.Failed() {
		t.FailNow()
	}
	if err := e.settled(config); err != nil {
		t.Fatalf("the plan afterwards: %v", err)
	}
}

func (s subject) end(t *testing.T, l *lab, e engine) {
	t.Helper()
	if err := e.destroy(nil); err != nil {
		t.Fatalf("destroy: %v", err)
	}
	s.gone(t, l)
}

// points says at which calls a sweep strikes: first, first+every, ... up to
// last, where 0 is the end.
type points struct{ first, every, last int }

var everyCall = points{first: 1, every: 1}

var long = os.Getenv("MUSTER_TEST_LONG") != ""

// sometimes is for what takes seconds without work, like the restart of a
// network: every call in the long tests, else every third.
func sometimes(first int) points {
	if long {
		return everyCall
	}
	return points{first: first, every: 3}
}

// sweep calls one for each point until it reports that there is no such call.
func (p points) sweep(t *testing.T, one func(n int) bool) {
	t.Helper()
	struck := 0
	for n := p.first; p.last == 0 || n <= p.last; n += p.every {
		if !one(n) {
			break
		}
		struck++
	}
	if struck == 0 {
		t.Error("the sweep struck nowhere")
	}
	t.Logf("%d points", struck)
}

// creates sweeps the creation of fresh objects.
func (s subject) creates(t *testing.T, l *lab, f fault, p points, newEngine func() engine) {
	p.sweep(t, func(n int) bool {
		e, name := newEngine(), fmt.Sprintf("c%d", n)
		struck := l.struck(t, f, n, func(arm func()) error { return e.apply(s.config(name, 0), arm) })
		where(t, "create, "+l.at(f, n), func() {
			s.converge(t, l, e, name, 0)
			s.end(t, l, e)
		})
		return struck
	})
}

// updates sweeps the changes of one object. The way back is another change: it
// is swept as well in the long tests, else only gone.
func (s subject) updates(t *testing.T, l *lab, f fault, p points, newEngine func() engine) {
	e, name, generation := newEngine(), "u", 0
	s.converge(t, l, e, name, generation)
	p.sweep(t, func(n int) bool {
		struck := false
		for _, strikes := range []bool{true, long} {
			generation++
			if strikes {
				struck = l.struck(t, f, n, func(arm func()) error { return e.apply(s.config(name, generation), arm) }) || struck
			}
			where(t, fmt.Sprintf("update to generation %d, %s", generation, l.at(f, n)), func() { s.converge(t, l, e, name, generation) })
		}
		return struck
	})
	s.end(t, l, e)
}

// turnsBack sweeps changes after which the next apply wants something else than
// the one that was struck.
func (s subject) turnsBack(t *testing.T, l *lab, f fault, p points, newEngine func() engine) {
	e, name, generation := newEngine(), "t", 0
	s.converge(t, l, e, name, generation)
	p.sweep(t, func(n int) bool {
		struck := l.struck(t, f, n, func(arm func()) error { return e.apply(s.config(name, generation+1), arm) })
		generation += 2
		where(t, "update and back, "+l.at(f, n), func() { s.converge(t, l, e, name, generation) })
		return struck
	})
	s.end(t, l, e)
}

// deletes sweeps the destruction. What a fault left is destroyed, and at every
// second point first wanted back.
func (s subject) deletes(t *testing.T, l *lab, f fault, p points, newEngine func() engine) {
	p.sweep(t, func(n int) bool {
		e, name := newEngine(), fmt.Sprintf("d%d", n)
		s.converge(t, l, e, name, 0)
		struck := l.struck(t, f, n, e.destroy)
		where(t, "destroy, "+l.at(f, n), func() {
			if n/p.every%2 == 0 {
				s.converge(t, l, e, name, 0)
			}
			s.end(t, l, e)
		})
		return struck
	})
}

// where says at which point a test failed.
func where(t *testing.T, point string, do func()) {
	t.Helper()
	done := false
	defer func() {
		if !done {
			t.Logf("the point was: %s", point)
		}
	}()
	do()
	done = true
}
