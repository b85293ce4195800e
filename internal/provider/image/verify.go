package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// errUnverified says that the volume does not hold what was sent.
var errUnverified = errors.New("the volume does not hold what was uploaded")

// sample is how much is read back at each end of a volume.
const sample = 64 << 10

// verifyEnds reads back both ends of a volume that was new, where an end is
// the last byte that is not zero. That proves the whole: the daemon writes in
// order and stops at the first failure, of which it does not always tell (a
// disk that became full is acknowledged like a success about once in ten
// times), and what it has not written of a new volume reads as zeros.
func (s *stocker) verifyEnds(ctx context.Context, name string, solid int64, src io.ReadSeeker) error {
	for _, offset := range []int64{0, max(0, solid-sample)} {
		want := make([]byte, min(sample, solid-offset))
		if len(want) == 0 {
			continue // nothing but zeros
		}
		if _, err := src.Seek(offset, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.ReadFull(src, want); err != nil {
			return err
		}
		var got bytes.Buffer
		if _, err := s.host.Download(ctx, s.pool, name, uint64(offset), uint64(len(want)), &got); err != nil {
			return err
		}
		if !bytes.Equal(got.Bytes(), want) {
			return s.unverified(ctx, name, fmt.Sprintf("differs after byte %d", offset))
		}
	}
	return nil
}

// verifyAll reads the whole of a volume back that held something before.
func (s *stocker) verifyAll(ctx context.Context, name string, c content) error {
	sum := newScanner(ctx, nil, meter(s.report, "verify", c.FileSize))
	if _, err := s.host.Download(ctx, s.pool, name, 0, uint64(c.FileSize), writerOf{sum}); err != nil {
		return err
	}
	if sum.digest() != c.SHA256 {
		return s.unverified(ctx, name, "has the SHA-256 "+sum.digest())
	}
	return nil
}

// writerOf is a scanner that is written to.
type writerOf struct{ s *scanner }

// Write implements io.Writer.
func (w writerOf) Write(p []byte) (int, error) {
	w.s.sum.Write(p)
	w.s.n += int64(len(p))
	w.s.report(w.s.n)
	return len(p), nil
}

// unverified says how a volume differs from what was sent, and that the disk
// is full where it is.
func (s *stocker) unverified(ctx context.Context, name, how string) error {
	if p, err := s.refreshed(ctx); err == nil && p.AvailableBytes < sample {
		return fault.New(fault.Exhausted, "image: upload", name, "No space left on device: the pool %s is full, and the volume %s", s.pool, how)
	}
	return fault.New(fault.Unknown, "image: upload", name, "%w: it %s", errUnverified, how)
}
