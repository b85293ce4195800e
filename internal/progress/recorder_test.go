package progress_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// fakeSink keeps what it is given, or refuses it.
type fakeSink struct {
	mu     sync.Mutex
	events []progress.Event
	calls  int
	err    error
}

func (f *fakeSink) Name() string { return "the fake" }
func (f *fakeSink) Close() error { return nil }
func (f *fakeSink) Write(_ context.Context, e progress.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.err == nil {
		f.events = append(f.events, e)
	}
	return f.err
}

func (f *fakeSink) kinds() (found []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		found = append(found, string(e.Kind))
	}
	return found
}

var subject = progress.Subject{Kind: "create", Type: "muster_node_vm", Name: "node-a", Host: "qemu:///system"}

func TestOperation_events(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &fakeSink{}
		rec := progress.NewRecorder(progress.Config{Sinks: []progress.Sink{sink}, Process: "h/1/2"})
		ctx, op := progress.Begin(progress.With(t.Context(), rec), subject, progress.Limit(progress.Timeout, time.Minute))
		if progress.From(ctx) != op || op == nil {
			t.Fatal("the context is not part of the operation")
		}
		op.StepOf("upload", 100, "B")
		for i := range int64(10) { // ten changes within a second are one event
			op.Advance(i, 0)
		}
		time.Sleep(1100 * time.Millisecond)
		time.Sleep(6 * time.Second)
		op.Step("upload") // goes on
		op.Step("ready")
		op.End(store.Done, "")
		op.End(store.Failed, "late")
		op.Advance(5, 5)
		want := []string{"begin", "step", "progress", "beat", "step", "end"}
		if got := sink.kinds(); !slices.Equal(got, want) {
			t.Fatalf("events %v, want %v", got, want)
		}
		last := sink.events[len(sink.events)-1].Operation
		if last.Outcome != store.Done || last.Ended.IsZero() || len(last.Steps) != 2 || last.Steps[0].Done != 9 || last.Steps[0].Total != 100 {
			t.Errorf("the receipt is %+v", last)
		}
		if last.Steps[0].Ended.IsZero() || last.Steps[1].Ended.IsZero() || last.Limit("timeout") != time.Minute {
			t.Errorf("the receipt is %+v", last)
		}
	})
}

// Without a sink nothing is begun and nothing is spent.
func TestOperation_costsNothingWithoutARecorder(t *testing.T) {
	ctx := progress.With(t.Context(), nil)
	if n := testing.AllocsPerRun(100, func() {
		ctx, op := progress.Begin(ctx, subject)
		op.Step("a")
		op.StepOf("b", 1, "B")
		op.Advance(1, 1)
		op.Message("m")
		op.Heartbeat()
		op.Object("id")
		op.Finish(ctx, nil)
		progress.From(ctx).Heartbeat()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A sink that fails disturbs nobody, is named once, rests, and has it all when
// it works again.
func TestRecorder_failingSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := &fakeSink{err: errors.New("disk full")}, &fakeSink{}
		rec := progress.NewRecorder(progress.Config{Sinks: []progress.Sink{bad, good}})
		_, op := progress.Begin(progress.With(t.Context(), rec), subject)
		for i := range 5 {
			op.Step(fmt.Sprint("step ", i))
		}
		if bad.calls != 1 || len(good.events) != 6 {
			t.Errorf("the failing sink was asked %d times, the other has %d events", bad.calls, len(good.events))
		}
		if got := rec.Troubles(); len(got) != 1 || got[0] != "the fake: disk full" {
			t.Errorf("troubles: %v", got)
		}
		if got := rec.Troubles(); len(got) != 0 {
			t.Errorf("told twice: %v", got)
		}
		bad.mu.Lock()
		bad.err = nil
		bad.mu.Unlock()
		time.Sleep(31 * time.Second)
		op.End(store.Done, "")
		if last := bad.events[len(bad.events)-1].Operation; len(last.Steps) != 5 || last.Outcome != store.Done {
			t.Errorf("it missed %+v", last)
		}
	})
}

func TestOutcomeOf(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	expired, cancel := context.WithTimeout(context.Background(), -1)
	defer cancel()
	cause := errors.New("no space")
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want store.Outcome
	}{
		{context.Background(), nil, store.Done},
		{cancelled, nil, store.Done},
		{context.Background(), cause, store.Failed},
		{cancelled, cause, store.Interrupted},
		{expired, cause, store.TimedOut},
		{context.Background(), fmt.Errorf("wait: %w", context.DeadlineExceeded), store.TimedOut},
		{context.Background(), fmt.Errorf("wait: %w", context.Canceled), store.Interrupted},
	} {
		if got, reason := progress.OutcomeOf(c.ctx, c.err); got != c.want || (c.err != nil && reason == "") {
			t.Errorf("%v: %s %q, want %s", c.err, got, reason, c.want)
		}
	}
}

func TestText(t *testing.T) {
	step := store.Step{Name: "upload", Done: 3 << 30, Total: 4 << 30, Unit: "B", Begun: start, Message: " two\n lines "}
	for _, c := range []struct{ got, want string }{
		{progress.StepText(step, at(60)), "upload 3.0 GiB of 4.0 GiB, 51.2 MiB/s, 20s left: two lines"},
		{progress.StepText(store.Step{Name: "scripts", Done: 3, Total: 7, Unit: "scripts", Begun: start}, at(60)), "scripts 3 of 7 scripts"},
		{progress.StepText(store.Step{Name: "boot", Begun: start}, at(60)), "boot"},
		{progress.Span(90 * time.Second), "1m30s"},
		{progress.Span(2 * time.Hour), "2h"},
		{progress.Span(20 * time.Minute), "20m"},
		{progress.Span(10 * time.Millisecond), "0s"},
		{progress.Size(1023), "1023 B"},
		{progress.Size(1 << 20), "1.0 MiB"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	o := store.Operation{
		Begun: start, Moved: at(60), Answered: at(60), Ended: at(1200), Outcome: store.TimedOut, Steps: []store.Step{step},
		Limits: []store.Limit{progress.Limit(progress.Timeout, 20*time.Minute), progress.Limit(progress.BlindFor, time.Minute)},
	}
	account := progress.Account(o, at(1200))
	for _, part := range []string{"20m have passed of the 20m allowed", "progress was 19m before", "3.0 GiB of 4.0 GiB", "not answered for 19m"} {
		if !strings.Contains(account, part) {
			t.Errorf("%q lacks %q", account, part)
		}
	}
}
