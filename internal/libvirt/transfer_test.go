package libvirt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func sysStat(info os.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

// endless has no end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// slot returns a host and the name of a volume in its pool "default".
func slot(t *testing.T, size uint64) (*Host, *libvirttest.Proxy, string) {
	t.Helper()
	lh := libvirttest.Start(t)
	proxy := libvirttest.NewProxy(t, lh.Socket)
	h := open(t, Config{URI: proxy.URI()})
	_, err := h.CreateVolume(t.Context(), VolumeSpec{Pool: "default", Name: "v", Format: "raw", CapacityBytes: size, Owner: -1, Group: -1})
	must(t, err)
	return h, proxy, "v"
}

func random(n int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), n) }

func TestTransfer_uploadAndDownload(t *testing.T) {
	const size = 10<<20 + 12345
	h, _, vol := slot(t, size)
	ctx := t.Context()
	sent := sha256.New()
	var steps []int64
	must(t, h.Upload(ctx, "default", vol, io.TeeReader(random(size), sent), size, func(done int64) { steps = append(steps, done) }))
	for i := 1; i < len(steps); i++ {
		if steps[i] < steps[i-1] {
			t.Fatalf("progress goes back: %v", steps)
		}
	}
	if len(steps) == 0 || steps[len(steps)-1] != size {
		t.Errorf("progress ends at %v", steps)
	}
	got := sha256.New()
	n, err := h.Download(ctx, "default", vol, 0, 0, got)
	must(t, err)
	if n != size || !bytes.Equal(got.Sum(nil), sent.Sum(nil)) {
		t.Errorf("read back %d bytes, %x, want %x", n, got.Sum(nil), sent.Sum(nil))
	}

	var all, part bytes.Buffer
	_, err = io.Copy(&all, random(size))
	must(t, err)
	n, err = h.Download(ctx, "default", vol, 1<<20+7, 999, &part)
	must(t, err)
	if n != 999 || !bytes.Equal(part.Bytes(), all.Bytes()[1<<20+7:][:999]) {
		t.Errorf("a part of %d bytes is another", n)
	}
	n, err = h.Download(ctx, "default", vol, size, 0, &part)
	if n != 0 || err != nil {
		t.Errorf("beyond the end: %d, %v", n, err)
	}
	must(t, h.Upload(ctx, "default", vol, bytes.NewReader(nil), 0, nil))
}

// In about one of a hundred downloads the first data overtake the reply.
func TestTransfer_manySmallDownloads(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI(), WriteTimeout: 5 * time.Second})
	const size = 5000
	_, err := h.CreateVolume(t.Context(), VolumeSpec{Pool: "default", Name: "v", Format: "raw", CapacityBytes: size, Owner: -1, Group: -1})
	must(t, err)
	must(t, h.Upload(t.Context(), "default", "v", random(size), size, nil))
	var want bytes.Buffer
	_, err = io.Copy(&want, random(size))
	must(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				var got bytes.Buffer
				n, err := h.Download(t.Context(), "default", "v", 0, 0, &got)
				if err != nil || n != size || !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("%d bytes, %v", n, err)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestTransfer_sourceAtFault(t *testing.T) {
	h, _, vol := slot(t, 8<<20)
	ctx := t.Context()
	err := h.Upload(ctx, "default", vol, random(3<<20), 8<<20, nil)
	wantKind(t, err, fault.Invalid, "default/v", "ended after 3145728 of 8388608 bytes")

	broken := errors.New("the disk fell off")
	err = h.Upload(ctx, "default", vol, io.MultiReader(random(3<<20), failingReader{broken}), 8<<20, nil)
	if !errors.Is(err, broken) {
		t.Errorf("the reader's error is lost: %v", err)
	}
	n, err := h.Download(ctx, "default", vol, 0, 0, failingWriter{broken})
	if !errors.Is(err, broken) || n != 0 {
		t.Errorf("the writer's error is lost: %d, %v", n, err)
	}
	must(t, h.Upload(ctx, "default", vol, random(8<<20), 8<<20, nil))
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A writer that fails in the midst of much data is what hangs go-libvirt.
func TestTransfer_failingWriterNeverHangs(t *testing.T) {
	h, _, vol := slot(t, 16<<20)
	must(t, h.Upload(t.Context(), "default", vol, endless{}, 16<<20, nil))
	broken := errors.New("full")
	for i := range int64(15) {
		within(t, 2*time.Second, "a download into a full disk", func() {
			w := &limitedWriter{left: i * 1_000_003, err: broken}
			n, err := h.Download(t.Context(), "default", vol, 0, 0, w)
			if !errors.Is(err, broken) || n > i*1_000_003 {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
}

type limitedWriter struct {
	left int64
	err  error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(w.left, int64(len(p)))
	w.left -= n
	if n < int64(len(p)) {
		return int(n), w.err
	}
	return int(n), nil
}

func TestTransfer_cutInTheMiddle(t *testing.T) {
	h, proxy, vol := slot(t, 16<<20)
	ctx := t.Context()
	proxy.SetRules(libvirttest.Rule{Proc: "StorageVolUpload", Action: libvirttest.CutStream, Bytes: 5 << 20})
	err := h.Upload(ctx, "default", vol, random(16<<20), 16<<20, nil)
	wantKind(t, err, fault.Ambiguous, "default/v", "lost")
	proxy.SetRules(libvirttest.Rule{Proc: "StorageVolDownload", Action: libvirttest.CutStream, Bytes: 5 << 20})
	n, err := h.Download(ctx, "default", vol, 0, 0, &countWriter{})
	wantKind(t, err, fault.Unavailable, "default/v", "lost")
	if n > 5<<20 {
		t.Errorf("%d bytes came through", n)
	}
}

func TestTransfer_cancel(t *testing.T) {
	h, _, vol := slot(t, 64<<20)
	for name, call := range map[string]func(ctx context.Context, reached func()) error{
		"upload": func(ctx context.Context, reached func()) error {
			return h.Upload(ctx, "default", vol, endless{}, 1<<40, func(done int64) {
				if done > 8<<20 {
					reached()
				}
			})
		},
		"upload from a source that hangs": func(ctx context.Context, reached func()) error {
			pr, _ := io.Pipe()
			defer pr.Close()
			time.AfterFunc(50*time.Millisecond, reached)
			return h.Upload(ctx, "default", vol, pr, 1<<20, nil)
		},
		"download": func(ctx context.Context, reached func()) error {
			_, err := h.Download(ctx, "default", vol, 0, 0, writerFunc(func(p []byte) (int, error) { reached(); return len(p), nil }))
			return err
		},
		"download to a target that hangs": func(ctx context.Context, reached func()) error {
			pr, pw := io.Pipe()
			defer pr.Close()
			time.AfterFunc(50*time.Millisecond, reached)
			_, err := h.Download(ctx, "default", vol, 0, 0, pw)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var at time.Time
			err := call(ctx, func() {
				if at.IsZero() {
					at = time.Now()
				}
				cancel()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if took := time.Since(at); took > time.Second {
				t.Errorf("ended %s after the cancellation", took)
			}
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestTransfer_silentPeer(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI(), WriteTimeout: 500 * time.Millisecond})
	_, err := h.CreateVolume(t.Context(), VolumeSpec{Pool: "default", Name: "v", Format: "raw", CapacityBytes: 64 << 20, Owner: -1, Group: -1})
	must(t, err)
	thaw := func() {}
	defer func() { thaw() }()
	frozen := false
	err = h.Upload(t.Context(), "default", "v", endless{}, 1<<40, func(done int64) {
		if done > 8<<20 && !frozen {
			frozen, thaw = true, lh.FreezeDaemon()
		}
	})
	wantKind(t, err, fault.Ambiguous, "no answer within 500ms")
}

// The peak of the heap while a gibibyte goes up and comes down.
func TestTransfer_memoryIsBounded(t *testing.T) {
	const size, most = 1 << 30, 48 << 20
	lh := libvirttest.Start(t) // without a proxy, whose memory would count
	h := open(t, Config{URI: lh.URI()})
	const vol = "v"
	_, err := h.CreateVolume(t.Context(), VolumeSpec{Pool: "default", Name: vol, Format: "raw", CapacityBytes: size, Owner: -1, Group: -1})
	must(t, err)
	peak := heap()
	watch := func() { peak = max(peak, heap()) }
	must(t, h.Upload(t.Context(), "default", vol, endless{}, size, func(int64) { watch() }))
	n, err := h.Download(t.Context(), "default", vol, 0, 0, writerFunc(func(p []byte) (int, error) { watch(); return len(p), nil }))
	must(t, err)
	if n != size {
		t.Errorf("read back %d bytes", n)
	}
	if peak > most {
		t.Errorf("peak %d MiB, at most %d are allowed", peak>>20, most>>20)
	}
}

// heap returns the bytes that the runtime holds from the system.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
