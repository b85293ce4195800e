package providerdata

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// QuietAfter is how long an unfinished operation of another machine must have
// been still before its process is taken for dead.
const QuietAfter = time.Minute

// AwaitDead returns when the process that began an unfinished operation works
// on it no more. A process of this machine is looked up, and is fault.Busy
// while it lives; one of another machine is dead QuietAfter its last sign.
func AwaitDead(ctx context.Context, name string, op owner.Operation) error {
	host, pidText, _ := strings.Cut(op.Host, "/")
	pid, err := strconv.Atoi(pidText)
	here, herr := os.Hostname()
	if err == nil && herr == nil && host == here {
		if pid != os.Getpid() && pid > 0 && syscall.Kill(pid, 0) == nil {
			return fault.New(fault.Busy, "continue create of", name,
				"process %d of this machine works on it (step %q since %s); wait for it or end it", pid, op.Step, op.Time.Format(time.RFC3339))
		}
		return nil
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
