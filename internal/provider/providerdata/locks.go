package providerdata

import (
	"context"
	"sync"
)

// locks are mutexes by key whose waiting ends with a context.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// Lock waits until key is free in this process and takes it. The returned
// function gives it back. The error is the context's cause.
func (d *Data) Lock(ctx context.Context, key string) (release func(), err error) {
	for {
		d.locks.mu.Lock()
		busy, taken := d.locks.held[key]
		if !taken {
			done := make(chan struct{})
			d.locks.held[key] = done
			d.locks.mu.Unlock()
			return func() {
				d.locks.mu.Lock()
				delete(d.locks.held, key)
				d.locks.mu.Unlock()
				close(done)
			}, nil
		}
		d.locks.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
