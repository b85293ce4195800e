package libvirt

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
)

const (
	chunkSize = 256 << 10              // of one packet: go-libvirt copies each
	copyGrace = 500 * time.Millisecond // for the caller's reader or writer to come back when it is over
	stallTick = 250 * time.Millisecond
)

var errStreamEnded = errors.New("the stream has ended")

// transfer is one stream over a connection of its own. go-libvirt's end of it
// never sees an error of ours and waits for nothing but a pipe, which we can
// close: a writer that fails, or a reader that hangs, would stop it for good.
// Whatever goes wrong, the connection is closed, and that ends it.
type transfer struct {
	h    *Host
	r    request
	link *link
	pr   *io.PipeReader
	pw   *io.PipeWriter

	moved   atomic.Int64  // bytes
	waiting atomic.Int64  // since when, in ns, the peer is waited for; 0: it is not
	news    chan struct{} // something has moved; capacity 1
}

// openTransfer dials a connection for one stream.
func (h *Host) openTransfer(ctx context.Context, r request) (*transfer, error) {
	type dialed struct {
		link *link
		err  error
	}
	done := make(chan dialed, 1)
	if !h.spawn(func() {
		lk, err := h.connect(h.base)
		done <- dialed{lk, err}
	}) {
		done <- dialed{err: errClosed}
	}
	select {
	case d := <-done:
		if d.err != nil {
			return nil, h.classify(&unsentError{d.err}, r, false)
		}
		t := &transfer{h: h, r: r, link: d.link, news: make(chan struct{}, 1)}
		t.pr, t.pw = io.Pipe()
		h.mu.Lock()
		h.streams[d.link] = struct{}{}
		h.mu.Unlock()
		return t, nil
	case <-ctx.Done():
		go func() {
			if d := <-done; d.err == nil {
				d.link.close()
			}
		}()
		return nil, h.classify(&unsentError{ctx.Err()}, r, false)
	}
}

// close ends the connection without a word to the peer, and both ends of the
// pipe with it.
func (t *transfer) close() {
	t.h.mu.Lock()
	delete(t.h.streams, t.link)
	t.h.mu.Unlock()
	t.link.close()
	_ = t.pr.CloseWithError(errStreamEnded)
	_ = t.pw.CloseWithError(errStreamEnded)
}

// await says that the peer is waited for from now on.
func (t *transfer) await() { t.waiting.Store(time.Now().UnixNano()) }

// advance counts n bytes; the peer is not waited for.
func (t *transfer) advance(n int) {
	t.waiting.Store(0)
	t.moved.Add(int64(n))
	select {
	case t.news <- struct{}{}:
	default:
	}
}

func (t *transfer) stalled(limit time.Duration) bool {
	since := t.waiting.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > limit
}

// run makes the RPC and waits until it and our own copying, whose end comes
// over ours, are over. The peer may keep us waiting for the write timeout at a
// time. It calls progress in the caller's goroutine.
func (t *transfer) run(ctx context.Context, rpc func(*golibvirt.Libvirt) error, ours <-chan error, progress func(int64)) error {
	defer t.close()
	theirs := make(chan error, 1)
	if !t.h.spawn(func() {
		err := rpc(t.link.rpc)
		// The pipe's reader sees the end; its writer is not written to again.
		_ = t.pw.Close()
		theirs <- lostError(t.link, err)
	}) {
		return &unsentError{errClosed}
	}
	limit := t.h.timeoutOf(t.r)
	tick := time.NewTicker(stallTick)
	defer tick.Stop()
	for theirs != nil || ours != nil {
		select {
		case <-t.news:
			progress(t.moved.Load())
		case err := <-ours:
			ours = nil
			if isSourceError(err) { // any other is the pipe's, and the peer's end tells why
				return err
			}
		case err := <-theirs:
			theirs = nil
			if err != nil {
				return t.blame(err, ours)
			}
		case <-ctx.Done():
			t.close()
			_ = t.settle(ours) // the cancellation is the reason, whatever it caused
			return ctx.Err()
		case <-tick.C:
			if t.stalled(limit) {
				t.close()
				_ = t.settle(ours) // the silence is the reason
				return &silentError{limit}
			}
		}
	}
	return nil
}

// blame returns our own error where that is why the peer's end failed.
func (t *transfer) blame(theirErr error, ours <-chan error) error {
	t.close()
	if err := t.settle(ours); isSourceError(err) {
		return err
	}
	return theirErr
}

// settle waits a moment for our copying to end.
func (t *transfer) settle(ours <-chan error) error {
	if ours == nil {
		return nil
	}
	select {
	case err := <-ours:
		return err
	case <-time.After(copyGrace):
		return nil
	}
}
