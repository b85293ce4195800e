package vm

import (
	"context"
	"fmt"
	"sync"
)

// Notes are what a user has to hear of an operation that went well: that a
// guest had to be forced off, for instance.
type Notes struct {
	mu   sync.Mutex
	list []string
}

type notesKey struct{}

// WithNotes returns a context in which the manager's notes are collected.
func WithNotes(ctx context.Context) (context.Context, *Notes) {
	n := &Notes{}
	return context.WithValue(ctx, notesKey{}, n), n
}

// All returns the notes so far, in order.
func (n *Notes) All() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.list...)
}

func note(ctx context.Context, format string, args ...any) {
	n, ok := ctx.Value(notesKey{}).(*Notes)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}
