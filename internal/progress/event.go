package progress

import (
	"context"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// EventKind says why an operation's record is written.
type EventKind string

// The kinds.
const (
	Began     EventKind = "begin"
	Stepped   EventKind = "step"     // a new step
	Advanced  EventKind = "progress" // further within a step; at most one each second
	Beat      EventKind = "beat"     // nothing new, and the process lives
	Concluded EventKind = "end"
)

// Event is one state of an operation: always the whole record, so that the
// newest event is all that a reader needs.
type Event struct {
	Kind      EventKind       `json:"event"`
	Time      time.Time       `json:"time"`
	Operation store.Operation `json:"operation"`
}

// Sink receives events, those of one operation in order. It is called from
// several goroutines.
type Sink interface {
	// Name says in messages where the events go.
	Name() string
	Write(ctx context.Context, e Event) error
	Close() error
}
