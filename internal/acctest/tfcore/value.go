package tfcore

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// value types a configuration: what is not given is null, or no blocks.
func value(config Values, b *tfprotov6.SchemaBlock) (tftypes.Value, error) {
	text, err := json.Marshal(complete(config, b))
	if err != nil {
		return tftypes.Value{}, err
	}
	return decodeJSON(text, b.ValueType())
}

func encode(config Values, b *tfprotov6.SchemaBlock) (*tfprotov6.DynamicValue, error) {
	v, err := value(config, b)
	if err != nil {
		return nil, err
	}
	return dynamic(v)
}

// complete adds what Terraform decodes an absent block to. It does not change
// its argument.
func complete(config Values, b *tfprotov6.SchemaBlock) Values {
	out := make(Values, len(config))
	for k, v := range config {
		out[k] = v
	}
	for _, nested := range b.BlockTypes {
		given := elements(out[nested.TypeName])
		done := make([]any, len(given))
		for i, e := range given {
			done[i] = complete(e, nested.Block)
		}
		switch {
		case nested.Nesting == tfprotov6.SchemaNestedBlockNestingModeList, nested.Nesting == tfprotov6.SchemaNestedBlockNestingModeSet:
			out[nested.TypeName] = done
		case len(done) > 0:
			out[nested.TypeName] = done[0]
		}
	}
	return out
}

// elements returns the blocks of one name, however they are written; those
// that came through JSON have lost their Go types.
func elements(v any) []Values {
	var out []Values
	switch v := v.(type) {
	case Values:
		out = append(out, v)
	case []Values:
		out = v
	case []any:
		for _, e := range v {
			if m, ok := e.(Values); ok {
				out = append(out, m)
			}
		}
	}
	return out
}

func decodeJSON(text []byte, typ tftypes.Type) (tftypes.Value, error) {
	v, err := tftypes.ValueFromJSON(text, typ) //nolint:staticcheck // there is no other decoder of a state's JSON
	if err != nil {
		return tftypes.Value{}, fmt.Errorf("decode value: %w", err)
	}
	return v, nil
}

// encodeJSON writes a known value as a state file holds it.
func encodeJSON(v tftypes.Value) ([]byte, error) {
	plain, err := plain(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

func plain(v tftypes.Value) (any, error) {
	if v.IsNull() {
		return nil, nil
	}
	typ := v.Type()
	switch {
	case typ.Is(tftypes.String):
		var s string
		err := v.As(&s)
		return s, err
	case typ.Is(tftypes.Bool):
		var b bool
		err := v.As(&b)
		return b, err
	case typ.Is(tftypes.Number):
		var n big.Float
		err := v.As(&n)
		return json.Number(n.Text('f', -1)), err
	case typ.Is(tftypes.Object{}), typ.Is(tftypes.Map{}):
		var m map[string]tftypes.Value
		if err := v.As(&m); err != nil {
			return nil, err
		}
		out := make(map[string]any, len(m))
		for k, e := range m {
			var err error
			if out[k], err = plain(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var list []tftypes.Value
	if err := v.As(&list); err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, e := range list {
		var err error
		if out[i], err = plain(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}
