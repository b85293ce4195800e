package vm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// Created says what a create left, whether or not it ended well. Incarnation
// is empty when nothing of ours is on the host.
type Created struct {
	UUID        string
	Incarnation string
	Continued   bool // an earlier create that was cut short was continued
}

// Create makes the domain, or continues a create that was cut short. The
// definition comes first, with an incomplete owner mark that lists every
// volume: from then on whatever a killed run leaves is found by the mark. Only
// Confirm, or ConfirmMade, completes it. The spec's UUID and MACs are those that were planned.
func (m *Manager) Create(ctx context.Context, r Request) (Created, error) {
	release, err := m.ops.begin(r.Spec.Name)
	if err != nil {
		return Created{}, err
	}
	defer release()
	existing, err := m.takeable(ctx, r)
	if err != nil {
		return Created{}, err
	}
	c := creation{m: m, r: r, out: Created{UUID: r.Spec.UUID}}
	if existing != nil {
		c.have, c.haveXML, c.out.Continued = existing.Definition, existing.xml, existing.Verdict == owner.Continue
		c.adopted = existing.Verdict == owner.Adopt
		if err := c.recognise(); err != nil {
			return Created{}, err
		}
	}
	if err := c.prepare(ctx); err != nil {
		return Created{}, err
	}
	if err := c.define(ctx); err != nil {
		return c.out, err
	}
	if err := c.build(ctx); err != nil {
		return c.out, err
	}
	return c.out, nil
}

// takeable returns the domain that a create goes on with, nil for none, or why
// it may not.
func (m *Manager) takeable(ctx context.Context, r Request) (*Existing, error) {
	e, err := m.Find(ctx, r.Spec.Name, r.Claim, 0)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, m.uuidFree(ctx, r.Spec)
	}
	if err := e.Refusal(m.host.URI()); err != nil {
		return nil, err
	}
	if e.UUID != r.Spec.UUID {
		return nil, &Problem{
			Field:    "name",
			Happened: fmt.Sprintf("the domain %q on the host has the uuid %s, and the plan was made for %s", r.Spec.Name, e.UUID, r.Spec.UUID),
			Expected: "The domain did not change between plan and apply.",
			Todo:     "Plan again: the identity that is there is kept.",
			Err:      fault.New(fault.Conflict, "vm: create", r.Spec.Name, "uuid differs"),
		}
	}
	if e.Verdict == owner.Continue {
		return e, m.awaitDead(ctx, e.UUID, e.Definition.Mark)
	}
	return e, nil
}

func (m *Manager) uuidFree(ctx context.Context, s domxml.Spec) error {
	d, err := m.host.DomainByUUID(ctx, s.UUID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &Problem{
		Field:    "name",
		Happened: fmt.Sprintf("the uuid %s of %q belongs to the domain %q on this host", s.UUID, s.Name, d.Name),
		Expected: "A VM was renamed outside Terraform, or its state is elsewhere.",
		Todo:     fmt.Sprintf("Rename it back (`virsh domrename %s %s`), or import it under its present name.", d.Name, s.Name),
		Err:      fault.New(fault.Conflict, "libvirt: create domain", s.Name, "uuid in use"),
	}
}

// recognise names the devices of an adopted domain that has no mark.
func (c *creation) recognise() error {
	if c.have.Mark != nil {
		return c.undeclared()
	}
	var disks []domxml.Disk
	for _, d := range c.r.Disks {
		disks = append(disks, domxml.Disk{Name: d.Name})
	}
	c.r.Known = domxml.Match(c.r.Spec.NICs, disks, c.have.Spec)
	var err error
	c.have, err = domxml.Read(c.haveXML, c.r.Known)
	return err
}

// undeclared refuses to adopt a VM of ours that has a NIC or disk which the
// configuration does not declare: taking it away would lose it, unseen in the
// plan.
func (c *creation) undeclared() error {
	if !c.adopted {
		return nil
	}
	var extra []string
	for _, d := range c.have.Disks {
		if !slices.ContainsFunc(c.r.Disks, func(r DiskRequest) bool { return r.Name == d.Name }) {
			extra = append(extra, fmt.Sprintf("disk %q", d.Name))
		}
	}
	for _, n := range c.have.NICs {
		if !slices.ContainsFunc(c.r.Spec.NICs, func(r domxml.NIC) bool { return r.Name == n.Name }) {
			extra = append(extra, fmt.Sprintf("nic %q", n.Name))
		}
	}
	if len(extra) == 0 {
		return nil
	}
	return &Problem{
		Field:    "adopt_existing",
		Happened: fmt.Sprintf("the domain %q has what the configuration does not declare: %s", c.have.Name, strings.Join(extra, ", ")),
		Expected: "A VM is adopted as it is, and nothing of it is taken away unseen.",
		Todo:     "Declare it; a later apply may remove it.",
		Err:      fault.New(fault.Conflict, "vm: adopt", c.have.Name, "undeclared devices"),
	}
}

// creation is one create under way.
type creation struct {
	m       *Manager
	r       Request
	have    domxml.Definition // what is there already; empty: nothing
	haveXML string
	adopted bool
	out     Created

	mark  owner.Mark
	disks []volumePlan
	seed  owner.Disk
	spec  domxml.Spec
}

// prepare reads everything that can be wrong before anything is changed.
func (c *creation) prepare(ctx context.Context) error {
	if err := c.m.Preflight(ctx, c.r, c.r.Spec.UUID); err != nil {
		return err
	}
	incarnation := NewIncarnation()
	var err error
	if c.disks, err = c.m.planDisks(ctx, c.r, c.have, incarnation); err != nil {
		return err
	}
	for i := range c.disks {
		c.disks[i].exists = c.disks[i].exists && !c.out.Continued // a continued create makes sure
	}
	var seedPath string
	if c.seed, seedPath, err = c.m.planSeed(ctx, c.r); err != nil {
		return err
	}
	c.mark = owner.Mark{
		Namespace: c.r.Claim.Namespace, Type: c.r.Claim.Type, Name: c.r.Claim.Name,
		Incarnation: incarnation, Op: c.m.newOperation("define"),
	}
	c.spec = c.r.Spec
	c.spec.Seed = seedPath
	return c.m.complete(ctx, c.r, &c.spec, c.disks)
}

// complete fills a spec with what only the host knows: type, emulator, paths.
func (m *Manager) complete(ctx context.Context, r Request, s *domxml.Spec, disks []volumePlan) error {
	facts, err := m.host.Facts(ctx)
	if err != nil {
		return err
	}
	if s.Type, err = m.host.DomainType(ctx); err != nil {
		return err
	}
	s.Arch, s.Emulator = facts.Arch, facts.Emulator
	s.ConsoleLog = ""
	if r.Console {
		s.ConsoleLog = ConsoleLog(s.UUID)
	}
	s.Disks = nil
	for _, p := range disks {
		s.Disks = append(s.Disks, p.disk)
	}
	return nil
}

// define claims name, UUID, MACs and volume names with an incomplete mark.
func (c *creation) define(ctx context.Context) error {
	if c.r.Console {
		if _, err := c.m.host.EnsureDirPool(ctx, libvirt.PoolSpec{Name: ConsolePool, Path: consoleDir, Mode: 0o700, Owner: -1, Group: -1}); err != nil {
			return err
		}
	}
	c.markDevices()
	doom(&c.mark, c.have.Mark)
	if err := c.m.setCapture(ctx, c.r, &c.spec); err != nil {
		return err
	}
	c.spec.Mark = c.mark
	xml, err := c.render()
	if err != nil {
		return fault.New(fault.Invalid, "vm: write definition", c.spec.Name, "%w", err)
	}
	if _, err := c.m.host.DefineDomain(ctx, xml); err != nil {
		return err
	}
	c.out.Incarnation = c.mark.Incarnation
	c.m.macs.set(Holder{Name: c.spec.Name, UUID: c.spec.UUID}, c.spec.NICs)
	return nil
}

func (c *creation) render() (string, error) {
	if c.haveXML != "" {
		return domxml.Edit(c.haveXML, c.spec, c.r.Known)
	}
	return domxml.New(c.spec)
}

// markDevices lists NICs and volumes in the mark. New disks need their target
// there, so targets are chosen here rather than by the XML.
func (c *creation) markDevices() {
	domxml.AssignTargets(c.spec.Disks, c.have.Targets)
	c.mark.NICs, c.mark.Disks = nil, nil
	for _, n := range c.spec.NICs {
		c.mark.NICs = append(c.mark.NICs, owner.NIC{Name: n.Name, MAC: n.MAC})
	}
	for i, p := range c.disks {
		p.mark.Target = c.spec.Disks[i].Target
		c.mark.Disks = append(c.mark.Disks, p.mark)
	}
	if c.seed.Volume != "" {
		c.mark.Disks = append(c.mark.Disks, c.seed)
	}
}

// build makes the volumes, starts the machine and waits for it. The mark is
// completed when a state holds the VM.
func (c *creation) build(ctx context.Context) error {
	m, uuid := c.m, c.spec.UUID
	if err := c.quiesce(ctx); err != nil {
		return err
	}
	if err := m.ensureDisks(ctx, c.disks, c.out.Continued); err != nil {
		return err
	}
	attached := c.adopted && c.have.Seed == c.spec.Seed
	if err := m.ensureSeed(ctx, c.r, c.seed, attached); err != nil {
		return err
	}
	if err := m.host.SetAutostart(ctx, uuid, c.r.Autostart); err != nil {
		return err
	}
	if err := c.power(ctx); err != nil {
		return err
	}
	if err := m.advance(ctx, uuid, c.r); err != nil {
		return err
	}
	if _, err := m.reap(ctx, &c.mark, nil); err != nil {
		return err
	}
	if err := m.step(ctx, uuid, &c.mark, stepMade); err != nil {
		return err
	}
	m.made.add(uuid, c.mark)
	return nil
}

// quiesce stops a machine that an earlier, unfinished create has started from
// a definition that is no longer the wanted one.
func (c *creation) quiesce(ctx context.Context) error {
	if !c.out.Continued {
		return nil
	}
	state, _, err := c.m.host.DomainState(ctx, c.spec.UUID)
	if err != nil || !running(string(state)) {
		return err
	}
	live, err := c.m.host.DomainXML(ctx, c.spec.UUID, libvirt.Live)
	if err != nil {
		return err
	}
	persistent, err := c.m.host.DomainXML(ctx, c.spec.UUID, libvirt.Persistent)
	if err != nil {
		return err
	}
	pending, err := domxml.Pending(live, persistent, c.r.Known)
	if err != nil || len(pending) == 0 {
		return err
	}
	return c.m.host.DestroyDomain(ctx, c.spec.UUID)
}

func (c *creation) power(ctx context.Context) error {
	m, uuid := c.m, c.spec.UUID
	switch c.r.Power {
	case PowerOn:
		if err := m.step(ctx, uuid, &c.mark, "start"); err != nil {
			return err
		}
		if err := m.start(ctx, uuid, c.spec.Name); err != nil {
			return err
		}
		return m.awaitReady(ctx, uuid, c.spec, c.r.Ready, func(ctx context.Context) error {
			return m.step(ctx, uuid, &c.mark, "await ready")
		})
	case PowerOff:
		return m.stop(ctx, uuid, c.spec.Name, c.r.Shutdown)
	default:
		return nil
	}
}
