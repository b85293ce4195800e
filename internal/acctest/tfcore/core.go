package tfcore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Values are a configuration: strings, numbers, booleans, []any for lists,
// Values for a block, []Values for a list of blocks.
type Values = map[string]any

// Core talks to one configured provider. It is safe for concurrent use.
type Core struct {
	server tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse

	calls atomic.Int64 // of the protocol, for objects
}

// New configures the provider.
func New(ctx context.Context, server tfprotov6.ProviderServer, config Values) (*Core, error) {
	schema, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	if err := failure(schema.Diagnostics); err != nil {
		return nil, err
	}
	value, err := encode(config, schema.Provider.Block)
	if err != nil {
		return nil, err
	}
	resp, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: value})
	if err != nil {
		return nil, err
	}
	return &Core{server: server, schema: schema}, failure(resp.Diagnostics)
}

// Calls returns how many calls of the protocol were made for objects.
func (c *Core) Calls() int64 { return c.calls.Load() }

// Object is what Terraform keeps of an object.
type Object struct {
	Attributes json.RawMessage `json:"attributes"`
	Private    []byte          `json:"private,omitempty"`
	Tainted    bool            `json:"tainted,omitempty"`
}

// Action is what a plan does.
type Action string

// The actions.
const (
	NoOp    Action = "no-op"
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace"
	Delete  Action = "delete"
)

// Change is a planned change of one object. Config is nil for a Delete.
type Change struct {
	Type   string  `json:"type"`
	Action Action  `json:"action"`
	Config Values  `json:"config,omitempty"`
	Prior  *Object `json:"prior,omitempty"`
}

func (c *Core) block(resourceType string) (*tfprotov6.SchemaBlock, error) {
	s, ok := c.schema.ResourceSchemas[resourceType]
	if !ok {
		return nil, fmt.Errorf("the provider has no %s", resourceType)
	}
	return s.Block, nil
}

// Refresh reads the object; nil when it is gone. So is the refresh of nil.
func (c *Core) Refresh(ctx context.Context, resourceType string, o *Object) (*Object, error) {
	if o == nil {
		return nil, nil
	}
	state, err := c.upgrade(ctx, resourceType, o)
	if err != nil {
		return nil, err
	}
	c.calls.Add(1)
	resp, err := c.server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: resourceType, CurrentState: state, Private: o.Private})
	if err != nil {
		return nil, err
	}
	if err := failure(resp.Diagnostics); err != nil {
		return nil, err
	}
	return c.keep(resourceType, resp.NewState, resp.Private, o.Tainted)
}

func (c *Core) upgrade(ctx context.Context, resourceType string, o *Object) (*tfprotov6.DynamicValue, error) {
	if _, err := c.block(resourceType); err != nil {
		return nil, err
	}
	c.calls.Add(1)
	resp, err := c.server.UpgradeResourceState(ctx, &tfprotov6.UpgradeResourceStateRequest{
		TypeName: resourceType, Version: c.schema.ResourceSchemas[resourceType].Version, RawState: &tfprotov6.RawState{JSON: o.Attributes},
	})
	if err != nil {
		return nil, err
	}
	return resp.UpgradedState, failure(resp.Diagnostics)
}

// keep makes an Object of a state that the provider returned.
func (c *Core) keep(resourceType string, state *tfprotov6.DynamicValue, private []byte, tainted bool) (*Object, error) {
	b, err := c.block(resourceType)
	if err != nil || state == nil {
		return nil, err
	}
	v, err := state.Unmarshal(b.ValueType())
	if err != nil || v.IsNull() {
		return nil, err
	}
	if !v.IsFullyKnown() {
		return nil, errors.New("the provider returned a state with unknown values")
	}
	attributes, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	return &Object{Attributes: attributes, Private: private, Tainted: tainted}, nil
}

// failure returns the errors among diagnostics.
func failure(diags []*tfprotov6.Diagnostic) error {
	var texts []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			texts = append(texts, d.Summary+": "+d.Detail)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "\n"))
}

// inconsistent names what a provider changed that was known at plan: an error
// in Terraform, too.
func inconsistent(planned, actual tftypes.Value) error {
	var want, have map[string]tftypes.Value
	if err := errors.Join(planned.As(&want), actual.As(&have)); err != nil || actual.IsNull() {
		return err
	}
	var names []string
	for name, v := range want {
		if v.IsFullyKnown() && !v.Equal(have[name]) {
			names = append(names, fmt.Sprintf("%s: planned %s, got %s", name, v, have[name]))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("provider produced an inconsistent result after apply: %s", strings.Join(names, "; "))
}
