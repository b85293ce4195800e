package libvirt

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// Sizes and numbers of libvirt's RPC framing (virnetprotocol.x).
const (
	headerSize    = 28 // length, program, version, procedure, type, serial, status
	maxPacket     = 32<<20 + headerSize
	remoteProgram = 0x20008086
	procOpen      = 1
	typeReply     = 1
	typeStream    = 3
	statusMore    = 2 // of a stream's packet; one without a body ends it as well
)

var errNotLibvirt = errors.New("the peer does not speak libvirt's protocol")

// wire is the net.Conn handed to go-libvirt. It keeps the connection in our
// hands, so that a deadline can close it, refuses packets of impossible length
// (go-libvirt would allocate or panic), and mends a race of go-libvirt:
// ConnectToURI and the goroutine that notices a lost connection both touch one
// field, unless the loss becomes visible only after ConnectToURI has returned.
//
// It also ends what go-libvirt reads with the packet that ends a stream: the
// daemon may send another one, and go-libvirt, no longer listening to that
// stream, would wait for ever with its lock held. A connection that has served
// a stream serves nothing else.
type wire struct {
	net.Conn

	closing sync.Once
	dead    chan struct{} // closed with the connection

	releasing sync.Once
	opened    chan struct{} // closed when ConnectToURI has returned or failed

	mu    sync.Mutex
	cause error

	order  sorter // only the reading goroutine touches these
	frames framer
}

func newWire(c net.Conn) *wire {
	return &wire{Conn: c, dead: make(chan struct{}), opened: make(chan struct{})}
}

// Read implements io.Reader. Every error becomes io.EOF: go-libvirt would
// spin on one that calls itself temporary.
func (w *wire) Read(p []byte) (int, error) {
	if w.frames.ended {
		return 0, io.EOF
	}
	n, err := w.next(p)
	n, ferr := w.frames.feed(p[:n])
	if ferr != nil {
		n, err = 0, ferr
	}
	if n > 0 || err == nil {
		return n, nil
	}
	w.abort(err)
	if w.frames.opened {
		<-w.opened
	}
	return 0, io.EOF
}

// next reads bytes whose packets are in order.
func (w *wire) next(p []byte) (int, error) {
	if len(w.order.ready) > 0 {
		return w.order.take(p), nil
	}
	n, err := w.Conn.Read(p)
	return w.order.sort(p, n), err
}

// Close implements io.Closer for go-libvirt, which calls it when its handshake
// has failed.
func (w *wire) Close() error {
	w.release()
	w.abort(net.ErrClosed)
	return nil
}

// release lets the end of the connection become visible to go-libvirt.
func (w *wire) release() { w.releasing.Do(func() { close(w.opened) }) }

// abort closes the connection; the first cause is kept.
func (w *wire) abort(cause error) {
	w.closing.Do(func() {
		w.mu.Lock()
		w.cause = cause
		w.mu.Unlock()
		close(w.dead)
		// A connection that is thrown away has nothing left to report.
		_ = w.Conn.Close()
	})
}

// lost returns why the connection ended, or nil while it is up.
func (w *wire) lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cause
}

// framer follows the packets in a stream of bytes.
type framer struct {
	header [headerSize]byte
	have   int    // bytes of the header seen
	body   uint32 // bytes of the payload still to come
	opened bool   // the reply to remote_connect_open has passed in full
	ended  bool   // the last packet of a stream has
}

// feed takes the next bytes and returns how many of them to pass on.
func (f *framer) feed(p []byte) (pass int, err error) {
	all := len(p)
	for len(p) > 0 && !f.ended {
		if f.have < headerSize {
			n := copy(f.header[f.have:], p)
			f.have, p = f.have+n, p[n:]
			if err := f.checkLength(); err != nil {
				return 0, err
			}
			if f.have < headerSize {
				return all, nil
			}
			f.body = binary.BigEndian.Uint32(f.header[:4]) - headerSize
		} else {
			n := min(int(f.body), len(p))
			f.body, p = f.body-uint32(n), p[n:]
		}
		if f.body == 0 {
			f.opened = f.opened || f.isOpenReply()
			f.ended = f.endsStream()
			f.have = 0
		}
	}
	return all - len(p), nil
}

func (f *framer) checkLength() error {
	if f.have < 4 {
		return nil
	}
	if n := binary.BigEndian.Uint32(f.header[:4]); n < headerSize || n > maxPacket {
		return errNotLibvirt
	}
	return nil
}

// field returns the nth number of the header.
func (f *framer) field(n int) uint32 { return binary.BigEndian.Uint32(f.header[4*n:]) }

func (f *framer) isOpenReply() bool {
	return f.field(1) == remoteProgram && f.field(3) == procOpen && f.field(4) == typeReply
}

func (f *framer) endsStream() bool {
	return f.field(4) == typeStream && (f.field(6) != statusMore || f.field(0) == headerSize)
}
