package providerdata

import (
	"context"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/presence"
)

// QuietAfter is how long an unfinished operation of another machine must have
// been still before its process is taken for dead.
const QuietAfter = time.Minute

// AwaitDead returns when the process that began an unfinished operation works
// on it no more. A process of this machine is looked up, and is fault.Busy
// while it lives; one of another machine is dead QuietAfter its last sign.
func AwaitDead(ctx context.Context, name string, op owner.Operation) error {
	switch presence.Of(op.Host) {
	case presence.Elsewhere: // given time below
	case presence.Ended:
		return nil
	case presence.AtWork:
		return fault.New(fault.Busy, "continue create of", name,
			"another apply on this machine (%s) works on it (step %q since %s); wait for it or end it", op.Host, op.Step, op.Time.Format(time.RFC3339))
	}
	left := min(time.Until(op.Time.Add(QuietAfter)), QuietAfter)
	if left <= 0 {
		return nil
	}
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
