package tfcore

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Apply carries a change out. As Terraform does, it plans again first. It
// returns what is to be kept, which an error does not make nothing: an object
// that a failed create leaves is tainted.
func (c *Core) Apply(ctx context.Context, change *Change) (*Object, error) {
	switch change.Action {
	case NoOp:
		return change.Prior, nil
	case Delete:
		return c.delete(ctx, change.Type, change.Prior)
	case Replace:
		if left, err := c.delete(ctx, change.Type, change.Prior); err != nil {
			return left, err
		}
		return c.create(ctx, change)
	case Create:
		return c.create(ctx, change)
	}
	p, err := c.plan(ctx, change.Type, change.Config, change.Prior, nil)
	if err != nil {
		return change.Prior, err
	}
	o, err := c.apply(ctx, change.Type, p, false)
	if err != nil && o == nil {
		return change.Prior, err
	}
	return o, err
}

func (c *Core) create(ctx context.Context, change *Change) (*Object, error) {
	p, err := c.plan(ctx, change.Type, change.Config, nil, nil)
	if err != nil {
		return nil, err
	}
	return c.apply(ctx, change.Type, p, true)
}

func (c *Core) delete(ctx context.Context, resourceType string, prior *Object) (*Object, error) {
	p, err := c.planDelete(ctx, resourceType, prior)
	if err != nil {
		return prior, err
	}
	left, err := c.apply(ctx, resourceType, p, false)
	switch {
	case err != nil && left == nil:
		return prior, err
	case left != nil:
		left.Tainted = prior.Tainted
	}
	return left, err
}

func (c *Core) apply(ctx context.Context, resourceType string, p *planned, creates bool) (*Object, error) {
	c.calls.Add(1)
	resp, err := c.server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resourceType, PriorState: p.prior, PlannedState: p.state, Config: p.config, PlannedPrivate: p.private,
	})
	if err != nil {
		return nil, err
	}
	err = failure(resp.Diagnostics)
	o, keepErr := c.keep(resourceType, resp.NewState, resp.Private, creates && err != nil)
	if err != nil || keepErr != nil || o == nil {
		return o, errors.Join(err, keepErr)
	}
	after, err := decodeJSON(o.Attributes, p.value.Type())
	if err != nil {
		return o, err
	}
	return o, inconsistent(p.value, after)
}

// Converge refreshes, plans and applies: what one `terraform apply` does. It
// returns the action that was planned.
func (c *Core) Converge(ctx context.Context, resourceType string, config Values, o *Object) (*Object, Action, error) {
	refreshed, err := c.Refresh(ctx, resourceType, o)
	if err != nil {
		return o, "", err
	}
	change, err := c.Plan(ctx, resourceType, config, refreshed)
	if err != nil {
		return refreshed, "", err
	}
	o, err = c.Apply(ctx, change)
	return o, change.Action, err
}
