package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// sourceError: the caller's reader or writer failed, not the host.
type sourceError struct {
	kind fault.Kind
	error
}

// Unwrap returns the cause.
func (e *sourceError) Unwrap() error { return e.error }

func isSourceError(err error) bool {
	var source *sourceError
	return errors.As(err, &source)
}

// Upload writes size bytes from r into the volume, from its start. It holds a
// few MiB, whatever the size. progress, which may be nil, is called with the
// bytes sent so far, in the caller's goroutine.
//
// A source that ends early is an error, and so is anything that may have left
// the volume half written, for libvirt would take it for whole: it stays, and
// the caller has to remove it or to write it again. After a cancellation r may
// still be in its last Read when Upload returns.
//
// libvirtd 9.0 may answer that all went well although a full disk cut the write
// short: who relies on the content reads its end back.
func (h *Host) Upload(ctx context.Context, pool, name string, r io.Reader, size int64, progress func(done int64)) error {
	req := request{op: "upload volume", subject: pool + "/" + name, class: write}
	if size < 0 {
		return fault.New(fault.Invalid, "libvirt: "+req.op, req.subject, "size %d is negative", size)
	}
	if progress == nil {
		progress = func(int64) {}
	}
	t, err := h.openTransfer(ctx, req)
	if err != nil {
		return err
	}
	h.inventory.invalidate()
	defer h.inventory.invalidate()
	ours := make(chan error, 1)
	go func() { ours <- t.feed(r, size) }()
	err = t.run(ctx, func(l *golibvirt.Libvirt) error {
		return l.StorageVolUpload(volumeRef(pool, name), t.pr, 0, uint64(size), 0)
	}, ours, progress)
	if err != nil {
		return h.missingPool(ctx, pool, h.classifyTransfer(err, req, true))
	}
	progress(size)
	return nil
}

// feed copies the source into the pipe; the pipe's end is the stream's.
func (t *transfer) feed(r io.Reader, size int64) error {
	buf := make([]byte, chunkSize)
	left := size
	for left > 0 {
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), left)])
		left -= int64(n)
		if n > 0 {
			t.await()
			if _, err := t.pw.Write(buf[:n]); err != nil {
				return err
			}
			t.advance(n)
		}
		switch {
		case left == 0 || err == nil:
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return &sourceError{fault.Invalid, fmt.Errorf("the source ended after %d of %d bytes", size-left, size)}
		default:
			return &sourceError{fault.KindOf(err), fmt.Errorf("reading the source after %d of %d bytes: %w", size-left, size, err)}
		}
	}
	t.await() // for the daemon's confirmation
	return t.pw.Close()
}

// Download writes length bytes of the volume, 0 for all there are, from offset
// on to w, and returns how many it wrote: fewer when the volume is shorter. It
// holds a few MiB. An error of w ends it at once. After a cancellation w may
// still be in its last Write when Download returns.
func (h *Host) Download(ctx context.Context, pool, name string, offset, length uint64, w io.Writer) (int64, error) {
	req := request{op: "download volume", subject: pool + "/" + name, class: slow}
	t, err := h.openTransfer(ctx, req)
	if err != nil {
		return 0, err
	}
	ours := make(chan error, 1)
	t.await()
	go func() { ours <- t.drain(w) }()
	err = t.run(ctx, func(l *golibvirt.Libvirt) error {
		return l.StorageVolDownload(volumeRef(pool, name), sink{t.pw}, offset, length, 0)
	}, ours, func(int64) {})
	if err != nil {
		return t.moved.Load(), h.missingPool(ctx, pool, h.classifyTransfer(err, req, false))
	}
	return t.moved.Load(), nil
}

// drain copies the pipe to the caller's writer.
func (t *transfer) drain(w io.Writer) error {
	buf := make([]byte, chunkSize)
	for {
		n, err := t.pr.Read(buf)
		if n > 0 {
			t.waiting.Store(0)
			written, err := w.Write(buf[:n])
			t.advance(written)
			if err != nil {
				return &sourceError{fault.KindOf(err), fmt.Errorf("writing what was read: %w", err)}
			}
			t.await()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sink is the writer go-libvirt gets: it never fails.
type sink struct{ *io.PipeWriter }

// Write implements io.Writer.
func (s sink) Write(p []byte) (int, error) {
	// An end of the pipe is seen on its other side; here it means: discard.
	_, _ = s.PipeWriter.Write(p)
	return len(p), nil
}

func (h *Host) classifyTransfer(err error, r request, changes bool) error {
	var source *sourceError
	if errors.As(err, &source) {
		return &fault.Error{Kind: source.kind, Op: "libvirt: " + r.op, Subject: r.subject, Err: source.error}
	}
	return h.classify(err, r, changes)
}
