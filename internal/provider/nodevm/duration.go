package nodevm

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// durationValidator takes Go durations that are not negative: "90s", "1h30m".
type durationValidator struct{}

// Description implements validator.String.
func (durationValidator) Description(context.Context) string {
	return `a duration like "90s" or "1h30m"`
}

// MarkdownDescription implements validator.String.
func (v durationValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateString implements validator.String.
func (v durationValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if !tfconv.Known(req.ConfigValue) {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d < 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid duration",
			tfconv.Sentence(`"`+req.ConfigValue.ValueString()+`" is not `+v.Description(ctx)))
	}
}

// duration returns a validated duration, or the fallback when it is null.
func duration(v types.String, fallback string) time.Duration {
	d, err := time.ParseDuration(tfconv.StringOr(v, fallback))
	if err != nil {
		return 0
	}
	return d
}
