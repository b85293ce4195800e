package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxInFlight is how many calls share a connection: libvirtd serves five at a
// time and lets the sixth wait behind the slowest.
const maxInFlight = 4

var errClosed = errors.New("this host has been closed here")

// lane is a small set of connections for one sort of calls.
type lane struct {
	host   *Host
	tokens chan struct{} // one for each call in flight

	mu      sync.Mutex
	links   []*link
	dialing *dialing
}

// dialing is one attempt to connect, shared by all who wait for it.
type dialing struct {
	done chan struct{}
	err  error
}

func newLane(h *Host, connections int) *lane {
	return &lane{host: h, tokens: make(chan struct{}, connections*maxInFlight)}
}

// acquire returns a connection with room for one more call. The caller hands
// it back with release.
func (l *lane) acquire(ctx context.Context) (*link, error) {
	select {
	case l.tokens <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.host.base.Done():
		return nil, errClosed
	}
	lk, err := l.ready(ctx)
	if err != nil {
		<-l.tokens
		return nil, err
	}
	return lk, nil
}

// ready finds or opens a link. Three links that died at once are enough to
// give up.
func (l *lane) ready(ctx context.Context) (*link, error) {
	for range 3 {
		lk, d := l.pick()
		if lk != nil {
			return lk, nil
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if d.err != nil {
			return nil, d.err
		}
	}
	return nil, l.host.unreachable(fmt.Errorf("each new connection was closed at once"))
}

// pick returns a link with room, its call already counted, or the attempt to
// get one.
func (l *lane) pick() (*link, *dialing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	alive := l.links[:0]
	var best *link
	for _, lk := range l.links {
		if !lk.alive() {
			continue
		}
		alive = append(alive, lk)
		if !lk.retired && lk.live < maxInFlight && (best == nil || lk.live < best.live) {
			best = lk
		}
	}
	clear(l.links[len(alive):])
	l.links = alive
	if best != nil {
		best.live++
		return best, nil
	}
	if l.dialing == nil {
		d := &dialing{done: make(chan struct{})}
		l.dialing = d
		if !l.host.spawn(func() { l.dial(d) }) {
			l.dialing, d.err = nil, errClosed
			close(d.done)
			return nil, d
		}
	}
	return nil, l.dialing
}

// dial opens one link. It is no caller's own: one who gives up does not take
// the connection from the others.
func (l *lane) dial(d *dialing) {
	lk, err := l.host.connect(l.host.base)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialing, d.err = nil, err
	if err == nil {
		if l.host.base.Err() != nil {
			lk.close()
		}
		l.links = append(l.links, lk)
	}
	close(d.done)
}

// release hands a link back. With abandon, the call's reply is no longer
// waited for: the link takes no new calls, and goes when the last of the
// others has ended.
func (l *lane) release(lk *link, abandon bool) {
	l.mu.Lock()
	lk.live--
	lk.retired = lk.retired || abandon
	if lk.retired && lk.live == 0 {
		lk.close()
	}
	l.mu.Unlock()
	<-l.tokens
}

// closeAll closes every link, in use or not.
func (l *lane) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lk := range l.links {
		lk.close()
	}
	l.links = nil
}
