package progress_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/presence"
	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
	"github.com/musterlab/terraform-provider-muster/internal/store/sqlite"
)

const childEnv = "MUSTER_TEST_PROGRESS_CHILD"

// TestMain is also the child that is killed in the middle of its work.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		work(dir)
	}
	os.Exit(m.Run())
}

func lazyStore(dir string) *store.Lazy {
	return store.NewLazy(func(ctx context.Context, mode store.Mode) (*store.DB, error) {
		return sqlite.Open(ctx, filepath.Join(dir, ".muster", "fleet.db"), mode)
	})
}

// work records into every sink, tells its parent and waits to be killed.
func work(dir string) {
	rec := progress.NewRecorder(progress.Config{
		Process: presence.Here(),
		Sinks: []progress.Sink{
			progress.ToStore(lazyStore(dir)), progress.ToFile(filepath.Join(dir, "progress.jsonl")), progress.ToSocket(os.Getenv(progress.SocketEnv)),
		},
	})
	_, op := progress.Begin(progress.With(context.Background(), rec), subject, progress.Limit(progress.Timeout, time.Hour))
	op.Step("define")
	op.StepOf("upload", 100, "B")
	op.Advance(42, 0)
	// Written by itself within a second.
	for !fileHas(filepath.Join(dir, "progress.jsonl"), `"done":42`) {
		<-time.After(20 * time.Millisecond)
	}
	_, _ = os.Stdout.WriteString("working\n")
	select {}
}

func fileHas(path, text string) bool {
	b, _ := os.ReadFile(path)
	return strings.Contains(string(b), text)
}

// heard collects what a receiver is told.
type heard struct {
	mu   sync.Mutex
	last map[string]progress.Event
	n    int
}

func (h *heard) handle(e progress.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[string]progress.Event{}
	}
	h.last[e.Operation.ID] = e
	h.n++
}

func (h *heard) of(id string) (progress.Event, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[id], h.n
}

func listen(t *testing.T) (*progress.Receiver, *heard) {
	h := &heard{}
	r, err := progress.Listen(h.handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Dir(r.Path())); err == nil {
			t.Error("the socket's folder is left")
		}
	})
	return r, h
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A process that is killed leaves a receipt everywhere, and the next one is
// told of it once.
func TestKill_leavesAReceipt(t *testing.T) {
	dir := t.TempDir()
	r, h := listen(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir, progress.SocketEnv+"="+r.Path())
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "working\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	db, err := lazyStore(dir).Get(t.Context(), store.Existing)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if op, err := progress.TellCutShort(t.Context(), db, subject); err != nil || op != nil {
		t.Errorf("a living process is told of as dead: %v, %v", op, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()

	op, err := progress.TellCutShort(t.Context(), db, subject)
	if err != nil || op == nil {
		t.Fatalf("nobody is told: %v", err)
	}
	fromFile, err := progress.ReadFile(filepath.Join(dir, "progress.jsonl"))
	if err != nil || len(fromFile) != 1 {
		t.Fatal(fromFile, err)
	}
	eventually(t, "the socket's reader notices", func() bool {
		e, _ := h.of(op.ID)
		return progress.StateOf(e.Operation) == progress.CutShort && e.Operation.Quiet > 0
	})
	fromSocket, _ := h.of(op.ID)
	for where, o := range map[string]store.Operation{"store": *op, "file": fromFile[0], "socket": fromSocket.Operation} {
		if s := o.Current(); s.Name != "upload" || s.Done != 42 || s.Total != 100 || o.Outcome != "" || progress.StateOf(o) != progress.CutShort {
			t.Errorf("the %s says %+v", where, o)
		}
	}
	if again, err := progress.TellCutShort(t.Context(), db, subject); err != nil || again != nil {
		t.Errorf("told twice: %v, %v", again, err)
	}
}

func TestSocket_refusesWhatIsNoFrame(t *testing.T) {
	r, h := listen(t)
	for _, sent := range [][]byte{
		[]byte("GET / HTTP/1.1\r\n\r\n"),
		binary.BigEndian.AppendUint32(nil, 1<<31),
		append(binary.BigEndian.AppendUint32(nil, 2), "{}"...),
		append(binary.BigEndian.AppendUint32(nil, 2), "[["...),
	} {
		conn, err := net.Dial("unix", r.Path())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(sent); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
			t.Errorf("%q is answered or kept: %d, %v", sent, n, err)
		}
		_ = conn.Close()
	}
	if _, n := h.of(""); n != 0 {
		t.Errorf("%d events from nonsense", n)
	}
	if info, err := os.Stat(filepath.Dir(r.Path())); err != nil || info.Mode().Perm() != 0o700 || len(r.Path()) > 103 {
		t.Errorf("%s: mode %v, %v", r.Path(), info.Mode(), err)
	}
}

func TestReadFile_cutOffLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	whole := `{"event":"begin","operation":{"id":"a","name":"n"}}` + "\n"
	for text, want := range map[string]int{"": 0, whole: 1, whole + `{"event":"st`: 1, "nonsense\n" + whole: -1} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := progress.ReadFile(path)
		if (err != nil) != (want < 0) || err == nil && len(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
