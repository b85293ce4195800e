package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// openings: what is not there is made only when asked for, and keeps its id.
func openings(t *testing.T, e Engine) {
	ctx, location := context.Background(), e.Empty(t)
	for range 2 { // a failed opening makes nothing either
		if db, err := e.Open(ctx, location, store.Existing); !fault.Is(err, fault.NotFound) {
			t.Fatalf("opened what is not there: %v, %v", db, err)
		}
	}
	db := opened(t, e, location, store.Create)
	id, err := db.ID(ctx)
	if err != nil || len(id) < 20 {
		t.Fatalf("id %q, %v", id, err)
	}
	for _, mode := range []store.Mode{store.Existing, store.Create} {
		if again, err := opened(t, e, location, mode).ID(ctx); err != nil || again != id {
			t.Errorf("opened again its id is %q, %v; want %q", again, err, id)
		}
	}
}

func newerSchema(t *testing.T, e Engine) {
	location := e.Empty(t)
	save(t, opened(t, e, location, store.Create), Sample("a"))
	e.Exec(t, location, `INSERT INTO schema_version (version, applied_ms) VALUES (999, 0)`)
	for _, mode := range []store.Mode{store.Existing, store.Create} {
		_, err := e.Open(context.Background(), location, mode)
		if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "999") {
			t.Errorf("a newer schema opens in mode %d: %v", mode, err)
		}
	}
}

func eightAtOnce(t *testing.T, e Engine) {
	for range 5 {
		location := e.Empty(t)
		var wg sync.WaitGroup
		found := make([]string, 8)
		problems := make([]error, 8)
		for i := range found {
			wg.Go(func() {
				db, err := e.Open(context.Background(), location, store.Create)
				if err != nil {
					problems[i] = err
					return
				}
				found[i], problems[i] = db.ID(context.Background())
				problems[i] = errors.Join(problems[i], db.Close())
			})
		}
		wg.Wait()
		for i := range found {
			if problems[i] != nil || found[i] != found[0] {
				t.Errorf("opening %d: store %q, %v; the first has %q", i, found[i], problems[i], found[0])
			}
		}
	}
}

func lazy(t *testing.T, e Engine) {
	ctx, location, openings := context.Background(), e.Empty(t), 0
	l := store.NewLazy(func(ctx context.Context, mode store.Mode) (*store.DB, error) {
		openings++
		return e.Open(ctx, location, mode)
	})
	if _, err := l.Get(ctx, store.Existing); !fault.Is(err, fault.NotFound) {
		t.Fatalf("there is something: %v", err)
	}
	first, err := l.Get(ctx, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := l.Get(ctx, store.Existing); err != nil || second != first || openings != 2 {
		t.Errorf("the open store is not kept: %v, %d openings", err, openings)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Get(ctx, store.Create); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a closed store opens again: %v", err)
	}
}
