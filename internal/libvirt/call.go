package libvirt

import (
	"context"
	"errors"
	"fmt"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// class is the sort of a call: over which connections it goes, and whether it
// may be sent again.
type class uint8

const (
	read  class = iota // changes nothing; sent again once when the connection is lost
	slow               // as read, but with the write timeout, beside the reads
	write              // changes something; never sent again
)

// request describes one call.
type request struct {
	op      string // "define domain"
	subject string
	class   class
	guest   bool          // waits for a guest or its monitor: over connections of its own
	timeout time.Duration // 0: the class's
}

func (h *Host) laneOf(r request) *lane {
	switch {
	case r.guest:
		return h.guests
	case r.class == read:
		return h.reads
	default:
		return h.writes
	}
}

func (h *Host) timeoutOf(r request) time.Duration {
	switch {
	case r.timeout > 0:
		return r.timeout
	case r.class == read:
		return h.cfg.ReadTimeout
	default:
		return h.cfg.WriteTimeout
	}
}

type answer[T any] struct {
	value T
	err   error
}

// call runs fn, which makes exactly one RPC, over a connection of the
// request's class and classifies its error.
func call[T any](ctx context.Context, h *Host, r request, fn func(*golibvirt.Libvirt) (T, error)) (T, error) {
	changes := r.class == write
	if changes && !r.guest {
		h.inventory.invalidate()
		defer h.inventory.invalidate()
	}
	began := time.Now()
	value, err := once(ctx, h, r, fn)
	if again(err, changes) {
		value, err = once(ctx, h, r, fn)
	}
	h.cfg.Logger.Debug("libvirt "+r.op, "uri", h.URI(), "subject", r.subject, "took", time.Since(began), "error", err)
	if err != nil {
		var zero T
		return zero, h.classify(err, r, changes)
	}
	return value, nil
}

// do is call for RPCs that return nothing.
func do(ctx context.Context, h *Host, r request, fn func(*golibvirt.Libvirt) error) error {
	_, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (struct{}, error) { return struct{}{}, fn(l) })
	return err
}

// once makes the call once. The RPC runs in a goroutine of its own: there is
// no other way to stop waiting for it.
func once[T any](ctx context.Context, h *Host, r request, fn func(*golibvirt.Libvirt) (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, &unsentError{err}
	}
	l := h.laneOf(r)
	lk, err := l.acquire(ctx)
	if err != nil {
		return zero, &unsentError{err}
	}
	done := make(chan answer[T], 1)
	if !h.spawn(func() {
		v, err := fn(lk.rpc)
		done <- answer[T]{v, err}
	}) {
		l.release(lk, true)
		return zero, &unsentError{errClosed}
	}
	limit := h.timeoutOf(r)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a := <-done:
		l.release(lk, false)
		return a.value, lostError(lk, a.err)
	case <-ctx.Done():
		l.release(lk, true)
		return zero, ctx.Err()
	case <-timer.C:
		l.release(lk, true)
		return zero, &silentError{limit}
	}
}

// again reports whether a call that ended with err may be sent once more: a
// read that lost its connection, or anything of which not a byte has left.
func again(err error, changes bool) bool {
	var lost *connectionLostError
	if !errors.As(err, &lost) {
		return false
	}
	return !changes || lost.unsent
}

// unsentError: the request was never sent.
type unsentError struct{ error }

// Unwrap returns the cause.
func (e *unsentError) Unwrap() error { return e.error }

// silentError: no reply came in time.
type silentError struct{ limit time.Duration }

// Error implements error.
func (e *silentError) Error() string { return fmt.Sprintf("no answer within %s", e.limit) }

// classify turns the error of a call into a fault.
func (h *Host) classify(err error, r request, changes bool) error {
	f := &fault.Error{Kind: fault.Unavailable, Op: "libvirt: " + r.op, Subject: r.subject}
	if changes {
		f.Kind = fault.Ambiguous
	}
	var (
		unsent  *unsentError
		connect *ConnectError
		lost    *connectionLostError
		silent  *silentError
	)
	switch {
	case errors.As(err, &unsent):
		f.Kind, f.Err = fault.Unavailable, unsent.error
		if errors.As(err, &connect) {
			f.Kind = connect.Kind
		}
	case errors.As(err, &silent):
		f.Err = silent
		if r.class == read {
			f.Err = h.unreachable(silent)
		}
	case errors.As(err, &lost):
		f.Err = lost
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.Err = fmt.Errorf("the call was cut short: %w", err)
	default:
		f.Kind, f.Err = kindOf(err), err
	}
	return f
}
