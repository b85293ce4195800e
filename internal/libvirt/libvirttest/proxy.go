package libvirttest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between clients and a daemon, counts calls and injects faults.
type Proxy struct {
	Socket string // where clients connect

	upstream string
	listener net.Listener
	complain func(format string, args ...any)
	serving  sync.WaitGroup

	mu       sync.Mutex
	rules    []*armedRule
	calls    []Call
	counts   map[string]int
	changed  chan struct{} // closed and renewed at each call
	conns    map[*proxyConn]struct{}
	accepted int
	inFlight int // the most that one connection ever had
	closed   bool
}

var proxyCount atomic.Int32

// NewProxy starts a proxy in front of a private host's socket and stops it when
// the test ends.
func NewProxy(tb testing.TB, upstreamSocket string, rules ...Rule) *Proxy {
	tb.Helper()
	p, err := ServeProxy(upstreamSocket, tb.Errorf)
	if err != nil {
		tb.Fatalf("libvirttest: start proxy: %v", err)
	}
	tb.Cleanup(p.Close)
	p.SetRules(rules...)
	return p
}

// ServeProxy is NewProxy for programs that are no tests. The socket lies next
// to the upstream one. complain is told when a rule cannot be carried out.
func ServeProxy(upstreamSocket string, complain func(format string, args ...any)) (*Proxy, error) {
	name := fmt.Sprintf("proxy-%d-%d", os.Getpid(), proxyCount.Add(1))
	socket := filepath.Join(filepath.Dir(upstreamSocket), name)
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		return nil, err
	}
	p := &Proxy{Socket: socket, upstream: upstreamSocket, listener: l, complain: complain, conns: map[*proxyConn]struct{}{}}
	p.Reset()
	p.serving.Add(1)
	go p.serve()
	return p, nil
}

// URI returns the libvirt URI that leads through the proxy to the QEMU driver.
func (p *Proxy) URI() string { return "qemu+unix:///system?socket=" + p.Socket }

// TestURI returns the URI that leads through the proxy to the test driver; see
// [Host.TestURI] for how long that remembers.
func (p *Proxy) TestURI() string { return "test:///default?socket=" + p.Socket }

// SetRules replaces the rules; a rule that makes no sense is a complaint. The
// new ones count from here.
func (p *Proxy) SetRules(rules ...Rule) {
	armed := make([]*armedRule, 0, len(rules))
	for _, r := range rules {
		if err := r.validate(); err != nil {
			p.complain("libvirttest: rule %+v: %v", r, err)
			continue
		}
		armed = append(armed, &armedRule{Rule: r})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = armed
}

// Reset forgets the calls so far; rules count anew, connections stay.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.counts, p.inFlight = nil, map[string]int{}, 0
	p.changed = make(chan struct{})
	for _, r := range p.rules {
		r.matched, r.fired = 0, 0
	}
}

// Calls returns the calls since Reset in the order in which they came.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Counts returns how often each procedure was called since Reset.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Fired returns how often a rule acted since Reset or SetRules.
func (p *Proxy) Fired() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		n += r.fired
	}
	return n
}

// MaxInFlight returns the most calls that were without a reply at one time on
// one connection, since Reset.
func (p *Proxy) MaxInFlight() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight
}

// Connections returns how many connections are open now and how many were ever
// accepted.
func (p *Proxy) Connections() (open, accepted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns), p.accepted
}

// Await waits until proc was called n times since Reset.
func (p *Proxy) Await(ctx context.Context, proc string, n int) error {
	for {
		p.mu.Lock()
		seen, changed := p.counts[proc], p.changed
		p.mu.Unlock()
		if seen >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s was called %d times, not %d: %w", proc, seen, n, ctx.Err())
		}
	}
}

// CutAll closes every connection.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

// Close stops the proxy and waits until nothing of it runs.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.CutAll()
	p.serving.Wait()
}

func (p *Proxy) serve() {
	defer p.serving.Done()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		// Without a daemon the client sees a connection that closes at once.
		server, err := (&net.Dialer{}).DialContext(context.Background(), "unix", p.upstream)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.adopt(client.(*net.UnixConn), server)
	}
}

func (p *Proxy) adopt(client *net.UnixConn, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	c := newProxyConn(p, p.accepted, client, server)
	if p.closed {
		c.close()
		return
	}
	p.conns[c] = struct{}{}
	p.serving.Add(2)
	go c.fromClient()
	go c.fromServer()
}

func (p *Proxy) forget(c *proxyConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// meet records a call and returns the rule that acts on it, or nil.
func (p *Proxy) meet(c *proxyConn, proc string, inFlight int) (Call, *Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	call := Call{Seq: len(p.calls) + 1, Proc: proc, Conn: c.id, Peer: c.peer}
	p.calls = append(p.calls, call)
	p.counts[proc]++
	p.inFlight = max(p.inFlight, inFlight)
	var acting *armedRule
	for _, r := range p.rules {
		if r.fires(proc) && acting == nil {
			acting = r
		}
	}
	close(p.changed)
	p.changed = make(chan struct{})
	if acting == nil {
		return call, nil
	}
	acting.fired++
	return call, &acting.Rule
}

func (c Call) String() string {
	return strconv.Itoa(c.Seq) + " " + c.Proc + " on connection " + strconv.Itoa(c.Conn)
}
