package vm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
)

// Ready says what has to be true before a started machine counts as ready.
type Ready struct {
	Lease   bool     // every NIC on a libvirt network with DHCP has a lease
	Agent   bool     // the guest agent answers
	Units   []string // these systemd units are active
	Timeout time.Duration
}

func (r Ready) wanted() bool { return r.Lease || r.Agent || len(r.Units) > 0 }

// check is one condition and the last answer of the source that was asked.
type check struct {
	name   string // `lease of nic "lan"`
	source string
	last   string
	done   bool
	ask    func(context.Context, *check)
}

const readyEvery = 2 * time.Second

// awaitReady waits until every wanted condition holds. When time runs out the
// error says of each that does not which source was asked and what it last
// answered, and what systemd in the guest still waits for. The machine stays.
// beat is called now and then, for others to see that somebody still waits; it
// may be nil.
func (m *Manager) awaitReady(ctx context.Context, uuid string, s domxml.Spec, r Ready, beat func(context.Context) error) error {
	if !r.wanted() {
		return nil
	}
	checks, err := m.checks(ctx, uuid, s, r)
	if err != nil {
		return err
	}
	began := m.now()
	m.log.InfoContext(ctx, "vm: waiting until ready", "vm", s.Name, "for", names(checks), "limit", r.Timeout)
	limit := time.NewTimer(r.Timeout)
	defer limit.Stop()
	pulse := time.NewTicker(quietAfter / 3)
	defer pulse.Stop()
	for {
		left := pendingChecks(ctx, checks)
		if len(left) == 0 {
			m.log.InfoContext(ctx, "vm: ready", "vm", s.Name, "after", m.now().Sub(began).Round(time.Second))
			return nil
		}
		select {
		case <-ctx.Done():
			return &NotReady{Name: s.Name, Limit: m.now().Sub(began), Left: describe(left), Err: context.Cause(ctx)}
		case <-limit.C:
			return &NotReady{Name: s.Name, Limit: r.Timeout, Left: append(describe(left), m.guestDoubts(uuid)...)}
		case <-pulse.C:
			if beat == nil {
				continue
			}
			if err := beat(ctx); err != nil {
				m.log.InfoContext(ctx, "vm: owner mark not renewed", "vm", s.Name, "error", err)
			}
		case <-time.After(readyEvery):
			m.log.InfoContext(ctx, "vm: still waiting", "vm", s.Name, "elapsed", m.now().Sub(began).Round(time.Second),
				"limit", r.Timeout, "for", strings.Join(describe(left), "; "))
		}
	}
}

// NotReady says what a machine still lacked when its time ran out.
type NotReady struct {
	Name  string
	Limit time.Duration
	Left  []string
	Err   error // why the wait ended early; nil: the limit
}

// Error implements error.
func (e *NotReady) Error() string {
	s := fmt.Sprintf("%s was not ready after %s: %s", e.Name, e.Limit.Round(time.Second), strings.Join(e.Left, "; "))
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// Unwrap returns why the wait ended early.
func (e *NotReady) Unwrap() error { return e.Err }

func pendingChecks(ctx context.Context, checks []*check) []*check {
	var left []*check
	for _, c := range checks {
		if !c.done && ctx.Err() == nil {
			c.ask(ctx, c)
		}
		if !c.done {
			left = append(left, c)
		}
	}
	return left
}

func names(checks []*check) string {
	out := make([]string, len(checks))
	for i, c := range checks {
		out[i] = c.name
	}
	return strings.Join(out, ", ")
}

func describe(checks []*check) []string {
	out := make([]string, len(checks))
	for i, c := range checks {
		last := c.last
		if last == "" {
			last = "not asked yet"
		}
		out[i] = fmt.Sprintf("%s: asked %s, last answer: %s", c.name, c.source, last)
	}
	return out
}

func (m *Manager) checks(ctx context.Context, uuid string, s domxml.Spec, r Ready) ([]*check, error) {
	var out []*check
	if r.Lease {
		leases, err := m.leaseChecks(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, leases...)
	}
	if r.Agent || len(r.Units) > 0 {
		out = append(out, &check{name: "guest agent", source: "the agent's channel (guest-ping)", ask: m.askAgent(uuid)})
	}
	for _, unit := range r.Units {
		out = append(out, &check{name: "unit " + unit, source: "systemctl in the guest", ask: m.askUnit(uuid, unit)})
	}
	return out, nil
}

// leaseChecks asks libvirt's DHCP server for each NIC that it serves.
func (m *Manager) leaseChecks(ctx context.Context, s domxml.Spec) ([]*check, error) {
	var out []*check
	for _, n := range s.NICs {
		if n.Network == "" || n.LinkDown {
			continue
		}
		xml, err := m.host.NetworkXML(ctx, n.Network, libvirt.Live)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(xml, "<dhcp") {
			continue
		}
		out = append(out, &check{
			name: fmt.Sprintf("lease of nic %q", n.Name), source: "the DHCP server of libvirt network " + n.Network, ask: m.askLease(n),
		})
	}
	if len(out) == 0 {
		return nil, &Problem{
			Field:    "ready.lease",
			Happened: "no NIC is on a libvirt network with a DHCP server",
			Expected: "A lease can only be seen where libvirt gives it.",
			Todo:     "Use ready { agent = true }, or add a dhcp block to the muster_network.",
		}
	}
	return out, nil
}

func (m *Manager) askLease(n domxml.NIC) func(context.Context, *check) {
	return func(ctx context.Context, c *check) {
		leases, err := m.leases.of(ctx, n.Network)
		switch {
		case err != nil:
			c.last = err.Error()
		case leases[n.MAC] == "":
			c.last = "no lease for " + n.MAC
		default:
			c.done, c.last = true, leases[n.MAC]
		}
	}
}

func (m *Manager) askAgent(uuid string) func(context.Context, *check) {
	return func(ctx context.Context, c *check) {
		if _, err := m.host.Agent(ctx, uuid, `{"execute":"guest-ping"}`, agentLimit); err != nil {
			c.last = err.Error()
			return
		}
		c.done = true
	}
}

func (m *Manager) askUnit(uuid, unit string) func(context.Context, *check) {
	return func(ctx context.Context, c *check) {
		out, err := m.guestRun(ctx, uuid, "systemctl", "is-active", unit)
		switch state := strings.TrimSpace(out); {
		case state == "active":
			c.done = true
		case state != "":
			c.last = state
		case err != nil:
			c.last = err.Error()
		default:
			c.last = "nothing"
		}
	}
}

// guestDoubts asks a guest, whose time has run out, what its systemd waits
// for. It has its own short limit and never fails.
func (m *Manager) guestDoubts(uuid string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 3*agentLimit)
	defer cancel()
	var out []string
	if jobs, err := m.guestRun(ctx, uuid, "systemctl", "list-jobs", "--no-legend", "--no-pager"); err == nil {
		for _, line := range nonEmptyLines(jobs) {
			if !strings.HasPrefix(line, "No jobs") {
				out = append(out, "systemd waits for: "+strings.Join(strings.Fields(line), " "))
			}
		}
	}
	if links, err := m.guestRun(ctx, uuid, "networkctl", "list", "--no-legend", "--no-pager"); err == nil {
		for _, line := range nonEmptyLines(links) {
			if f := strings.Fields(line); len(f) >= 5 && f[4] != "configured" && f[4] != "unmanaged" {
				out = append(out, fmt.Sprintf("link %s is %s, not configured", f[1], f[4]))
			}
		}
	}
	return out
}

func nonEmptyLines(s string) []string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}
