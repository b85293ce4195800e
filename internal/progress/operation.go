package progress

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// Operation is one long piece of work under way. All methods are safe for
// concurrent use, and no-ops on nil.
type Operation struct {
	recorder *Recorder
	stop     chan struct{} // closed by End
	stopped  chan struct{} // closed when beat has returned

	mu     sync.Mutex // of what follows
	record store.Operation
	dirty  bool
	ended  bool

	out sync.Mutex // held while an event is written, so that they keep their order
}

// Record returns the operation's record as it is now.
func (o *Operation) Record() store.Operation {
	if o == nil {
		return store.Operation{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.snapshot()
}

func (o *Operation) snapshot() store.Operation {
	rec := o.record
	rec.Steps = slices.Clone(rec.Steps)
	return rec
}

// Step ends the present step and begins the next, without a measure. The step
// of that name that is under way goes on.
func (o *Operation) Step(name string) { o.StepOf(name, 0, "") }

// StepOf begins a step that is measured: total may be 0 for unknown; unit is
// "B" for bytes, else a plural noun.
func (o *Operation) StepOf(name string, total int64, unit string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	now := o.recorder.cfg.Now()
	if n := len(o.record.Steps); o.ended || n > 0 && o.record.Steps[n-1].Name == name {
		o.mu.Unlock()
		return
	} else if n > 0 {
		o.record.Steps[n-1].Ended = now
	}
	o.record.Steps = append(o.record.Steps, store.Step{Name: name, Total: total, Unit: unit, Begun: now, Moved: now})
	o.record.Moved, o.record.Answered = now, now
	o.mu.Unlock()
	o.flush(Stepped)
}

// Advance says how far the present step is; total 0 leaves it as it was. Only a
// change counts as movement. It costs next to nothing: events are written once
// a second.
func (o *Operation) Advance(done, total int64) {
	o.change(func(s *store.Step) bool {
		if total == 0 {
			total = s.Total
		}
		moved := s.Done != done || s.Total != total
		s.Done, s.Total = done, total
		return moved
	})
}

// Message says in words what the present step is at. Only a change counts as
// movement; it must not hold a secret.
func (o *Operation) Message(text string) {
	o.change(func(s *store.Step) bool {
		moved := s.Message != text
		s.Message = text
		return moved
	})
}

// Heartbeat says that the source of what is awaited has answered, if with
// nothing new: it is silent then, not out of sight.
func (o *Operation) Heartbeat() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.record.Answered = o.recorder.cfg.Now()
}

// Object says what the remote id turned out to be.
func (o *Operation) Object(id string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dirty = o.dirty || o.record.Object != id
	o.record.Object = id
}

// change alters the present step; edit reports whether it moved.
func (o *Operation) change(edit func(*store.Step) bool) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.record.Steps)
	if n == 0 || o.ended {
		return
	}
	now := o.recorder.cfg.Now()
	s := &o.record.Steps[n-1]
	o.record.Answered = now
	if edit(s) {
		s.Moved, o.record.Moved, o.dirty = now, now, true
	}
}

// End ends the operation: how, why if not done, and what it left behind. What
// is called after the first End changes nothing.
func (o *Operation) End(outcome store.Outcome, reason string, left ...store.Left) {
	if o == nil {
		return
	}
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return
	}
	now := o.recorder.cfg.Now()
	o.ended = true
	if n := len(o.record.Steps); n > 0 && outcome == store.Done {
		o.record.Steps[n-1].Ended = now
	}
	o.record.Ended, o.record.Outcome, o.record.Reason, o.record.Left = now, outcome, reason, left
	o.mu.Unlock()
	close(o.stop)
	<-o.stopped
	o.flush(Concluded)
}

// Finish ends the operation as err and the state of ctx say.
func (o *Operation) Finish(ctx context.Context, err error, left ...store.Left) {
	if o == nil {
		return
	}
	outcome, reason := OutcomeOf(ctx, err)
	o.End(outcome, reason, left...)
}

// OutcomeOf returns the outcome of work that returned err under ctx, and the
// reason in words.
func OutcomeOf(ctx context.Context, err error) (store.Outcome, string) {
	if err == nil {
		return store.Done, ""
	}
	is := func(target error) bool { return errors.Is(err, target) || errors.Is(ctx.Err(), target) }
	switch {
	case is(context.Canceled):
		return store.Interrupted, err.Error()
	case is(context.DeadlineExceeded):
		return store.TimedOut, err.Error()
	default:
		return store.Failed, err.Error()
	}
}

// flush writes the record as it is now.
func (o *Operation) flush(kind EventKind) {
	o.out.Lock()
	defer o.out.Unlock()
	o.mu.Lock()
	now := o.recorder.cfg.Now()
	o.record.Heartbeat = now
	o.dirty = false
	e := Event{Kind: kind, Time: now, Operation: o.snapshot()}
	o.mu.Unlock()
	o.recorder.write(e)
}

// beat writes movement once a second, and a sign of life where there is none.
func (o *Operation) beat() {
	defer close(o.stopped)
	tick := time.NewTicker(advanceEvery)
	defer tick.Stop()
	for {
		select {
		case <-o.stop:
			return
		case <-tick.C:
		}
		o.mu.Lock()
		dirty, still := o.dirty, o.recorder.cfg.Now().Sub(o.record.Heartbeat)
		o.mu.Unlock()
		switch {
		case dirty:
			o.flush(Advanced)
		case still >= BeatEvery-advanceEvery/2:
			o.flush(Beat)
		}
	}
}
