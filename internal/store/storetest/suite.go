package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// Engine makes stores for the suite.
type Engine struct {
	// Empty returns a location where no store is yet.
	Empty func(t testing.TB) string
	Open  func(ctx context.Context, location string, mode store.Mode) (*store.DB, error)
	// Exec runs SQL on the location beside the store, to make states that this
	// program does not make.
	Exec func(t testing.TB, location, statement string)
}

// Run runs the whole suite.
func Run(t *testing.T, e Engine) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Engine)
	}{
		{"openings", openings},
		{"newer schema is refused", newerSchema},
		{"eight openings at once", eightAtOnce},
		{"lazy", lazy},
		{"operation round trip", roundTrip},
		{"an ended operation stays", endedStays},
		{"queries", queries},
		{"heartbeat by the database's clock", heartbeat},
		{"told once", toldOnce},
		{"many writers", manyWriters},
		{"evidence", evidence},
		{"prune", prune},
		{"cancelled context", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, e) })
	}
}

// made opens a fresh store that is closed with the test.
func made(t testing.TB, e Engine) *store.DB {
	t.Helper()
	return opened(t, e, e.Empty(t), store.Create)
}

func opened(t testing.TB, e Engine, location string, mode store.Mode) *store.DB {
	t.Helper()
	db, err := e.Open(context.Background(), location, mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// begun is where the suite's time starts; milliseconds are what is kept.
var begun = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)

// Sample returns an operation in which every field says something.
func Sample(id string) store.Operation {
	return store.Operation{
		ID: id, Kind: "create", Type: "muster_node_vm", Name: "node-ä", Host: "qemu:///system",
		Object: "9f5e", Address: `muster_node_vm.node["a"]`, Process: "host/17",
		Limits: []store.Limit{{Name: "timeout", After: 20 * time.Minute}, {Name: "silence", After: 90 * time.Second}},
		Steps: []store.Step{
			{Name: "define", Begun: begun, Moved: begun, Ended: begun.Add(time.Second)},
			{Name: "upload", Done: 1 << 40, Total: 1 << 41, Unit: "B", Message: "it's \"half\"\n", Begun: begun.Add(time.Second), Moved: begun.Add(2 * time.Second)},
		},
		Begun: begun, Moved: begun.Add(2 * time.Second), Answered: begun.Add(3 * time.Second),
		Reason: "because", Left: []store.Left{{What: "volume", Where: "default/node-a.qcow2"}},
	}
}

func save(t testing.TB, db *store.DB, all ...store.Operation) {
	t.Helper()
	for _, o := range all {
		if err := db.SaveOperation(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func list(t testing.TB, db *store.DB, q store.Query) []store.Operation {
	t.Helper()
	found, err := db.Operations(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func ids(all []store.Operation) (found []string) {
	for _, o := range all {
		found = append(found, o.ID)
	}
	return found
}
