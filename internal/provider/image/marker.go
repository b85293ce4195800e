package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// typeName is the Terraform type, as it stands in markers.
const typeName = "muster_image"

// markerInfix stands between a volume's name and the incarnation in the name
// of a marker.
const markerInfix = ".muster-"

// maxMarker is more than any marker has, in bytes.
const maxMarker = 64 << 10

// marker is the content of a companion volume. Its being there says that the
// volume it belongs to was uploaded as a whole and verified: the marker is
// written only afterwards.
type marker struct {
	Namespace   string          `json:"namespace"`
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Incarnation string          `json:"incarnation"`
	SHA256      string          `json:"sha256"`
	Format      string          `json:"format"`
	FileSize    int64           `json:"size"`         // bytes of the file
	VirtualSize int64           `json:"virtual_size"` // bytes that a guest sees
	Source      string          `json:"source,omitempty"`
	Op          owner.Operation `json:"op"`
}

func (m marker) content() content {
	return content{SHA256: m.SHA256, Format: m.Format, FileSize: m.FileSize, VirtualSize: m.VirtualSize}
}

// sameOwner reports whether both markers were written for one resource, by its
// namespace and name.
func (m marker) sameOwner(o marker) bool {
	return m.Namespace == o.Namespace && m.Type == o.Type && m.Name == o.Name
}

// volumeName returns the name of the volume for an image.
func volumeName(name string, c content) string {
	return name + contentSuffix(c.SHA256, c.Format)
}

// contentSuffix is how the name of every volume with that content ends.
func contentSuffix(sha256, format string) string {
	return "-" + sha256[:16] + "." + format
}

// markerName returns the name of a volume's marker.
func markerName(volume, incarnation string) string { return volume + markerInfix + incarnation }

// splitMarker takes the name of a marker apart.
func splitMarker(name string) (volume, incarnation string, ok bool) {
	i := strings.LastIndex(name, markerInfix)
	if i <= 0 {
		return "", "", false
	}
	return name[:i], name[i+len(markerInfix):], true
}

// incarnationsOf returns the incarnations for which a volume has markers,
// finished or not, out of the names in its pool.
func incarnationsOf(names []string, volume string) []string {
	var found []string
	for _, n := range names {
		if v, inc, ok := splitMarker(n); ok && v == volume {
			found = append(found, inc)
		}
	}
	return found
}

// readMarker returns a marker, or nil where what is there is not a finished
// one: the process that wrote it was cut short.
func readMarker(ctx context.Context, host *libvirt.Host, pool, name string) (*marker, error) {
	buf := &limited{}
	if _, err := host.Download(ctx, pool, name, 0, maxMarker, buf); err != nil {
		return nil, err
	}
	m, ok := parseMarker(buf.Bytes())
	if !ok {
		return nil, nil
	}
	return &m, nil
}

func parseMarker(data []byte) (m marker, ok bool) {
	ok = json.Unmarshal(data, &m) == nil && m.Type == typeName && hashPattern.MatchString(m.SHA256)
	return m, ok
}

// writeMarker stores a marker for a volume and reads it back.
func writeMarker(ctx context.Context, host *libvirt.Host, pool, volume string, m marker) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write marker: %w", err)
	}
	name := markerName(volume, m.Incarnation)
	_, err = host.CreateVolume(ctx, libvirt.VolumeSpec{
		Pool: pool, Name: name, Format: formatRaw, CapacityBytes: uint64(len(data)), Owner: -1, Group: -1,
	})
	if err != nil {
		return err
	}
	if err := host.Upload(ctx, pool, name, bytes.NewReader(data), int64(len(data)), nil); err != nil {
		return err
	}
	// A full disk is not always told (see verifyEnds).
	got, err := readMarker(ctx, host, pool, name)
	if err == nil && (got == nil || got.Incarnation != m.Incarnation) {
		return fault.New(fault.Exhausted, "image: write marker", name, "it does not read back; the pool %s may be full", pool)
	}
	return err
}

// limited is a buffer that keeps at most maxMarker bytes.
type limited struct{ bytes.Buffer }

// Write implements io.Writer; what is too much is dropped.
func (l *limited) Write(p []byte) (int, error) {
	if room := maxMarker - l.Len(); room > 0 {
		_, _ = l.Buffer.Write(p[:min(len(p), room)]) // a bytes.Buffer never fails
	}
	return len(p), nil
}
