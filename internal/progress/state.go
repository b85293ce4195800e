package progress

import (
	"context"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/presence"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// LostAfter is how long after its last heartbeat the process of an operation
// is taken for dead: six beats.
const LostAfter = 6 * BeatEvery

// State is what an operation is at, in words that people read.
type State string

// The states beside the outcomes.
const (
	Running  State = "running"
	CutShort State = "cut short" // its process ended without a word
)

// StateOf tells the state of a record that was read. A process of this machine
// is looked up; one elsewhere is judged by its heartbeat.
func StateOf(o store.Operation) State {
	switch {
	case o.Outcome != "":
		return State(o.Outcome)
	case o.Quiet > LostAfter:
		return CutShort
	case o.Process != presence.Here() && presence.Of(o.Process) == presence.Ended:
		return CutShort
	default:
		return Running
	}
}

// Open reports whether an operation that is the newest of its object still
// asks for somebody: it runs, or it did not come to its end.
func Open(o store.Operation) bool { return o.Outcome != store.Done }

// TellCutShort returns the newest operation on the object, if its process
// ended without a word and nobody was told yet: whoever gets it tells. The
// caller makes sure beforehand that what it wanted is not true by now.
func TellCutShort(ctx context.Context, db *store.DB, s Subject) (*store.Operation, error) {
	found, err := db.Operations(ctx, store.Query{Type: s.Type, Name: s.Name, Host: s.Host, Max: 1})
	if err != nil || len(found) == 0 || found[0].Told || StateOf(found[0]) != CutShort {
		return nil, err
	}
	first, err := db.Tell(ctx, found[0].ID)
	if err != nil || !first {
		return nil, err
	}
	return &found[0], nil
}

// Took is how long the operation ran, or has run so far at now. One that was
// cut short ran until its last heartbeat.
func Took(o store.Operation, now time.Time) time.Duration {
	end := o.Ended
	if end.IsZero() {
		end = now
		if StateOf(o) == CutShort {
			end = o.Heartbeat
		}
	}
	return max(0, end.Sub(o.Begun))
}
