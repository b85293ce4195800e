package vm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/presence"
)

// quietAfter is how long an incomplete create of another machine must have
// been still before it is taken for dead. Each step of a live one renews it.
const quietAfter = 60 * time.Second

// operations are the names on which a create of this process is at work.
type operations struct {
	mu   sync.Mutex
	busy map[string]bool
}

func newOperations() *operations { return &operations{busy: map[string]bool{}} }

// begin claims a name; the returned function gives it up.
func (o *operations) begin(name string) (func(), error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy[name] {
		return nil, &Problem{
			Field:    "name",
			Happened: fmt.Sprintf("another resource of this configuration is creating a VM named %q on the same host", name),
			Expected: "Each muster_node_vm of a namespace has a name of its own.",
			Todo:     "Rename one of the two.",
		}
	}
	o.busy[name] = true
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.busy, name)
	}, nil
}

// awaitDead returns when nobody works any more on the incomplete domain that
// the mark describes. A process of this machine is looked up; one of another
// machine is dead when its mark has not moved for quietAfter.
func (m *Manager) awaitDead(ctx context.Context, uuid string, mark *owner.Mark) error {
	switch presence.Of(mark.Op.Host) {
	case presence.Elsewhere: // watched below
	case presence.Ended:
		return nil
	case presence.AtWork:
		return fault.New(fault.Busy, "vm: create", mark.Name,
			"another apply on this machine (%s) is creating it (step %q since %s); wait for it or end it", mark.Op.Host, mark.Op.Step, mark.Op.Time.Format(time.RFC3339))
	}
	for {
		left := quietAfter - m.now().Sub(mark.Op.Time)
		if left <= 0 {
			return nil
		}
		m.log.InfoContext(ctx, "vm: an apply elsewhere began this VM; waiting until it moves or counts as dead",
			"vm", mark.Name, "where", mark.Op.Host, "step", mark.Op.Step, "left", left)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(left, 5*time.Second)):
		}
		next, err := m.readMark(ctx, uuid)
		if err != nil || next == nil || next.Complete {
			return err
		}
		mark = next
	}
}
