package libvirt

import golibvirt "github.com/digitalocean/go-libvirt"

// State is what a domain is doing.
type State string

// The states.
const (
	StateNone        State = "nostate"
	StateRunning     State = "running"
	StateBlocked     State = "blocked"
	StatePaused      State = "paused"
	StateShutdown    State = "shutdown" // on its way to shutoff
	StateShutoff     State = "shutoff"
	StateCrashed     State = "crashed"
	StatePMSuspended State = "pmsuspended"
)

// Off reports whether no guest is there at all.
func (s State) Off() bool { return s == StateShutoff || s == StateCrashed }

var states = map[golibvirt.DomainState]State{
	golibvirt.DomainNostate:     StateNone,
	golibvirt.DomainRunning:     StateRunning,
	golibvirt.DomainBlocked:     StateBlocked,
	golibvirt.DomainPaused:      StatePaused,
	golibvirt.DomainShutdown:    StateShutdown,
	golibvirt.DomainShutoff:     StateShutoff,
	golibvirt.DomainCrashed:     StateCrashed,
	golibvirt.DomainPmsuspended: StatePMSuspended,
}

func stateOf(n int32) State {
	if s, ok := states[golibvirt.DomainState(n)]; ok {
		return s
	}
	return StateNone
}

// reasons holds libvirt's reasons by state, in the order of their numbers
// (libvirt-domain.h).
var reasons = map[State][]string{
	StateRunning: {
		"unknown", "booted", "migrated", "restored", "from snapshot", "unpaused", "migration canceled",
		"save canceled", "wakeup", "crashed", "post-copy", "post-copy failed",
	},
	StatePaused: {
		"unknown", "user", "migrating", "saving", "dumping", "I/O error", "watchdog", "from snapshot",
		"shutting down", "creating snapshot", "crashed", "starting up", "post-copy", "post-copy failed", "api error",
	},
	StateShutdown: {"unknown", "user"},
	StateShutoff: {
		"unknown", "shutdown", "destroyed", "crashed", "migrated", "saved", "failed", "from snapshot", "daemon",
	},
	StateCrashed: {"unknown", "panicked"},
}

func reasonOf(s State, n int32) string {
	if list := reasons[s]; n >= 0 && int(n) < len(list) {
		return list[n]
	}
	return "unknown"
}
