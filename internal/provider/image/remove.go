package image

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

// removal is what a destroy found and did.
type removal struct {
	Kept   bool     // the volume stays for others
	Newer  *marker  // a newer create of this very image owns it
	UsedBy []string // it could not be removed because of these
}

// remove takes an owner's marker away, and with the last one the volume. While
// something is backed by the volume nothing is removed.
func (s *stocker) remove(ctx context.Context, volume string, own marker, waiting func(users []string)) (removal, error) {
	names, err := s.host.Volumes(ctx, s.pool)
	if err != nil {
		return removal{}, err
	}
	out, err := s.others(ctx, names, volume, own)
	if err != nil {
		return removal{}, err
	}
	if out.Kept {
		return out, s.host.DeleteVolume(ctx, s.pool, markerName(volume, own.Incarnation))
	}
	if slices.Contains(names, volume) {
		if out.UsedBy, err = s.awaitUnused(ctx, volume, waiting); err != nil || len(out.UsedBy) > 0 {
			return out, err
		}
	}
	if err := s.host.DeleteVolume(ctx, s.pool, markerName(volume, own.Incarnation)); err != nil {
		return removal{}, err
	}
	// Another apply may have put its marker there while we looked at users.
	if names, err = s.host.Volumes(ctx, s.pool); err != nil {
		return removal{}, err
	}
	if len(incarnationsOf(names, volume)) > 0 {
		return removal{Kept: true}, nil
	}
	return removal{}, s.host.DeleteVolume(ctx, s.pool, volume)
}

// others looks at the markers that are not ours. One that is unfinished and
// stays so is nobody's.
func (s *stocker) others(ctx context.Context, names []string, volume string, own marker) (removal, error) {
	var out removal
	oursThere := slices.Contains(names, markerName(volume, own.Incarnation))
	for _, inc := range incarnationsOf(names, volume) {
		if inc == own.Incarnation {
			continue
		}
		name := markerName(volume, inc)
		m, err := readMarker(ctx, s.host, s.pool, name)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return removal{}, err
		}
		if m == nil && s.abandoned(ctx, name) {
			if err := s.host.DeleteVolume(ctx, s.pool, name); err != nil {
				return removal{}, err
			}
			continue
		}
		out.Kept = true
		if m != nil && !oursThere && m.sameOwner(own) {
			out.Newer = m
		}
	}
	return out, nil
}

func (s *stocker) awaitUnused(ctx context.Context, volume string, waiting func([]string)) ([]string, error) {
	v, err := s.host.Volume(ctx, s.pool, volume)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return awaitUnused(ctx, s.host, v.Path, waiting)
}

// refusal says why the volume stays.
func (r removal) refusal(pool, volume string) error {
	if len(r.UsedBy) == 0 {
		return nil
	}
	return fault.New(fault.Busy, "image: remove", pool+"/"+volume, "still used after %s by %s", usersGrace, strings.Join(r.UsedBy, ", "))
}

// stands tells what there is of a stocked image: the volume, and whether any
// marker says that it is whole. Newer is set when our own marker is gone and a
// newer create of the same image has its own.
type standing struct {
	Volume libvirt.Volume
	Whole  bool
	Newer  *marker
}

// look reads the standing of an image. The error is fault.NotFound when the
// volume is gone.
func (s *stocker) look(ctx context.Context, volume string, own marker) (standing, error) {
	v, err := s.host.Volume(ctx, s.pool, volume)
	if err != nil {
		return standing{}, err
	}
	names, err := s.host.Volumes(ctx, s.pool)
	if err != nil {
		return standing{}, err
	}
	st := standing{Volume: v, Whole: slices.Contains(names, markerName(volume, own.Incarnation))}
	if st.Whole {
		return st, nil
	}
	for _, inc := range incarnationsOf(names, volume) {
		m, err := readMarker(ctx, s.host, s.pool, markerName(volume, inc))
		if err != nil && !fault.Is(err, fault.NotFound) {
			return standing{}, err
		}
		if m == nil || m.SHA256 != own.SHA256 {
			continue
		}
		st.Whole = true
		if m.sameOwner(own) {
			st.Newer = m
		}
	}
	return st, nil
}

// markersNamed returns, by volume name, the finished markers in the pool of an
// image of that name.
func (s *stocker) markersNamed(ctx context.Context, image string) (map[string]marker, error) {
	names, err := s.host.Volumes(ctx, s.pool)
	if err != nil {
		return nil, err
	}
	found := map[string]marker{}
	for _, n := range names {
		volume, _, ok := splitMarker(n)
		if !ok {
			continue
		}
		m, err := readMarker(ctx, s.host, s.pool, n)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, fmt.Errorf("read marker %s: %w", n, err)
		}
		if m != nil && (m.Name == image || volume == image) {
			found[volume] = *m
		}
	}
	return found, nil
}
