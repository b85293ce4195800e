package vm

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/presence"
)

// CaptureRequest is a packet capture of every declared NIC.
type CaptureRequest struct {
	Keep int64 // windows kept per NIC; older ones are deleted when a new one is prepared
}

// setCapture fills the spec with one tap per NIC, each with the file of its
// next window. A window that QEMU has begun is never written again by a
// definition of ours: the persistent definition always names one that is
// still empty.
func (m *Manager) setCapture(ctx context.Context, r Request, s *domxml.Spec) error {
	s.Capture = nil
	if r.Capture == nil {
		return nil
	}
	w, err := m.openWindows(ctx)
	if err != nil {
		return err
	}
	for _, n := range s.NICs {
		file, err := m.nextWindow(ctx, w, s.UUID, n.Name, r.Capture.Keep)
		if err != nil {
			return err
		}
		s.Capture = append(s.Capture, domxml.Tap{NIC: n.Name, File: file})
	}
	return nil
}

// windows is the host's folder of captures.
type windows struct {
	files        []string
	owner, group int
}

func (m *Manager) openWindows(ctx context.Context) (*windows, error) {
	facts, err := m.host.Facts(ctx)
	if err != nil {
		return nil, err
	}
	w := &windows{owner: facts.QEMUUser, group: facts.QEMUGroup}
	if _, err := m.host.EnsureDirPool(ctx, libvirt.PoolSpec{
		Name: CapturePool, Path: captureDir, Mode: 0o700, Owner: w.owner, Group: w.group,
	}); err != nil {
		return nil, err
	}
	if err := m.host.RefreshPool(ctx, CapturePool); err != nil {
		return nil, err
	}
	if w.files, err = m.host.Volumes(ctx, CapturePool); err != nil {
		return nil, err
	}
	return w, m.proof.once(func() error { return m.proveCapture(ctx, w) })
}

// windowName returns the name of a window's file.
func windowName(uuid, nic string, n int) string { return fmt.Sprintf("%s-%s-%d.pcap", uuid, nic, n) }

// windowsOf returns the numbers of the windows of one NIC, ascending.
func (w *windows) windowsOf(uuid, nic string) []int {
	var out []int
	for _, f := range w.files {
		rest, ok := strings.CutPrefix(f, uuid+"-"+nic+"-")
		if n, err := strconv.Atoi(strings.TrimSuffix(rest, ".pcap")); ok && err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// nextWindow returns the path of a window that is still empty: the newest one
// if it is, else a new one. More than keep used windows are thinned out from
// the oldest.
func (m *Manager) nextWindow(ctx context.Context, w *windows, uuid, nic string, keep int64) (string, error) {
	have := w.windowsOf(uuid, nic)
	next := 0
	if len(have) > 0 {
		newest := windowName(uuid, nic, have[len(have)-1])
		vol, err := m.host.Volume(ctx, CapturePool, newest)
		if err != nil {
			return "", err
		}
		if vol.CapacityBytes == 0 {
			return path.Join(captureDir, newest), nil
		}
		next = have[len(have)-1] + 1
	}
	for int64(len(have)) >= max(keep, 1) {
		if err := m.host.DeleteVolume(ctx, CapturePool, windowName(uuid, nic, have[0])); err != nil {
			return "", err
		}
		have = have[1:]
	}
	name := windowName(uuid, nic, next)
	_, err := m.host.CreateVolume(ctx, libvirt.VolumeSpec{
		Pool: CapturePool, Name: name, Format: "raw", Mode: 0o600, Owner: w.owner, Group: w.group,
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return "", err
	}
	return path.Join(captureDir, name), nil
}

// proveCapture starts a small machine that captures into the folder and never
// runs. Only when QEMU could open the file there does a capture go into a
// definition, for it must never be what keeps a VM from starting.
func (m *Manager) proveCapture(ctx context.Context, w *windows) error {
	name := "muster-capture-trial-" + presence.NewID()
	file := name + ".pcap"
	if _, err := m.host.CreateVolume(ctx, libvirt.VolumeSpec{
		Pool: CapturePool, Name: file, Format: "raw", Mode: 0o600, Owner: w.owner, Group: w.group,
	}); err != nil {
		return err
	}
	typ, err := m.host.DomainType(ctx)
	if err == nil {
		err = m.host.TryDomain(ctx, domxml.CaptureTrial(name, typ, path.Join(captureDir, file)))
	}
	if derr := m.host.DeleteVolume(ctx, CapturePool, file); err == nil && derr != nil {
		err = derr
	}
	if err != nil {
		return &Problem{
			Field: "capture", Happened: "QEMU could not write a capture into " + captureDir + ": " + err.Error(), Err: err,
			Expected: "QEMU, as the user and under the profile that the host gives it, may write there.",
			Todo:     "Allow the folder in the host's AppArmor or SELinux policy for QEMU, or leave capture out. No definition was changed.",
		}
	}
	return nil
}

// proof remembers that something has been proved on this host.
type proof struct {
	mu   sync.Mutex
	done bool
}

func (p *proof) once(prove func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return nil
	}
	if err := prove(); err != nil {
		return err
	}
	p.done = true
	return nil
}

// tapLive turns the capture of a running machine on or off, to match its
// definition. QEMU itself is asked what it captures: the live definition only
// tells how the machine was started.
func (u *update) tapLive(ctx context.Context, live string) error {
	if len(u.spec.Capture) == 0 && len(u.have.Capture) == 0 {
		return nil
	}
	have, err := u.m.taps(ctx, u.uuid)
	if err != nil {
		return err
	}
	for _, t := range u.spec.Capture {
		if !have[t.NIC] {
			if err := u.tapNIC(ctx, live, t); err != nil {
				return err
			}
		}
		delete(have, t.NIC)
	}
	for nic := range have {
		if err := u.m.untap(ctx, u.uuid, nic); err != nil {
			return err
		}
	}
	return nil
}

func (u *update) tapNIC(ctx context.Context, live string, t domxml.Tap) error {
	for _, n := range u.spec.NICs {
		if n.Name != t.NIC {
			continue
		}
		alias, err := domxml.LiveAlias(live, n.MAC)
		if err != nil || alias == "" {
			return err
		}
		return u.m.tap(ctx, u.uuid, t, "host"+alias)
	}
	return nil
}

// advance gives the persistent definition fresh windows once a start has begun
// the present ones, so that a power cycle by somebody else begins new files.
func (m *Manager) advance(ctx context.Context, uuid string, r Request) error {
	if r.Capture == nil {
		return nil
	}
	xml, err := m.host.DomainXML(ctx, uuid, libvirt.Persistent)
	if err != nil {
		return err
	}
	def, err := domxml.Read(xml, r.Known)
	if err != nil {
		return err
	}
	before := def.Spec.Capture
	if err := m.setCapture(ctx, r, &def.Spec); err != nil || slices.Equal(before, def.Spec.Capture) {
		return err
	}
	xml, err = domxml.SetCapture(xml, def.Spec)
	if err != nil {
		return err
	}
	_, err = m.host.DefineDomain(ctx, xml)
	return err
}
