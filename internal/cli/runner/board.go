package runner

import (
	"context"
	"sync"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// settleFor is how long an operation waits for its address: the child's line
// and the provider's event come by two ways.
const settleFor = 300 * time.Millisecond

// board holds what is known of the operations of one run.
type board struct {
	receipts progress.Sink // or nil

	mu        sync.Mutex
	addresses addresses
	order     []string
	last      map[string]progress.Event
	arrived   map[string]time.Time
	trouble   error // of the receipts' file, the first
}

func newBoard(receipts progress.Sink) *board {
	return &board{receipts: receipts, last: map[string]progress.Event{}, arrived: map[string]time.Time{}}
}

// handle takes an event of a provider process.
func (b *board) handle(e progress.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := e.Operation.ID
	if old, known := b.last[id]; known {
		e.Operation.Address = old.Operation.Address
		if old.Operation.Outcome != "" {
			return
		}
	} else {
		b.order = append(b.order, id)
		b.arrived[id] = time.Now()
	}
	b.last[id] = e
	b.keep(e)
}

// hear takes a line of the child.
func (b *board) hear(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addresses.hear(line)
}

// resolve gives addresses to the operations that have none. With final, none
// waits any more.
func (b *board) resolve(now time.Time, final bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range b.order {
		e := b.last[id]
		if e.Operation.Address != "" || !final && now.Sub(b.arrived[id]) < settleFor {
			continue
		}
		if e.Operation.Address = b.addresses.find(e.Operation); e.Operation.Address != "" {
			b.last[id] = e
			b.keep(e)
		}
	}
}

// operations returns all of the run, in the order of their beginnings, but not
// those that are still waiting for an address.
func (b *board) operations(now time.Time) []store.Operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]store.Operation, 0, len(b.order))
	for _, id := range b.order {
		o := b.last[id].Operation
		if o.Address != "" || now.Sub(b.arrived[id]) >= settleFor {
			all = append(all, o)
		}
	}
	return all
}

// keep writes an event into the receipts' file.
func (b *board) keep(e progress.Event) {
	if b.receipts == nil {
		return
	}
	if err := b.receipts.Write(context.Background(), e); err != nil && b.trouble == nil {
		b.trouble = err
	}
}
