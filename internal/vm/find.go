package vm

import (
	"context"
	"fmt"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// Existing is a domain that already has the wanted name.
type Existing struct {
	UUID       string
	State      string
	Verdict    owner.Verdict
	Definition domxml.Definition
	xml        string
}

// Find looks for a domain of that name and judges what a create may do with
// it; nil when there is none. It reads only. A listing of the host that is
// younger than maxAge serves.
func (m *Manager) Find(ctx context.Context, name string, c owner.Claim, maxAge time.Duration) (*Existing, error) {
	inv, err := m.host.Inventory(ctx, maxAge)
	if err != nil {
		return nil, err
	}
	d, ok := inv.ByName(name)
	if !ok {
		return nil, nil
	}
	e, err := m.existing(ctx, d, c)
	if fault.Is(err, fault.NotFound) {
		return nil, nil // removed since the listing
	}
	return e, err
}

func (m *Manager) existing(ctx context.Context, d libvirt.Domain, c owner.Claim) (*Existing, error) {
	xml, err := m.host.DomainXML(ctx, d.UUID, libvirt.Persistent)
	if err != nil {
		return nil, err
	}
	def, err := domxml.Read(xml, domxml.Names{})
	if err != nil {
		return nil, fault.New(fault.Invalid, "libvirt: read domain", d.Name, "%w", err)
	}
	e := &Existing{UUID: d.UUID, State: string(d.State), Verdict: owner.Judge(def.Mark, c), Definition: def, xml: xml}
	if e.Verdict == owner.Continue && m.made.has(d.UUID, def.Mark) {
		e.Verdict = owner.Finished
	}
	return e, nil
}

// Refusal returns why a create may not take this domain, or nil.
func (e *Existing) Refusal(uri string) error {
	mark := e.Definition.Mark
	name := e.Definition.Name
	p := &Problem{Field: "name", Err: fault.New(fault.Conflict, "libvirt: create domain", name, "the name is taken")}
	how := fmt.Sprintf("Import it (`terraform import ADDRESS '%s @ %s'`), set adopt_existing = true to take it over as it is, or choose another name.", e.UUID, uri)
	switch e.Verdict {
	case owner.Unmarked:
		p.Happened = fmt.Sprintf("a domain named %q (uuid %s, %s) is already there and was not made by this provider", name, e.UUID, e.State)
		p.Expected = "The name is free, or the domain is in the state."
		p.Todo = how
	case owner.Finished:
		p.Happened = fmt.Sprintf("the domain %q (uuid %s, %s) was completed by an apply on %s at %s and is in no state known here",
			name, e.UUID, e.State, mark.Op.Host, mark.Op.Time.Format(time.RFC3339))
		p.Expected = "A VM name is unique in its namespace, and each VM is in one state only."
		p.Todo = how
	case owner.Other:
		p.Happened = fmt.Sprintf("the domain %q (uuid %s) belongs to namespace %q as %s %q", name, e.UUID, mark.Namespace, mark.Type, mark.Name)
		p.Expected = "The name is free on this host, or belongs to this configuration's namespace."
		p.Todo = fmt.Sprintf("Choose another name, or list %q in the provider's identity.take_over and set adopt_existing = true.", mark.Namespace)
	default:
		return nil
	}
	return p
}
