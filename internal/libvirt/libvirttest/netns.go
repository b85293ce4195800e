package libvirttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Dial connects from inside the host's network namespace to a literal address
// there: its own loopback, a bridge, a guest.
func (h *Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := inNetwork(h.pid, func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Listen listens on a literal address inside the host's network namespace, for
// a server that guests can reach.
func (h *Host) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	var l net.Listener
	err := inNetwork(h.pid, func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(ctx, network, address)
		return err
	})
	return l, err
}

// inNetwork runs fn on a thread that is in the network namespace of process
// pid. A socket stays in the namespace in which it was made.
func inNetwork(pid int, fn func() error) error {
	ns, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return fmt.Errorf("the host does not run: %w", err)
	}
	defer ns.Close()
	result := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine and takes the
		// foreign namespace with it.
		runtime.LockOSThread()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("enter network namespace: %w", err)
			return
		}
		result <- fn()
	}()
	return <-result
}

// forwarder carries connections from this process's loopback to ports on the
// host's own.
type forwarder struct {
	mu        sync.Mutex
	listeners map[int]net.Listener
	conns     map[net.Conn]struct{}
	closed    bool
}

// forward returns an address on this side's loopback that leads to port on the
// host's loopback.
func (h *Host) forward(port int) (string, error) {
	f := &h.forwards
	f.mu.Lock()
	defer f.mu.Unlock()
	if l, ok := f.listeners[port]; ok {
		return l.Addr().String(), nil
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	if f.listeners == nil {
		f.listeners, f.conns = map[int]net.Listener{}, map[net.Conn]struct{}{}
	}
	f.listeners[port] = l
	go h.serveForward(l, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return l.Addr().String(), nil
}

func (h *Host) serveForward(l net.Listener, target string) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			far, err := h.Dial(context.Background(), "tcp", target)
			if err != nil {
				_ = near.Close()
				return
			}
			h.forwards.join(near, far)
		}()
	}
}

// join copies both ways until one side ends.
func (f *forwarder) join(a, b net.Conn) {
	if !f.track(a, b) {
		return
	}
	var once sync.Once
	finish := func() { once.Do(func() { f.drop(a, b) }) }
	go func() { _, _ = io.Copy(a, b); finish() }()
	_, _ = io.Copy(b, a)
	finish()
}

func (f *forwarder) track(conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		if f.closed {
			_ = c.Close()
		} else {
			f.conns[c] = struct{}{}
		}
	}
	return !f.closed
}

func (f *forwarder) drop(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(f.conns, c)
	}
}

func (f *forwarder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, l := range f.listeners {
		_ = l.Close()
	}
	for c := range f.conns {
		_ = c.Close()
	}
}

// TCPURI returns the URI of the daemon's TCP port; see [WithTCP].
func (h *Host) TCPURI() string {
	h.helper()
	return "qemu+tcp://" + h.listener(h.conf.tcp, "WithTCP", tcpPort) + "/system"
}

// TLSURI returns the URI of the daemon's TLS port; see [WithTLS].
func (h *Host) TLSURI() string {
	h.helper()
	return "qemu+tls://" + h.listener(h.conf.tls, "WithTLS", tlsPort) + "/system"
}

func (h *Host) listener(on bool, option string, port int) string {
	h.helper()
	if !on {
		h.must(errors.New("the host was started without " + option))
	}
	address, err := h.forward(port)
	h.must(err)
	return address
}
