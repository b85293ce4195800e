package tfcore

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// planned is the answer to a plan, for the apply that follows in the same
// process.
type planned struct {
	action  Action
	prior   *tfprotov6.DynamicValue
	config  *tfprotov6.DynamicValue
	state   *tfprotov6.DynamicValue
	private []byte
	value   tftypes.Value
}

// Plan plans the object as configured; a nil configuration is a destroy. prior
// is the refreshed object, nil for none. A tainted object gives the provider
// nothing: it is planned as a new one.
func (c *Core) Plan(ctx context.Context, resourceType string, config Values, prior *Object) (*Change, error) {
	change := &Change{Type: resourceType, Config: config, Prior: prior}
	switch {
	case config == nil && prior == nil:
		change.Action = NoOp
		return change, nil
	case config == nil:
		change.Action = Delete
		_, err := c.planDelete(ctx, resourceType, prior)
		return change, err
	}
	if err := c.validate(ctx, resourceType, config); err != nil {
		return nil, err
	}
	given := prior
	if prior != nil && prior.Tainted {
		given = nil
	}
	p, err := c.plan(ctx, resourceType, config, given, nil)
	if err != nil {
		return nil, err
	}
	if p.action == Replace {
		// The second question is about a new object, with what the first answer
		// has put into the private state.
		_, err = c.plan(ctx, resourceType, config, nil, p.private)
	}
	change.Action = p.action
	if prior != nil && prior.Tainted {
		change.Action = Replace
	}
	return change, err
}

func (c *Core) validate(ctx context.Context, resourceType string, config Values) error {
	b, err := c.block(resourceType)
	if err != nil {
		return err
	}
	value, err := encode(config, b)
	if err != nil {
		return err
	}
	c.calls.Add(1)
	resp, err := c.server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{
		TypeName: resourceType, Config: value,
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	if err != nil {
		return err
	}
	return failure(resp.Diagnostics)
}

func (c *Core) plan(ctx context.Context, resourceType string, config Values, prior *Object, private []byte) (*planned, error) {
	b, err := c.block(resourceType)
	if err != nil {
		return nil, err
	}
	typ := b.ValueType()
	p := &planned{}
	before := tftypes.NewValue(typ, nil)
	if prior != nil {
		if before, err = decodeJSON(prior.Attributes, typ); err != nil {
			return nil, err
		}
		private = prior.Private
	}
	after, err := value(config, b)
	if err != nil {
		return nil, err
	}
	proposed, err := propose(b, before, after)
	if err != nil {
		return nil, err
	}
	if p.prior, err = dynamic(before); err != nil {
		return nil, err
	}
	if p.config, err = dynamic(after); err != nil {
		return nil, err
	}
	proposedValue, err := dynamic(proposed)
	if err != nil {
		return nil, err
	}
	c.calls.Add(1)
	resp, err := c.server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: resourceType, PriorState: p.prior, ProposedNewState: proposedValue, Config: p.config, PriorPrivate: private,
	})
	if err != nil {
		return nil, err
	}
	if err := failure(resp.Diagnostics); err != nil {
		return nil, err
	}
	p.state, p.private = resp.PlannedState, resp.PlannedPrivate
	if p.value, err = resp.PlannedState.Unmarshal(typ); err != nil {
		return nil, err
	}
	switch {
	case before.IsNull():
		p.action = Create
	case p.value.Equal(before):
		p.action = NoOp
	case len(resp.RequiresReplace) > 0:
		p.action = Replace
	default:
		p.action = Update
	}
	return p, nil
}

func (c *Core) planDelete(ctx context.Context, resourceType string, prior *Object) (*planned, error) {
	b, err := c.block(resourceType)
	if err != nil {
		return nil, err
	}
	before, err := decodeJSON(prior.Attributes, b.ValueType())
	if err != nil {
		return nil, err
	}
	p := &planned{action: Delete, private: prior.Private}
	if p.prior, err = dynamic(before); err != nil {
		return nil, err
	}
	if p.config, err = dynamic(tftypes.NewValue(b.ValueType(), nil)); err != nil {
		return nil, err
	}
	p.state = p.config
	c.calls.Add(1)
	resp, err := c.server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: resourceType, PriorState: p.prior, ProposedNewState: p.state, Config: p.config, PriorPrivate: prior.Private,
	})
	if err != nil {
		return nil, err
	}
	p.private = resp.PlannedPrivate
	return p, failure(resp.Diagnostics)
}

// propose merges a configuration with the prior state: what is computed and
// not configured keeps its value. Blocks of this provider hold nothing that is
// computed.
func propose(b *tfprotov6.SchemaBlock, before, config tftypes.Value) (tftypes.Value, error) {
	if before.IsNull() {
		return config, nil
	}
	var prior, given map[string]tftypes.Value
	if err := errors.Join(before.As(&prior), config.As(&given)); err != nil {
		return tftypes.Value{}, err
	}
	given = maps.Clone(given) // As hands out the configuration's own map
	for _, a := range b.Attributes {
		if a.Computed && given[a.Name].IsNull() {
			given[a.Name] = prior[a.Name]
		}
	}
	return tftypes.NewValue(b.ValueType(), given), nil
}

func dynamic(v tftypes.Value) (*tfprotov6.DynamicValue, error) {
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		return nil, fmt.Errorf("encode value: %w", err)
	}
	return &d, nil
}
