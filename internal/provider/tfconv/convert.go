package tfconv

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Known reports whether v is neither null nor unknown.
func Known(v attr.Value) bool { return v != nil && !v.IsNull() && !v.IsUnknown() }

// StringOrNull returns s, or null when it is empty.
func StringOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// Int64OrNull returns n, or null when it is zero.
func Int64OrNull(n int64) types.Int64 {
	if n == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(n)
}

// StringOr returns v's value, or fallback when v is null, unknown or empty.
func StringOr(v types.String, fallback string) string {
	if Known(v) && v.ValueString() != "" {
		return v.ValueString()
	}
	return fallback
}

// Int64Or returns v's value, or fallback when v is null or unknown.
func Int64Or(v types.Int64, fallback int64) int64 {
	if Known(v) {
		return v.ValueInt64()
	}
	return fallback
}

// BoolOr returns v's value, or fallback when v is null or unknown.
func BoolOr(v types.Bool, fallback bool) bool {
	if Known(v) {
		return v.ValueBool()
	}
	return fallback
}

// collection is a list or a set.
type collection interface {
	attr.Value
	ElementsAs(ctx context.Context, target any, allowUnhandled bool) diag.Diagnostics
}

// Elements returns the elements of a list or set as T; a null or unknown
// collection is nil. T is a struct of tfsdk fields for blocks, or a framework
// value; unknown elements need a T that can hold them.
func Elements[T any](ctx context.Context, c collection) ([]T, diag.Diagnostics) {
	if !Known(c) {
		return nil, nil
	}
	var out []T
	diags := c.ElementsAs(ctx, &out, false)
	return out, diags
}

// First returns the only element of an at-most-one block, or nil when the
// block is absent or unknown.
func First[T any](ctx context.Context, l types.List) (*T, diag.Diagnostics) {
	all, diags := Elements[T](ctx, l)
	if len(all) == 0 || diags.HasError() {
		return nil, diags
	}
	return &all[0], diags
}

// Strings returns the known strings of a list or set, in order.
func Strings(ctx context.Context, c collection) ([]string, diag.Diagnostics) {
	values, diags := Elements[types.String](ctx, c)
	var out []string
	for _, v := range values {
		if Known(v) {
			out = append(out, v.ValueString())
		}
	}
	return out, diags
}

// StringList returns a list of strings, empty rather than null when there are
// none: computed lists are never null.
func StringList(values []string) types.List {
	elems := make([]attr.Value, len(values))
	for i, v := range values {
		elems[i] = types.StringValue(v)
	}
	return types.ListValueMust(types.StringType, elems)
}

// StringMap returns a map of strings, empty rather than null.
func StringMap(values map[string]string) types.Map {
	elems := make(map[string]attr.Value, len(values))
	for k, v := range values {
		elems[k] = types.StringValue(v)
	}
	return types.MapValueMust(types.StringType, elems)
}
