package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

func roundTrip(t *testing.T, e Engine) {
	db := made(t, e)
	for _, want := range []store.Operation{Sample("full"), {ID: "empty", Begun: begun, Moved: begun}} {
		save(t, db, want)
		got, err := db.Operation(context.Background(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.Heartbeat.IsZero() || got.Told {
			t.Errorf("%s: heartbeat %s, told %v", want.ID, got.Heartbeat, got.Told)
		}
		got.Heartbeat, got.Quiet = time.Time{}, 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read\n%+v\nsaved\n%+v", got, want)
		}
	}
}

// endedStays: a late write of a process that was thought dead changes nothing.
func endedStays(t *testing.T, e Engine) {
	db := made(t, e)
	o := Sample("a")
	save(t, db, o)
	o.Outcome, o.Ended, o.Reason = store.TimedOut, begun.Add(time.Hour), "20m0s ran out"
	save(t, db, o)
	late := Sample("a")
	late.Reason = "late"
	save(t, db, late)
	got, err := db.Operation(context.Background(), "a")
	if err != nil || got.Outcome != store.TimedOut || got.Reason != o.Reason || !got.Ended.Equal(o.Ended) {
		t.Errorf("%+v, %v", got, err)
	}
}

func queries(t *testing.T, e Engine) {
	db := made(t, e)
	var all []store.Operation
	for i, id := range []string{"a1", "a2", "b1", "b2", "c1"} {
		o := Sample(id)
		o.Begun = begun.Add(time.Duration(i) * time.Minute)
		o.Name, o.Object = id[:1], "object-"+id
		if id == "a2" || id == "b1" {
			o.Outcome, o.Ended = store.Done, o.Begun.Add(time.Second)
		}
		all = append(all, o)
	}
	save(t, db, all...)
	for _, c := range []struct {
		behaviour string
		q         store.Query
		want      []string
	}{
		{"the newest first", store.Query{}, []string{"c1", "b2", "b1", "a2", "a1"}},
		{"at most", store.Query{Max: 2}, []string{"c1", "b2"}},
		{"of a name", store.Query{Name: "a"}, []string{"a2", "a1"}},
		{"of a type that is not there", store.Query{Type: "muster_image"}, nil},
		{"of a host", store.Query{Host: "qemu:///system", Max: 1}, []string{"c1"}},
		{"of an object", store.Query{Object: "object-b1"}, []string{"b1"}},
		{"by the beginning of the id", store.Query{ID: "b"}, []string{"b2", "b1"}},
		{"no wildcard in an id", store.Query{ID: "%"}, nil},
		{"unended", store.Query{Unended: true}, []string{"c1", "b2", "a1"}},
		{"the newest of each object", store.Query{Newest: true}, []string{"c1", "b2", "a2"}},
		{"unended and the newest of its object", store.Query{Newest: true, Unended: true}, []string{"c1", "b2"}},
	} {
		if got := ids(list(t, db, c.q)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.behaviour, got, c.want)
		}
	}
	for id, want := range map[string]fault.Kind{"a": fault.Conflict, "": fault.NotFound, "x": fault.NotFound} {
		if _, err := db.Operation(context.Background(), id); !fault.Is(err, want) {
			t.Errorf("operation %q: %v, want %v", id, err, want)
		}
	}
}

func heartbeat(t *testing.T, e Engine) {
	db := made(t, e)
	o := Sample("a")
	o.Heartbeat = begun.Add(-time.Hour) // a clock that is wrong, which does not count
	save(t, db, o)
	read := func() store.Operation {
		got, err := db.Operation(context.Background(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := read()
	if first.Quiet < 0 || first.Quiet > time.Minute {
		t.Errorf("just saved and quiet for %s", first.Quiet)
	}
	for deadline := time.Now().Add(10 * time.Second); read().Quiet <= first.Quiet; {
		if time.Now().After(deadline) {
			t.Fatal("quiet does not grow")
		}
	}
	quiet := read().Quiet
	save(t, db, o)
	if got := read(); !got.Heartbeat.After(first.Heartbeat) && quiet > time.Millisecond {
		t.Errorf("saved again, and the heartbeat is still %s", got.Heartbeat)
	}
}

func toldOnce(t *testing.T, e Engine) {
	db := made(t, e)
	save(t, db, Sample("a"))
	var mu sync.Mutex
	var wg sync.WaitGroup
	firsts := 0
	for range 8 {
		wg.Go(func() {
			first, err := db.Tell(context.Background(), "a")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if first {
				firsts++
			}
		})
	}
	wg.Wait()
	if firsts != 1 {
		t.Errorf("%d were the first to tell", firsts)
	}
	save(t, db, Sample("a"))
	if got, err := db.Operation(context.Background(), "a"); err != nil || !got.Told {
		t.Errorf("told is forgotten: %v", err)
	}
}

// manyWriters is what an apply of many resources does, over two handles as two
// provider processes have them.
func manyWriters(t *testing.T, e Engine) {
	location := e.Empty(t)
	handles := []*store.DB{opened(t, e, location, store.Create), opened(t, e, location, store.Create)}
	const operations, writes = 20, 10
	var wg sync.WaitGroup
	for i := range operations {
		wg.Go(func() {
			o := Sample(fmt.Sprintf("op-%02d", i))
			for n := range int64(writes) {
				o.Steps[1].Done = n
				if n == writes-1 {
					o.Outcome = store.Done
				}
				if err := handles[i%2].SaveOperation(context.Background(), o); err != nil {
					t.Errorf("%s: %v", o.ID, err)
				}
			}
		})
	}
	wg.Wait()
	found := list(t, handles[0], store.Query{})
	if len(found) != operations {
		t.Fatalf("%d operations, want %d", len(found), operations)
	}
	for _, o := range found {
		if o.Steps[1].Done != writes-1 || o.Outcome != store.Done {
			t.Errorf("%s: lost its last write: %+v", o.ID, o.Steps[1])
		}
	}
}

func evidence(t *testing.T, e Engine) {
	ctx, db := context.Background(), made(t, e)
	blob := make([]byte, 1<<20)
	for i := range blob {
		blob[i] = byte(i * i >> 3)
	}
	want := store.Evidence{
		ID: "e1", Operation: "a", Kind: "console", Name: "console.log", MediaType: "text/plain",
		Taken: begun, Size: int64(len(blob)), Content: blob,
	}
	second := want
	second.ID, second.Taken, second.Content, second.Size = "e2", begun.Add(time.Second), nil, 0
	for _, piece := range []store.Evidence{second, want, {ID: "e1", Content: []byte("again")}} {
		if err := db.SaveEvidence(ctx, piece); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Evidence(ctx, "e1")
	if err != nil || !bytes.Equal(got.Content, blob) {
		t.Fatalf("%d bytes, %v", len(got.Content), err)
	}
	got.Content, want.Content = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, saved %+v", got, want)
	}
	if listed, err := db.EvidenceOf(ctx, "a"); err != nil || !reflect.DeepEqual(listed, []store.Evidence{want, second}) {
		t.Errorf("listed %+v, %v", listed, err)
	}
	if _, err := db.Evidence(ctx, "none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("evidence that is not there: %v", err)
	}
	big := store.Evidence{ID: "big", Content: make([]byte, store.MaxEvidence+1)}
	if err := db.SaveEvidence(ctx, big); !fault.Is(err, fault.Invalid) {
		t.Errorf("too much evidence: %v", err)
	}
}

func prune(t *testing.T, e Engine) {
	ctx, db := context.Background(), made(t, e)
	old, young, unended := Sample("old"), Sample("young"), Sample("unended")
	old.Outcome, old.Ended = store.Done, time.Now().Add(-48*time.Hour)
	young.Outcome, young.Ended = store.Failed, time.Now().Add(-time.Hour)
	save(t, db, old, young, unended)
	for _, o := range []string{"old", "young"} {
		if err := db.SaveEvidence(ctx, store.Evidence{ID: "of-" + o, Operation: o}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := db.Prune(ctx, 24*time.Hour); err != nil || n != 1 {
		t.Fatalf("%d pruned, %v", n, err)
	}
	got := ids(list(t, db, store.Query{}))
	slices.Sort(got)
	if !slices.Equal(got, []string{"unended", "young"}) {
		t.Errorf("left: %v", got)
	}
	if _, err := db.Evidence(ctx, "of-old"); !fault.Is(err, fault.NotFound) {
		t.Errorf("its evidence is left: %v", err)
	}
	if _, err := db.Evidence(ctx, "of-young"); err != nil {
		t.Error(err)
	}
}

func cancelled(t *testing.T, e Engine) {
	db := made(t, e)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.SaveOperation(ctx, Sample("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("saved: %v", err)
	}
	save(t, db, Sample("b")) // the connection is as good as before
}
