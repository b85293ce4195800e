package image

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

// cleanupLimit is how long a failed create may take to tidy up.
const cleanupLimit = 20 * time.Second

// stocker puts content into one pool of one host.
type stocker struct {
	host   *libvirt.Host
	pool   string
	report reportFunc
}

// stocked is a volume that holds the whole content.
type stocked struct {
	volume libvirt.Volume
	marker marker
}

// find returns a volume with that hash and format which some marker says is
// whole, and that marker; nil when there is none. It may stand under another
// image's name.
func (s *stocker) find(ctx context.Context, sha256, format string) (*stocked, error) {
	names, err := s.host.Volumes(ctx, s.pool)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, volume := range names {
		if !strings.HasSuffix(volume, contentSuffix(sha256, format)) {
			continue
		}
		m, err := s.proof(ctx, names, volume, sha256)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		v, err := s.host.Volume(ctx, s.pool, volume)
		if fault.Is(err, fault.NotFound) {
			continue // removed since it was listed
		}
		if err != nil {
			return nil, err
		}
		return &stocked{volume: v, marker: *m}, nil
	}
	return nil, nil
}

// proof returns a finished marker of the volume for that hash, or nil.
func (s *stocker) proof(ctx context.Context, names []string, volume, sha256 string) (*marker, error) {
	for _, inc := range incarnationsOf(names, volume) {
		m, err := readMarker(ctx, s.host, s.pool, markerName(volume, inc))
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m != nil && m.SHA256 == sha256 {
			return m, nil
		}
	}
	return nil, nil
}

// maxRounds is how often ensure starts over when others remove under its hands
// what it relied on.
const maxRounds = 3

// ensure stocks the content under a name, unless the pool has it already, and
// leaves a marker for the owner. src is read only when it has to be uploaded.
// With an error, what is returned is what could not be removed again: nothing,
// if all went well that far.
func (s *stocker) ensure(ctx context.Context, m marker, src io.ReadSeeker) (stocked, error) {
	for range maxRounds {
		have, err := s.find(ctx, m.SHA256, m.Format)
		if err != nil {
			return stocked{}, err
		}
		shared := have != nil
		if !shared {
			v, err := s.upload(ctx, volumeName(m.Name, m.content()), m.content(), src)
			if err != nil {
				v.Pool, v.Name = s.pool, volumeName(m.Name, m.content())
				return s.withdraw(ctx, stocked{volume: v, marker: m}, true), err
			}
			have = &stocked{volume: v}
		}
		volume := have.volume.Name
		if err := writeMarker(ctx, s.host, s.pool, volume, m); err != nil {
			return s.withdraw(ctx, stocked{volume: have.volume, marker: m}, !shared), err
		}
		ok, err := s.settled(ctx, *have, shared)
		if err != nil {
			return stocked{}, err
		}
		if ok {
			return stocked{volume: have.volume, marker: m}, s.dropForebears(ctx, volume, m)
		}
		s.withdraw(ctx, stocked{volume: have.volume, marker: m}, false)
	}
	return stocked{}, fault.New(fault.Conflict, "image: stock", m.Name,
		"its volume in pool %s was removed %d times while it was being stocked", s.pool, maxRounds)
}

// settled reports whether the volume is still there now that our marker is,
// and so is the one by which it was known to be whole. Whoever removes a volume
// removes its own marker first and then looks for others: it has seen ours, or
// we see that its own is gone.
func (s *stocker) settled(ctx context.Context, have stocked, shared bool) (bool, error) {
	names, err := s.host.Volumes(ctx, s.pool)
	if err != nil {
		return false, err
	}
	volume := have.volume.Name
	ok := slices.Contains(names, volume)
	if shared {
		ok = ok && slices.Contains(names, markerName(volume, have.marker.Incarnation))
	}
	return ok, nil
}

// dropForebears removes the markers of the same owner that an earlier create
// has left: of a process that was killed after it had finished and before its
// state was saved. Whoever still has that incarnation in a state learns from
// the newer marker that it owns nothing any more.
func (s *stocker) dropForebears(ctx context.Context, volume string, m marker) error {
	names, err := s.host.Volumes(ctx, s.pool)
	if err != nil {
		return err
	}
	for _, inc := range incarnationsOf(names, volume) {
		if inc == m.Incarnation {
			continue
		}
		name := markerName(volume, inc)
		old, err := readMarker(ctx, s.host, s.pool, name)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if old != nil && !old.sameOwner(m) {
			continue
		}
		if old == nil && !s.abandoned(ctx, name) {
			continue
		}
		if err := s.host.DeleteVolume(ctx, s.pool, name); err != nil {
			return err
		}
	}
	return nil
}

// abandoned reports whether an unfinished marker is nobody's work in progress:
// it stays unfinished while we look again.
func (s *stocker) abandoned(ctx context.Context, name string) bool {
	const patience = 2 * time.Second
	select {
	case <-time.After(patience):
	case <-ctx.Done():
		return false
	}
	m, err := readMarker(ctx, s.host, s.pool, name)
	return err == nil && m == nil
}

// withdraw removes our marker, and with volume the volume itself unless others
// have markers on it, within a limit of its own: ctx may have ended. It returns
// what may be left, which is nothing where all was seen to be gone.
func (s *stocker) withdraw(ctx context.Context, st stocked, volume bool) stocked {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	err := s.host.DeleteVolume(ctx, s.pool, markerName(st.volume.Name, st.marker.Incarnation))
	if err == nil && volume {
		var names []string
		names, err = s.host.Volumes(ctx, s.pool)
		if err == nil && len(incarnationsOf(names, st.volume.Name)) == 0 {
			err = s.host.DeleteVolume(ctx, s.pool, st.volume.Name)
		}
	}
	if err == nil || fault.Is(err, fault.NotFound) {
		return stocked{}
	}
	return st
}

// upload writes the content into a volume of that name, new or left by an
// upload that was cut short, and verifies it. A failed one has to be removed.
func (s *stocker) upload(ctx context.Context, name string, c content, src io.ReadSeeker) (libvirt.Volume, error) {
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return libvirt.Volume{}, err
	}
	fresh, err := s.makeVolume(ctx, name, c)
	if err != nil {
		return libvirt.Volume{}, err
	}
	sent := newScanner(ctx, src, nil)
	if err := s.host.Upload(ctx, s.pool, name, sent, c.FileSize, meter(s.report, "upload", c.FileSize)); err != nil {
		return libvirt.Volume{}, err
	}
	if sent.digest() != c.SHA256 {
		return libvirt.Volume{}, fault.New(fault.Conflict, "image: upload", name, "the source changed while it was read")
	}
	v, err := s.host.Volume(ctx, s.pool, name)
	if err != nil {
		return v, err
	}
	if c.Format == formatRaw && v.CapacityBytes != uint64(c.FileSize) {
		return v, s.unverified(ctx, name, fmt.Sprintf("has %d bytes, want %d", v.CapacityBytes, c.FileSize))
	}
	if fresh {
		return v, s.verifyEnds(ctx, name, sent.solid, src)
	}
	return v, s.verifyAll(ctx, name, c)
}

// makeVolume creates the volume. One that is there and has no marker is what
// an interrupted upload left; it is written over rather than removed, because
// another apply may be writing the same bytes right now. Only one that cannot
// come out right, being longer than the content, is removed.
func (s *stocker) makeVolume(ctx context.Context, name string, c content) (fresh bool, err error) {
	old, err := s.host.Volume(ctx, s.pool, name)
	switch {
	case err == nil && (c.Format != formatRaw || old.CapacityBytes <= uint64(c.FileSize)):
		return false, nil
	case err == nil:
		if err := s.host.DeleteVolume(ctx, s.pool, name); err != nil {
			return false, err
		}
	case !fault.Is(err, fault.NotFound):
		return false, err
	}
	if err := s.room(ctx, name, c); err != nil {
		return false, err
	}
	_, err = s.host.CreateVolume(ctx, libvirt.VolumeSpec{
		Pool: s.pool, Name: name, Format: c.Format, CapacityBytes: uint64(c.VirtualSize), Owner: -1, Group: -1,
	})
	if fault.Is(err, fault.Conflict) {
		return false, nil // another apply made it in this moment
	}
	return true, err
}

// room checks that the pool can hold the file, before anything is written.
// What libvirt says of a pool is as old as its last refresh, so that a refusal
// looks twice.
func (s *stocker) room(ctx context.Context, name string, c content) error {
	p, err := s.host.Pool(ctx, s.pool)
	if err == nil && p.AvailableBytes < uint64(c.FileSize) {
		p, err = s.refreshed(ctx)
	}
	if err != nil {
		return err
	}
	if p.AvailableBytes < uint64(c.FileSize) {
		return fault.New(fault.Exhausted, "image: stock", name, "the pool %s has %d MiB available and the image needs %d MiB",
			s.pool, p.AvailableBytes>>20, (c.FileSize+1<<20-1)>>20)
	}
	return nil
}

func (s *stocker) refreshed(ctx context.Context) (libvirt.Pool, error) {
	if err := s.host.RefreshPool(ctx, s.pool); err != nil {
		return libvirt.Pool{}, err
	}
	return s.host.Pool(ctx, s.pool)
}
