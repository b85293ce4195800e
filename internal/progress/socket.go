package progress

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// SocketEnv names the environment variable in which `run` hands its socket to
// the processes that it starts, and they to theirs.
const SocketEnv = "MUSTER_PROGRESS_SOCKET"

const (
	// maxSocketPath is what fits into a socket's address, on every system.
	maxSocketPath = 103
	// maxFrame limits what a peer can make us hold, in bytes.
	maxFrame = 1 << 20
)

type socketSink struct {
	path string

	mu   sync.Mutex
	conn net.Conn
}

// ToSocket sends each event to a Receiver: four bytes of length, high first,
// and the event as JSON.
func ToSocket(path string) Sink { return &socketSink{path: path} }

func (s *socketSink) Name() string { return "the program run" }

func (s *socketSink) Write(ctx context.Context, e Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(body) > maxFrame {
		return fmt.Errorf("an event of %d bytes is too large", len(body))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		if s.conn, err = (&net.Dialer{}).DialContext(ctx, "unix", s.path); err != nil {
			return err
		}
	}
	deadline, _ := ctx.Deadline()
	err = s.conn.SetWriteDeadline(deadline)
	if err == nil {
		_, err = s.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	}
	if err != nil { // half a frame may be out: begin anew
		_ = s.conn.Close()
		s.conn = nil
	}
	return err
}

func (s *socketSink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}

// Receiver takes events from the processes that were handed its socket. It
// accepts nothing else, and answers nothing.
type Receiver struct {
	dir      string
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Listen makes a socket in a new folder that only we may enter. handle is
// called for every event, from one goroutine a peer. When a peer is gone with
// operations that have not ended, each comes once more with kind Beat and an
// old heartbeat, for nobody works on it.
func Listen(handle func(Event)) (*Receiver, error) {
	var dir string
	var problem error
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if base == "" {
			continue
		}
		made, err := os.MkdirTemp(base, "muster-") // mode 0700
		if err != nil {
			problem = errors.Join(problem, err)
			continue
		}
		if len(filepath.Join(made, "s")) <= maxSocketPath {
			dir = made
			break
		}
		problem = errors.Join(problem, fmt.Errorf("the path of %s is too long for a socket", base), os.Remove(made))
	}
	if dir == "" {
		return nil, fmt.Errorf("make a folder for the progress socket: %w", problem)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", filepath.Join(dir, "s"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r := &Receiver{dir: dir, listener: l, conns: map[net.Conn]bool{}}
	r.wg.Go(func() { r.accept(handle) })
	return r, nil
}

// Path of the socket.
func (r *Receiver) Path() string { return filepath.Join(r.dir, "s") }

// drainLimit is how long Close reads on for what peers have sent already.
const drainLimit = 500 * time.Millisecond

// Close stops listening, takes in what was sent, and removes the folder.
func (r *Receiver) Close() error {
	err := r.listener.Close()
	r.mu.Lock()
	for conn := range r.conns {
		err = errors.Join(err, conn.SetReadDeadline(time.Now().Add(drainLimit)))
	}
	r.mu.Unlock()
	r.wg.Wait()
	return errors.Join(err, os.RemoveAll(r.dir))
}

func (r *Receiver) accept(handle func(Event)) {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.conns[conn] = true
		r.mu.Unlock()
		r.wg.Go(func() {
			serve(conn, handle)
			r.mu.Lock()
			delete(r.conns, conn)
			r.mu.Unlock()
			_ = conn.Close()
		})
	}
}

// serve reads frames until the peer ends or sends what is none.
func serve(conn io.Reader, handle func(Event)) {
	last := map[string]Event{}
	for {
		e, err := readFrame(conn)
		if err != nil {
			break
		}
		if e.Kind == Concluded {
			delete(last, e.Operation.ID)
		} else {
			last[e.Operation.ID] = e
		}
		handle(e)
	}
	for _, e := range last {
		e.Kind = Beat
		e.Operation.Quiet = LostAfter + time.Second
		handle(e)
	}
}

func readFrame(r io.Reader) (e Event, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return e, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return e, fmt.Errorf("a frame of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return e, err
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return e, err
	}
	if e.Operation.ID == "" {
		return e, errors.New("a frame without an operation")
	}
	return e, nil
}
