package store

import (
	"context"
	"errors"
	"sync"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Mode says what may be done to open a store.
type Mode uint8

// The modes.
const (
	Existing Mode = iota + 1 // one that is there; else fault.NotFound, and nothing is made
	Create                   // made where there is none
)

// OpenFunc opens a store.
type OpenFunc func(ctx context.Context, mode Mode) (*DB, error)

// Lazy opens a store when it is first needed. It is safe for concurrent use.
type Lazy struct {
	open OpenFunc

	mu     sync.Mutex
	db     *DB
	closed bool
}

// NewLazy returns a store that is not open yet.
func NewLazy(open OpenFunc) *Lazy { return &Lazy{open: open} }

var errClosed = errors.New("the store is closed")

// Get returns the opened store, opening it as mode allows where it is not. A
// failure is not kept: the next call tries again.
func (l *Lazy) Get(ctx context.Context, mode Mode) (*DB, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "store: open", Err: errClosed}
	}
	if l.db != nil {
		return l.db, nil
	}
	db, err := l.open(ctx, mode)
	if err != nil {
		return nil, err
	}
	l.db = db
	return db, nil
}

// Close closes the store if it was opened.
func (l *Lazy) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.db == nil {
		return nil
	}
	err := l.db.Close()
	l.db = nil
	return err
}
