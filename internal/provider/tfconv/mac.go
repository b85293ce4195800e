package tfconv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

var (
	_ basetypes.StringTypable                    = MACType{}
	_ basetypes.StringValuableWithSemanticEquals = MAC{}
	_ xattr.ValidateableAttribute                = MAC{}
	_ function.ValidateableParameter             = MAC{}
)

// MACType is the type of an attribute that holds a MAC address. A configured
// address stays as it is written, for a plan may not change it; two spellings
// of one address are equal.
type MACType struct{ basetypes.StringType }

// Equal implements attr.Type.
func (t MACType) Equal(o attr.Type) bool {
	other, ok := o.(MACType)
	return ok && t.StringType.Equal(other.StringType)
}

// String implements attr.Type.
func (t MACType) String() string { return "tfconv.MACType" }

// ValueFromString implements basetypes.StringTypable.
func (t MACType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return MAC{StringValue: in}, nil
}

// ValueFromTerraform implements attr.Type.
func (t MACType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	v, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	s, ok := v.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("unexpected value type %T for a MAC address", v)
	}
	return MAC{StringValue: s}, nil
}

// ValueType implements attr.Type.
func (t MACType) ValueType(context.Context) attr.Value { return MAC{} }

// MAC is a MAC address in an attribute; it may be null or unknown.
type MAC struct{ basetypes.StringValue }

// NewMAC returns a known address, in lower case.
func NewMAC(m hwaddr.MAC) MAC { return MAC{basetypes.NewStringValue(m.String())} }

// MACString returns an address as it is written; "" is null.
func MACString(s string) MAC {
	if s == "" {
		return MACNull()
	}
	return MAC{basetypes.NewStringValue(s)}
}

// MACNull returns a null address.
func MACNull() MAC { return MAC{basetypes.NewStringNull()} }

// MACUnknown returns an unknown address.
func MACUnknown() MAC { return MAC{basetypes.NewStringUnknown()} }

// Type implements attr.Value.
func (v MAC) Type(context.Context) attr.Type { return MACType{} }

// Equal implements attr.Value; it compares the spelling, as Terraform does.
func (v MAC) Equal(o attr.Value) bool {
	other, ok := o.(MAC)
	return ok && v.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals implements basetypes.StringValuableWithSemanticEquals:
// the case of the digits does not matter.
func (v MAC) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(MAC)
	return ok && strings.EqualFold(v.ValueString(), other.ValueString()), nil
}

// Canonical returns the address in lower case, or "" when it is null or
// unknown.
func (v MAC) Canonical() string { return strings.ToLower(v.ValueString()) }

// Parse returns the address. It is an error for a null or unknown value.
func (v MAC) Parse() (hwaddr.MAC, error) { return hwaddr.ParseMAC(v.ValueString()) }

// ValidateAttribute implements xattr.ValidateableAttribute.
func (v MAC) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	if !Known(v) {
		return
	}
	if _, err := v.Parse(); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid MAC address", Sentence(err.Error()))
	}
}

// ValidateParameter implements function.ValidateableParameter.
func (v MAC) ValidateParameter(_ context.Context, req function.ValidateParameterRequest, resp *function.ValidateParameterResponse) {
	if !Known(v) {
		return
	}
	if _, err := v.Parse(); err != nil {
		resp.Error = function.NewArgumentFuncError(req.Position, Sentence(err.Error()))
	}
}
