package tfconv

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Timeouts are the stated defaults of one resource type. A zero field has no
// key in the block.
type Timeouts struct {
	Create, Read, Update, Delete time.Duration
}

// Block returns the `timeouts` block of a resource, whose descriptions state
// the defaults.
func (t Timeouts) Block(ctx context.Context) schema.Block {
	b, ok := timeouts.Block(ctx, timeouts.Opts{
		Create: t.Create > 0, CreateDescription: describe("create", t.Create),
		Read: t.Read > 0, ReadDescription: describe("refresh", t.Read),
		Update: t.Update > 0, UpdateDescription: describe("update", t.Update),
		Delete: t.Delete > 0, DeleteDescription: describe("destroy", t.Delete) + " Taken from the state: apply a change of it before the destroy.",
	}).(schema.SingleNestedBlock)
	if ok {
		b.Description = "Upper limits of each operation, as durations like \"90s\" or \"1h30m\"."
	}
	return b
}

// Null returns the value of an absent timeouts block, which a state that is
// built from nothing needs.
func (t Timeouts) Null() timeouts.Value {
	keys := map[string]attr.Type{}
	for key, d := range map[string]time.Duration{"create": t.Create, "read": t.Read, "update": t.Update, "delete": t.Delete} {
		if d > 0 {
			keys[key] = types.StringType
		}
	}
	return timeouts.Value{Object: types.ObjectNull(keys)}
}

func describe(what string, d time.Duration) string {
	return fmt.Sprintf("Limit of a %s. Default: %q.", what, Duration(d))
}

// Duration writes d the short way: "30m", not "30m0s".
func Duration(d time.Duration) string {
	s := d.String()
	if len(s) > 2 && s[len(s)-2:] == "0s" && d >= time.Minute && d%time.Minute == 0 {
		s = s[:len(s)-2]
	}
	if len(s) > 2 && s[len(s)-2:] == "0m" && d >= time.Hour && d%time.Hour == 0 {
		s = s[:len(s)-2]
	}
	return s
}

// WithCreate returns a context that ends after the configured create timeout,
// or after the default.
func (t Timeouts) WithCreate(ctx context.Context, v timeouts.Value) (context.Context, context.CancelFunc, diag.Diagnostics) {
	d, diags := v.Create(ctx, t.Create)
	return limit(ctx, d, diags)
}

// WithRead is WithCreate for a refresh.
func (t Timeouts) WithRead(ctx context.Context, v timeouts.Value) (context.Context, context.CancelFunc, diag.Diagnostics) {
	d, diags := v.Read(ctx, t.Read)
	return limit(ctx, d, diags)
}

// WithUpdate is WithCreate for an update.
func (t Timeouts) WithUpdate(ctx context.Context, v timeouts.Value) (context.Context, context.CancelFunc, diag.Diagnostics) {
	d, diags := v.Update(ctx, t.Update)
	return limit(ctx, d, diags)
}

// WithDelete is WithCreate for a destroy; v comes from the state.
func (t Timeouts) WithDelete(ctx context.Context, v timeouts.Value) (context.Context, context.CancelFunc, diag.Diagnostics) {
	d, diags := v.Delete(ctx, t.Delete)
	return limit(ctx, d, diags)
}

// limit ends ctx after d; the cause says that a timeout of the configuration
// did it, as opposed to an interrupt.
func limit(ctx context.Context, d time.Duration, diags diag.Diagnostics) (context.Context, context.CancelFunc, diag.Diagnostics) {
	ctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("the limit of %s ran out: %w", Duration(d), context.DeadlineExceeded))
	return ctx, cancel, diags
}
