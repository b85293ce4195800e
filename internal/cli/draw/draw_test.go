package draw_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/cli/draw"
	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%swant\n%s", name, got, want)
	}
}

// story is an upload, a VM that falls silent and then out of sight, and one
// whose process was killed.
func story(second int) []store.Operation {
	now := at(second)
	image := store.Operation{
		ID: "1", Kind: "create", Type: "muster_image", Name: "debian", Address: "muster_image.debian", Host: "qemu:///system",
		Begun: start, Moved: now, Answered: now, Heartbeat: now, Limits: []store.Limit{progress.Limit(progress.Timeout, 20*time.Minute)},
	}
	vm := store.Operation{
		ID: "2", Kind: "create", Type: "muster_node_vm", Name: "node-a", Host: "qemu:///system", Object: "9f5e",
		Begun: start, Moved: start, Answered: start, Heartbeat: now,
		Limits: []store.Limit{progress.Limit(progress.Silence, time.Minute), progress.Limit(progress.BlindFor, time.Minute)},
	}
	dead := store.Operation{
		ID: "3", Kind: "destroy", Type: "muster_network", Name: "lab", Host: "qemu:///system",
		Begun: start, Moved: start, Heartbeat: at(5), Steps: []store.Step{{Name: "stop", Begun: start, Moved: start}},
	}
	if second >= 1 {
		image.Steps = []store.Step{{Name: "read", Begun: start, Moved: at(1), Ended: at(1)}, {
			Name: "upload", Done: int64(second) << 25, Total: 1 << 32, Unit: "B", Begun: at(1), Moved: now,
		}}
		vm.Steps = []store.Step{{Name: "await ready", Done: 1, Total: 3, Unit: "units", Message: "ssh.service\x1b[31m is\nactivating", Begun: at(1), Moved: at(1)}}
		vm.Moved, vm.Answered = at(1), at(min(second, 90))
	}
	if second >= 128 {
		image.Outcome, image.Ended, image.Steps[1].Ended = store.Done, at(128), at(128)
	}
	if second >= 200 {
		vm.Outcome, vm.Ended, vm.Reason = store.TimedOut, at(200), "3m20s ran out\nwith more"
		vm.Left = []store.Left{{What: "domain", Where: "node-a on qemu:///system"}}
	}
	if second >= 40 {
		dead.Quiet = now.Sub(at(5))
	}
	return []store.Operation{image, vm, dead}
}

func TestLines(t *testing.T) {
	var l draw.Lines
	var b strings.Builder
	for second := range 210 {
		for _, o := range story(second) {
			for _, line := range l.Next(o, at(second)) {
				fmt.Fprintf(&b, "%3d %s\n", second, line)
			}
		}
	}
	golden(t, "lines.txt", b.String())
}

func TestFrame(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct{ second, width, height int }{{0, 120, 10}, {30, 120, 10}, {75, 160, 10}, {160, 160, 10}, {30, 60, 10}, {30, 120, 2}, {209, 120, 10}} {
		fmt.Fprintf(&b, "-- after %ds, %dx%d\n", c.second, c.width, c.height)
		lines := draw.Frame(story(c.second), c.width, c.height, at(c.second))
		for _, line := range lines {
			if len(line) > c.width || strings.ContainsAny(line, "\x1b\n\r") {
				t.Errorf("a line of %d columns, want %d: %q", len(line), c.width, line)
			}
			fmt.Fprintln(&b, line)
		}
		if len(lines) > c.height {
			t.Errorf("%d lines, want %d", len(lines), c.height)
		}
	}
	golden(t, "frame.txt", b.String())
}

func TestTables(t *testing.T) {
	all := story(205)
	golden(t, "summary.txt", draw.Summary(all, at(205)))
	golden(t, "list.txt", draw.List(all, at(205)))
	golden(t, "receipt.txt", draw.Receipt(all[1], at(205)))
	if got := draw.Summary(nil, start); got != "" {
		t.Errorf("a table of nothing: %q", got)
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		want        string
	}{
		{0, 0, "...................."},
		{0, 10, ""},
		{5, 10, "=========="},
		{10, 10, "===================="},
		{20, 10, "===================="},
		{-1, 10, ""},
		{1 << 61, 1 << 62, "=========="},
	} {
		if got := draw.Bar(store.Step{Done: c.done, Total: c.total}); strings.TrimRight(got, " ]") != "["+c.want || len(got) != 22 {
			t.Errorf("%d of %d: %s", c.done, c.total, got)
		}
	}
}
