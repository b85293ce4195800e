package vm

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// stepMade is the step of a create that has done everything. Its mark stays
// incomplete until a state is known to hold the VM: a provider that is killed
// before Terraform has its answer leaves a VM in no state, which the next
// create has to take for its own.
const (
	stepMade     = "made"
	stepComplete = "complete"
)

// madeMarks are the marks of the VMs that this process has made and not yet
// confirmed, by UUID.
type madeMarks struct {
	mu     sync.Mutex
	byUUID map[string]owner.Mark
}

func (x *madeMarks) add(uuid string, mark owner.Mark) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byUUID == nil {
		x.byUUID = map[string]owner.Mark{}
	}
	x.byUUID[uuid] = mark
}

// forget is for what somebody else writes the mark of, or removes.
func (x *madeMarks) forget(uuid string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byUUID, uuid)
}

// has reports whether this process made that VM. Terraform has had the answer
// then: another create that meets it is another resource's.
func (x *madeMarks) has(uuid string, mark *owner.Mark) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	made, ok := x.byUUID[uuid]
	return ok && mark != nil && made.Incarnation == mark.Incarnation
}

func (x *madeMarks) take() map[string]owner.Mark {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.byUUID
	x.byUUID = nil
	return out
}

// ConfirmMade completes the marks of the VMs that this process has made. It is
// for the process's end, when Terraform has written its state. What ctx does
// not leave time for, the next refresh confirms.
func (m *Manager) ConfirmMade(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(4)
	for uuid, mark := range m.made.take() {
		g.Go(func() error {
			mark.Complete = true
			if err := m.step(ctx, uuid, &mark, stepComplete); err != nil {
				m.log.InfoContext(ctx, "vm: not confirmed; the next refresh does it", "vm", mark.Name, "error", err)
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return none
}

// Confirm completes the mark of an observed domain that a state holds under
// that incarnation, where its create ended well. A refresh does not fail over
// it.
func (m *Manager) Confirm(ctx context.Context, o *Observed, incarnation string) {
	mark := o.Definition.Mark
	if mark == nil || mark.Complete || mark.Op.Step != stepMade || mark.Incarnation != incarnation {
		return
	}
	m.made.forget(o.Definition.UUID)
	done := *mark
	done.Complete, done.Op.Step = true, stepComplete
	err := m.host.SetMetadata(ctx, o.Definition.UUID, domxml.MarkURI, domxml.MarkKey, domxml.MetadataMark(done), o.Running())
	if err != nil {
		m.log.InfoContext(ctx, "vm: not confirmed; the next refresh does it", "vm", mark.Name, "error", err)
	}
}
