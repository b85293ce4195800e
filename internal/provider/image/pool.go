package image

import (
	"context"
	"fmt"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

const (
	// poolGrace is how long a pool that is defined may take to become active.
	poolGrace = 2 * time.Minute
	poolPoll  = 3 * time.Second
)

// readyPool returns the pool once it is active. A pool that is not is started;
// one that does not start (its disk is not mounted yet) is tried again for a
// while. There being no such pool is an error at once.
func readyPool(ctx context.Context, host *libvirt.Host, name string, log func(why error)) (libvirt.Pool, error) {
	deadline := time.Now().Add(poolGrace)
	for {
		p, err := host.Pool(ctx, name)
		if err != nil || p.Active {
			return p, err
		}
		why := host.StartPool(ctx, name)
		if why == nil {
			return host.Pool(ctx, name)
		}
		if fault.Is(why, fault.Unavailable) || fault.Is(why, fault.Denied) {
			return p, why
		}
		if !time.Now().Before(deadline) {
			return p, fault.New(fault.KindOf(why), "image: wait for pool", name, "it is defined and did not start within %s: %w", poolGrace, why)
		}
		log(why)
		select {
		case <-time.After(poolPoll):
		case <-ctx.Done():
			return p, fmt.Errorf("pool %s is not active: %w: %w", name, context.Cause(ctx), why)
		}
	}
}
