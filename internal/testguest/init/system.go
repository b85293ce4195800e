package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// system plays systemd and its networkd: which units, jobs and links there are
// and how they stand at a moment. What user-data says of one overrules what
// really is.
type system struct {
	begun time.Time
	set   settings
	now   func() time.Time

	mu    sync.Mutex
	up    bool // the boot went through
	links map[int]*linkState
}

type linkState struct {
	name  string
	setup string // configuring, configured, unmanaged
}

// The units that every guest has.
const (
	waitOnline    = "systemd-networkd-wait-online.service"
	networkOnline = "network-online.target"
	multiUser     = "multi-user.target"
)

func newSystem(set settings, begun time.Time) *system {
	return &system{begun: begun, set: set, now: time.Now, links: map[int]*linkState{}}
}

func (s *system) elapsed() time.Duration { return s.now().Sub(s.begun) }

func (s *system) linkAppeared(index int, name string, managed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	setup := "unmanaged"
	if managed {
		setup = "configuring"
	}
	s.links[index] = &linkState{name: name, setup: setup}
}

func (s *system) linkConfigured(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.links[index]; l != nil {
		l.setup = "configured"
	}
}

func (s *system) linkGone(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, index)
}

func (s *system) booted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up = true
}

// networkReady says whether every managed link really is configured, whatever
// user-data lets networkctl say.
func (s *system) networkReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		if l.setup == "configuring" {
			return false
		}
	}
	return true
}

// link is one line of networkctl.
type link struct {
	Index        int
	Name         string
	Kind         string
	Operational  string
	SetupOrAdmin string
}

func (s *system) networkLinks() []link {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []link{{1, "lo", "loopback", "carrier", "unmanaged"}}
	for _, index := range slices.Sorted(maps.Keys(s.links)) {
		l := s.links[index]
		setup := l.setup
		if forced, ok := s.set.links[l.name]; ok {
			setup = forced.at(s.elapsed())
		}
		operational := "degraded"
		if l.setup == "configured" {
			operational = "routable"
		}
		all = append(all, link{index, l.name, "ether", operational, setup})
	}
	return all
}

func (s *system) linksPending() bool {
	for _, l := range s.networkLinks() {
		if l.SetupOrAdmin == "configuring" {
			return true
		}
	}
	return false
}

// unitState is the ActiveState of a unit; false if there is no such unit.
func (s *system) unitState(name string) (string, bool) {
	if forced, ok := s.set.units[name]; ok {
		return forced.at(s.elapsed()), true
	}
	pending := s.linksPending()
	s.mu.Lock()
	up := s.up
	s.mu.Unlock()
	switch name {
	case waitOnline:
		return pick(pending, "activating", "active"), true
	case networkOnline:
		return pick(pending, "inactive", "active"), true
	case multiUser, "cloud-init.target":
		return pick(pending || !up, "inactive", "active"), true
	case "qemu-guest-agent.service":
		return "active", true
	}
	return "inactive", false
}

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

func (s *system) unitNames() []string {
	names := slices.Collect(maps.Keys(s.set.units))
	for _, own := range []string{waitOnline, networkOnline, multiUser, "cloud-init.target", "qemu-guest-agent.service"} {
		if !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	slices.Sort(names)
	return names
}

// jobs lists what systemd would still have in its queue: a running job for each
// unit that is activating, a waiting one for the targets behind it.
func (s *system) jobs() []job {
	var all []job
	for _, name := range s.unitNames() {
		state, _ := s.unitState(name)
		isTarget := name == networkOnline || name == multiUser || name == "cloud-init.target"
		switch {
		case state == "activating":
			all = append(all, job{unit: name, kind: "start", state: "running"})
		case state == "inactive" && isTarget:
			all = append(all, job{unit: name, kind: "start", state: "waiting"})
		}
	}
	for _, j := range s.set.jobs {
		if j.until == 0 || s.elapsed() < j.until {
			all = append(all, j)
		}
	}
	return all
}

// running is what systemctl is-system-running says.
func (s *system) running() string {
	if len(s.jobs()) > 0 {
		return "starting"
	}
	for _, name := range s.unitNames() {
		if state, _ := s.unitState(name); state == "failed" {
			return "degraded"
		}
	}
	return "running"
}

func (j job) String() string { return fmt.Sprintf("%s %s %s", j.unit, j.kind, j.state) }
