package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/presence"
	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
	"github.com/musterlab/terraform-provider-muster/internal/store/engine"
)

// recorded returns a folder with a store, and a file of events, in which are:
// an image that was stocked at the second try, a VM that timed out, and a
// network that nobody works on any more.
func recorded(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "receipts.jsonl")
	lazy := store.NewLazy(func(ctx context.Context, mode store.Mode) (*store.DB, error) {
		return engine.Open(ctx, filepath.Join(dir, engine.DefaultFile), mode)
	})
	sinks := []progress.Sink{progress.ToStore(lazy), progress.ToFile(file)}
	begin := func(process, typ, name string) *progress.Operation {
		rec := progress.NewRecorder(progress.Config{Sinks: sinks, Process: process})
		_, op := progress.Begin(progress.With(t.Context(), rec), progress.Subject{Kind: "create", Type: typ, Name: name, Host: "qemu:///system"},
			progress.Limit(progress.Timeout, time.Minute))
		op.Step("work")
		<-time.After(2 * time.Millisecond) // times are kept in milliseconds
		return op
	}
	here := presence.Here()
	begin(here, "muster_image", "debian").End(store.Failed, "no space left")
	begin(here, "muster_image", "debian").End(store.Done, "")
	begin(here, "muster_node_vm", "node-a").End(store.TimedOut, "1m ran out", store.Left{What: "domain", Where: "node-a"})
	host, _, _ := strings.Cut(here, "/")
	lost := begin(host+"/999999999/1", "muster_network", "lab")
	t.Cleanup(func() {
		lost.End(store.Done, "")
		for _, s := range sinks {
			_ = s.Close()
		}
	})
	return dir, file
}

func invoke(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, "1.2.3", &out, &errs)
	return code, out.String(), errs.String()
}

func TestReceipts_list(t *testing.T) {
	dir, file := recorded(t)
	t.Setenv(engine.LocationEnv, "")
	t.Chdir(dir)
	for _, from := range [][]string{nil, {"-file", file}, {"-store", filepath.Join(dir, engine.DefaultFile)}} {
		code, out, errs := invoke(t, append([]string{"receipts", "list"}, from...)...)
		if code != exitOK || strings.Count(out, "\n") != 5 || !regexp.MustCompile(`timed out +muster_node_vm "node-a" \(create\) +qemu:///system +work`).MatchString(out) {
			t.Errorf("%v: %d\n%s%s", from, code, out, errs)
		}
		if strings.Index(out, "muster_network") > strings.Index(out, "muster_image") {
			t.Errorf("the newest is not first:\n%s", out)
		}
		_, out, _ = invoke(t, append([]string{"receipts", "--open"}, from...)...)
		if strings.Contains(out, "muster_image") || !strings.Contains(out, "cut short") || !strings.Contains(out, "timed out") {
			t.Errorf("%v: what is open:\n%s", from, out)
		}
	}
}

func TestReceipts_show(t *testing.T) {
	dir, file := recorded(t)
	t.Setenv(engine.LocationEnv, filepath.Join(dir, engine.DefaultFile))
	code, out, errs := invoke(t, "receipts", "-json", "-open")
	var all []struct {
		ID, Name, State string
		Limits          []struct{ Seconds int }
		Left            []struct{ What, Where string }
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != exitOK || len(all) != 2 {
		t.Fatalf("%d, %v\n%s%s", code, err, out, errs)
	}
	vm := all[1]
	if vm.Name != "node-a" || vm.State != "timed out" || len(vm.Left) != 1 || vm.Limits[0].Seconds != 60 || all[0].State != "cut short" {
		t.Errorf("%+v", all)
	}
	for _, from := range [][]string{nil, {"-file", file}} {
		code, out, errs = invoke(t, append([]string{"receipts", "show", vm.ID}, from...)...)
		if code != exitOK || !strings.Contains(out, "left            domain node-a") || !strings.Contains(out, "1m ran out") {
			t.Errorf("%d\n%s%s", code, out, errs)
		}
		code, _, errs = invoke(t, append([]string{"receipts", "show", "none"}, from...)...)
		if code != exitFault || !strings.Contains(errs, "none of that id") {
			t.Errorf("%d\n%s", code, errs)
		}
	}
}

func TestCommands_misuse(t *testing.T) {
	t.Setenv(engine.LocationEnv, "")
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"receipts", "show"}, exitUsage, "usage:"},
		{[]string{"receipts", "lst"}, exitUsage, "usage:"},
		{[]string{"receipts", "-frob"}, exitUsage, "not defined: -frob"},
		{[]string{"receipts", "-h"}, exitOK, "usage:"},
		{[]string{"receipts"}, exitFault, "MUSTER_STORE"},
		{[]string{"receipts", "-store", "none.db"}, exitFault, "no store yet"},
		{[]string{"watch", "more"}, exitUsage, "usage:"},
		{[]string{"run"}, exitUsage, "usage:"},
		{[]string{"run", "-deadline", "soon", "--", "true"}, exitUsage, "invalid value"},
	} {
		code, _, errs := invoke(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: %d\n%s", c.args, code, errs)
		}
	}
}

// lockedBuffer is read while a command writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// watch waits for a store, tells what runs, and how it ends.
func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.db")
	lazy := store.NewLazy(func(ctx context.Context, mode store.Mode) (*store.DB, error) { return engine.Open(ctx, path, mode) })
	rec := progress.NewRecorder(progress.Config{Sinks: []progress.Sink{progress.ToStore(lazy)}, Process: presence.Here()})
	defer func() { _ = rec.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs lockedBuffer
	code := make(chan int)
	go func() { code <- Run(ctx, []string{"watch", "-store", path}, "1.2.3", &out, &errs) }()
	await := func(b *lockedBuffer, text string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !strings.Contains(b.String(), text); {
			if time.Now().After(deadline) {
				t.Fatalf("no %q in\n%s%s", text, out.String(), errs.String())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	await(&errs, "waiting until there is a store")
	_, op := progress.Begin(progress.With(t.Context(), rec), progress.Subject{Kind: "create", Type: "muster_image", Name: "debian"})
	op.StepOf("upload", 10, "B")
	await(&out, `muster: muster_image "debian" (create): upload 0 B of 10 B`)
	op.End(store.Failed, "no space left")
	await(&out, `muster: muster_image "debian" (create): failed after`)
	cancel()
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d\n%s", got, errs.String())
	}
}
