package vm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// Superseded says that a newer create owns the domain.
type Superseded struct {
	Name string
	Mark owner.Mark
}

// Error implements error.
func (e *Superseded) Error() string {
	return fmt.Sprintf("the domain %q was created anew by %s at %s (incarnation %s): another state owns it now",
		e.Name, e.Mark.Op.Host, e.Mark.Op.Time.Format(time.RFC3339), e.Mark.Incarnation)
}

// Update changes the domain in place and returns its incarnation, which a
// domain without a mark gets here. Volumes are made before the definition that
// names them, and deleted after the one that no longer does. A refused
// definition leaves everything as it was.
func (m *Manager) Update(ctx context.Context, uuid, incarnation string, r Request) (string, error) {
	xml, err := m.host.DomainXML(ctx, uuid, libvirt.Persistent)
	if err != nil {
		return incarnation, err
	}
	have, err := domxml.Read(xml, r.Known)
	if err != nil {
		return incarnation, fault.New(fault.Invalid, "libvirt: read domain", uuid, "%w", err)
	}
	if have.Mark.Superseded(incarnation) {
		return incarnation, &Superseded{Name: have.Name, Mark: *have.Mark}
	}
	if incarnation == "" {
		incarnation = NewIncarnation()
	}
	m.made.forget(uuid)
	u := update{m: m, r: r, uuid: uuid, xml: xml, have: have, incarnation: incarnation}
	if err := u.prepare(ctx); err != nil {
		return incarnation, err
	}
	if err := u.define(ctx); err != nil {
		return incarnation, err
	}
	return incarnation, u.settle(ctx)
}

// update is one update under way.
type update struct {
	m           *Manager
	r           Request
	uuid        string
	incarnation string
	xml         string
	have        domxml.Definition
	disks       []volumePlan
	spec        domxml.Spec
	mark        owner.Mark
	wasRunning  bool // and was stopped to be renamed
}

// prepare checks what is new, and makes the volumes that the new definition
// will name.
func (u *update) prepare(ctx context.Context) error {
	if err := u.m.Preflight(ctx, u.changedNICs(), u.uuid); err != nil {
		return err
	}
	var err error
	if u.disks, err = u.m.planDisks(ctx, u.r, u.have, u.incarnation); err != nil {
		return err
	}
	seed, seedPath, err := u.m.planSeed(ctx, u.r)
	if err != nil {
		return err
	}
	u.spec = u.r.Spec
	u.spec.UUID, u.spec.Seed = u.uuid, seedPath
	if err := u.m.complete(ctx, u.r, &u.spec, u.disks); err != nil {
		return err
	}
	if u.r.Console {
		if _, err := u.m.host.EnsureDirPool(ctx, libvirt.PoolSpec{Name: ConsolePool, Path: consoleDir, Mode: 0o700, Owner: -1, Group: -1}); err != nil {
			return err
		}
	}
	u.writeMark(seed)
	if err := u.announce(ctx); err != nil {
		return err
	}
	if err := u.m.ensureDisks(ctx, u.disks, false); err != nil {
		return err
	}
	return u.m.ensureSeed(ctx, u.r, seed, u.have.Seed == seedPath)
}

// changedNICs is the request with only the NICs that are new or attached
// otherwise: what has been running for months is not questioned.
func (u *update) changedNICs() Request {
	r := u.r
	r.Spec.NICs = nil
	for _, n := range u.r.Spec.NICs {
		same := func(h domxml.NIC) bool {
			return h.Name == n.Name && h.MAC == n.MAC && h.Network == n.Network && h.Bridge == n.Bridge && h.MTU == n.MTU
		}
		if !slices.ContainsFunc(u.have.NICs, same) {
			r.Spec.NICs = append(r.Spec.NICs, n)
		}
	}
	return r
}

func (u *update) writeMark(seed owner.Disk) {
	domxml.AssignTargets(u.spec.Disks, u.have.Targets)
	u.mark = owner.Mark{
		Namespace: u.r.Claim.Namespace, Type: u.r.Claim.Type, Name: u.r.Claim.Name,
		Incarnation: u.incarnation, Complete: true, Op: u.m.newOperation("update"),
	}
	if old := u.have.Mark; old != nil {
		u.mark.Namespace = old.Namespace // a later change of namespace changes nothing that exists
	}
	for _, n := range u.spec.NICs {
		u.mark.NICs = append(u.mark.NICs, owner.NIC{Name: n.Name, MAC: n.MAC})
	}
	for i, p := range u.disks {
		p.mark.Target = u.spec.Disks[i].Target
		u.mark.Disks = append(u.mark.Disks, p.mark)
	}
	if seed.Volume != "" {
		u.mark.Disks = append(u.mark.Disks, seed)
	}
	doom(&u.mark, u.have.Mark)
}

func (u *update) define(ctx context.Context) error {
	if err := u.grow(ctx); err != nil {
		return err
	}
	if err := u.m.setCapture(ctx, u.r, &u.spec); err != nil {
		return err
	}
	u.spec.Mark = u.mark
	xml, err := domxml.Edit(u.xml, u.spec, u.r.Known)
	if err != nil {
		return fault.New(fault.Invalid, "vm: write definition", u.spec.Name, "%w", err)
	}
	if _, err := u.m.host.DefineDomain(ctx, xml); err != nil {
		return err
	}
	u.xml = xml
	if err := u.rename(ctx); err != nil {
		return err
	}
	u.m.macs.set(Holder{Name: u.spec.Name, UUID: u.uuid}, u.spec.NICs)
	return u.m.host.SetAutostart(ctx, u.uuid, u.r.Autostart)
}

// rename gives the domain its new name. Its mark has that already, so that a
// run which is cut short here is repeated. Libvirt renames only what is off.
func (u *update) rename(ctx context.Context) error {
	if u.have.Name == u.spec.Name {
		return nil
	}
	state, _, err := u.m.host.DomainState(ctx, u.uuid)
	if err != nil {
		return err
	}
	if running(string(state)) {
		if !u.r.Restart && u.r.Power != PowerOff {
			return &Problem{
				Field:    "name",
				Happened: fmt.Sprintf("%q runs, and libvirt renames a domain only while it is off", u.have.Name),
				Expected: fmt.Sprintf("It becomes %q and keeps its UUID, MACs and disks.", u.spec.Name),
				Todo:     `Shut it down and apply again, or set on_change = "restart".`,
				Err:      fault.New(fault.Busy, "libvirt: rename domain", u.have.Name, "it runs"),
			}
		}
		if err := u.m.stop(ctx, u.uuid, u.have.Name, u.r.Shutdown); err != nil {
			return err
		}
		u.wasRunning = true
	}
	return u.m.host.RenameDomain(ctx, u.uuid, u.spec.Name)
}

// grow makes disks larger: through QEMU while it has them open, else in the
// pool. It never makes one smaller.
func (u *update) grow(ctx context.Context) error {
	state, _, err := u.m.host.DomainState(ctx, u.uuid)
	if err != nil {
		return err
	}
	for _, p := range u.disks {
		if !p.exists || p.size == 0 || p.backing != nil && u.sizeOf(p.disk.Name) == 0 {
			continue
		}
		have, err := u.m.host.VolumeSize(ctx, p.disk.Path)
		if err != nil {
			return err
		}
		switch {
		case p.size <= have:
			continue
		case running(string(state)):
			err = u.m.host.ResizeBlock(ctx, u.uuid, p.disk.Target, p.size)
		default:
			err = u.m.host.ResizeVolume(ctx, p.mark.Pool, p.mark.Volume, p.size)
		}
		if err != nil {
			return &Problem{
				Field: fmt.Sprintf("disk %q.size_mib", p.disk.Name), Happened: err.Error(), Err: err,
				Expected: fmt.Sprintf("The disk grows from %d to %d MiB.", have/mib, p.size/mib),
				Todo:     "Free space in the pool, then apply again; the disk is as it was.",
			}
		}
	}
	return nil
}

func (u *update) sizeOf(disk string) int64 {
	for _, d := range u.r.Disks {
		if d.Name == disk {
			return d.SizeMiB
		}
	}
	return 0
}

// settle brings the running machine as near to its new definition as it can
// without a power cycle, then its power state, then deletes what is no longer
// used.
func (u *update) settle(ctx context.Context) error {
	m := u.m
	state, _, err := m.host.DomainState(ctx, u.uuid)
	if err != nil {
		return err
	}
	if running(string(state)) {
		if err := u.applyLive(ctx); err != nil {
			return err
		}
	}
	if err := u.power(ctx, string(state)); err != nil {
		return err
	}
	live, err := m.liveDefinition(ctx, u.uuid)
	if err != nil {
		return err
	}
	if live != nil {
		if err := m.advance(ctx, u.uuid, u.r); err != nil {
			return err
		}
	}
	changed, err := m.reap(ctx, &u.mark, live)
	if err != nil {
		return err
	}
	if changed {
		return m.writeMark(ctx, u.uuid, &u.mark)
	}
	return nil
}

func (u *update) power(ctx context.Context, state string) error {
	m := u.m
	switch {
	case u.r.Power == PowerOff:
		return m.stop(ctx, u.uuid, u.spec.Name, u.r.Shutdown)
	case u.wasRunning && !running(state) && u.r.Power != PowerOff, u.r.Power == PowerOn && state != "running":
		if err := m.start(ctx, u.uuid, u.spec.Name); err != nil {
			return err
		}
		return m.awaitReady(ctx, u.uuid, u.spec, u.r.Ready, nil)
	case u.r.Restart && running(state):
		pending, err := m.pending(ctx, u.uuid, u.r.Known)
		if err != nil || len(pending) == 0 {
			return err
		}
		return m.restart(ctx, u.uuid, u.r)
	}
	return nil
}

// pending names the fields that wait for a power cycle now.
func (m *Manager) pending(ctx context.Context, uuid string, known domxml.Names) ([]string, error) {
	live, err := m.host.DomainXML(ctx, uuid, libvirt.Live)
	if err != nil {
		return nil, err
	}
	persistent, err := m.host.DomainXML(ctx, uuid, libvirt.Persistent)
	if err != nil {
		return nil, err
	}
	return domxml.Pending(live, persistent, known)
}

// liveDefinition returns what the running machine has open, nil when it is
// off. All its disks are listed, whoever's they are.
func (m *Manager) liveDefinition(ctx context.Context, uuid string) (*domxml.Definition, error) {
	state, _, err := m.host.DomainState(ctx, uuid)
	if err != nil || !running(string(state)) {
		return nil, err
	}
	live, err := m.host.DomainXML(ctx, uuid, libvirt.Live)
	if err != nil {
		return nil, err
	}
	def, err := domxml.ReadAll(live)
	return &def, err
}
