package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

const (
	failureMemory = 5 * time.Second        // a dead host is not dialed again for so long
	redialPause   = 100 * time.Millisecond // between attempts while a known daemon restarts
	maxHandshakes = 4                      // at once; sshd turns away the eleventh
	closeGrace    = 2 * time.Second
)

// Host is one libvirt daemon. It is safe for concurrent use.
type Host struct {
	cfg Config
	ep  endpoint

	base context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup // goroutines that hold a connection

	reads, writes, guests *lane
	handshakes            chan struct{}

	remember time.Duration // failureMemory, but for tests

	mu      sync.Mutex
	failure *ConnectError // of the newest attempt to reach the host
	failed  time.Time     // when
	reached bool          // a handshake has succeeded in this process
	closed  bool
	streams map[*link]struct{}

	inventory inventoryCache
	pools     poolIDs
	caps      capabilitiesCache
}

// ConnectError says that the host itself cannot be reached or does not answer,
// as opposed to one call having failed. It is in the chain of such errors.
type ConnectError struct {
	URI  string
	Kind fault.Kind // Unavailable, or Denied: no waiting helps
	Err  error
}

// Error implements error.
func (e *ConnectError) Error() string { return "host " + e.URI + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// Open checks cfg and returns its host. It dials nothing: the first call does.
// Supported are qemu:///system, qemu+unix://, qemu+ssh://, qemu+tls://,
// qemu+tcp:// and test:///default, each with ?socket= where a socket is used.
// The error is fault.Invalid.
func Open(cfg Config) (*Host, error) {
	cfg = cfg.withDefaults()
	ep, err := parseEndpoint(cfg)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "libvirt: open", Subject: ep.shown, Err: err}
	}
	h := &Host{
		cfg: cfg, ep: ep, handshakes: make(chan struct{}, maxHandshakes),
		remember: failureMemory, streams: map[*link]struct{}{},
	}
	h.base, h.stop = context.WithCancel(context.Background())
	h.reads, h.writes, h.guests = newLane(h, 1), newLane(h, 2), newLane(h, 2)
	return h, nil
}

// URI returns the host's canonical URI. Equal hosts have equal ones, and there
// is never a secret in it.
func (h *Host) URI() string { return h.ep.canonical }

// Close ends all calls and connections. It never waits for the peer.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	for _, l := range []*lane{h.reads, h.writes, h.guests} {
		l.closeAll()
	}
	h.mu.Lock()
	for lk := range h.streams {
		lk.close()
	}
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() { h.work.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(closeGrace):
	}
	return nil
}

// Ping checks that the daemon answers. One RPC.
func (h *Host) Ping(ctx context.Context) error {
	_, err := call(ctx, h, request{op: "ping"}, func(l *golibvirt.Libvirt) (uint64, error) {
		return l.ConnectGetLibVersion()
	})
	return err
}

// connect opens one connection. A failure is remembered for a while, so that
// of many callers only one waits for a dead host.
func (h *Host) connect(ctx context.Context) (*link, error) {
	select {
	case h.handshakes <- struct{}{}:
		defer func() { <-h.handshakes }()
	case <-ctx.Done():
		return nil, errClosed
	}
	if err := h.recentFailure(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.DialTimeout)
	defer cancel()
	began := time.Now()
	lk, err := h.attempt(ctx)
	for err != nil && h.restarting(err) {
		select {
		case <-time.After(redialPause):
			lk, err = h.attempt(ctx)
			continue
		case <-ctx.Done():
		}
		break
	}
	h.cfg.Logger.Debug("libvirt connect", "uri", h.URI(), "took", time.Since(began), "error", err)
	switch {
	case err == nil:
	case h.base.Err() != nil:
		return nil, errClosed
	case ctx.Err() != nil:
		// Not wrapped: this is no deadline of the caller's.
		return nil, h.unreachable(fmt.Errorf("no connection within %s: %s", h.cfg.DialTimeout, err.Error()))
	default:
		return nil, h.unreachable(err)
	}
	h.mu.Lock()
	h.failure, h.reached = nil, true
	h.mu.Unlock()
	return lk, nil
}

func (h *Host) attempt(ctx context.Context) (*link, error) {
	conn, err := h.ep.dial(ctx)
	if err != nil {
		return nil, err
	}
	return handshake(ctx, conn, h.ep.driver)
}

// restarting reports whether err is what a daemon gives that is being
// restarted. Only a host that has answered before is given that benefit.
func (h *Host) restarting(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.reached {
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, errHandshakeCut) || errors.Is(err, errSocketRefused)
}

// unreachable classifies and remembers that the host cannot be reached.
func (h *Host) unreachable(cause error) error {
	err := &ConnectError{URI: h.URI(), Kind: dialKind(cause), Err: cause}
	h.mu.Lock()
	h.failure, h.failed = err, time.Now()
	h.mu.Unlock()
	return err
}

func (h *Host) recentFailure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failure == nil || time.Since(h.failed) > h.remember {
		return nil
	}
	return h.failure
}

// spawn runs fn, which holds a connection, in a goroutine that Close waits
// for. It reports false, and runs nothing, once the host is closed.
func (h *Host) spawn(fn func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Go(fn)
	return true
}
