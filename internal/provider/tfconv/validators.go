package tfconv

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

// check is a string validator made of a function.
type check struct {
	what string
	fn   func(string) error
}

// Check returns a validator that refuses a known string for which fn returns
// an error; what says in a few words what is expected.
func Check(what string, fn func(string) error) validator.String { return check{what, fn} }

// Description implements validator.Describer.
func (c check) Description(context.Context) string { return c.what }

// MarkdownDescription implements validator.Describer.
func (c check) MarkdownDescription(context.Context) string { return c.what }

// ValidateString implements validator.String.
func (c check) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if !Known(req.ConfigValue) {
		return
	}
	if err := c.fn(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+c.what, Sentence(err.Error()))
	}
}

// MACPrefix accepts the first octets of derived addresses.
func MACPrefix() validator.String {
	return Check("MAC prefix", func(s string) error {
		_, err := hwaddr.ParsePrefix(s)
		return err
	})
}
