package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/musterlab/terraform-provider-muster/internal/cli/draw"
	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// watchEvery is how often the store is read.
const watchEvery = time.Second

func watchCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flags("watch", "watch [-store LOCATION]", stderr)
	location := fs.String("store", "", storeUsage)
	rest, err := parse(fs, args)
	if err != nil {
		return parseFailed(err)
	}
	if len(rest) > 0 {
		fs.Usage()
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := watcher{stdout: stdout, stderr: stderr, running: map[string]bool{}}
	if err := w.watch(ctx, *location); err != nil && ctx.Err() == nil {
		return failed(stderr, err)
	}
	return exitOK
}

// watcher shows what the store says of operations under way.
type watcher struct {
	stdout, stderr io.Writer
	lines          draw.Lines
	running        map[string]bool // by id: seen running, its end not yet shown
	drawn          bool
}

func (w *watcher) watch(ctx context.Context, location string) error {
	db, err := w.await(ctx, location)
	if err != nil {
		return err
	}
	defer func() {
		if w.drawn {
			_, _ = io.WriteString(w.stdout, "\x1b[J")
		}
		_ = db.Close()
	}()
	fmt.Fprintf(w.stderr, "muster: watching %s; Ctrl-C ends it\n", db.Where())
	for {
		if err := w.look(ctx, db); err != nil {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// await opens the store as soon as there is one.
func (w *watcher) await(ctx context.Context, location string) (*store.DB, error) {
	told := false
	for {
		db, err := openStore(ctx, location)
		if !fault.Is(err, fault.NotFound) {
			return db, err
		}
		if !told {
			fmt.Fprintf(w.stderr, "muster: waiting until there is a store (%s)\n", err)
			told = true
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(watchEvery):
		return nil
	}
}

// look reads the store once and shows what is new.
func (w *watcher) look(ctx context.Context, db *store.DB) error {
	all, err := db.Operations(ctx, store.Query{Unended: true})
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, o := range all {
		listed[o.ID] = true
	}
	for id := range w.running {
		if listed[id] {
			continue
		}
		o, err := db.Operation(ctx, id)
		if err != nil {
			return err
		}
		all = append(all, o)
	}
	w.show(all, time.Now())
	return nil
}

func (w *watcher) show(all []store.Operation, now time.Time) {
	width, height := w.size()
	text := ""
	for _, o := range all {
		running := progress.StateOf(o) == progress.Running
		if !running && !w.running[o.ID] {
			continue // over before we came
		}
		w.running[o.ID] = true
		if !running {
			delete(w.running, o.ID)
		}
		if lines := w.lines.Next(o, now); len(lines) > 0 && (width == 0 || !running) {
			text += strings.Join(lines, "\n") + "\n"
		}
	}
	if width == 0 {
		_, _ = io.WriteString(w.stdout, text)
		return
	}
	// On a terminal: what ended stays as a line, what runs is drawn below it.
	if w.drawn {
		text = "\x1b[J" + text
	}
	frame := draw.Frame(all, width-1, max(1, height-1), now)
	w.drawn = len(frame) > 0
	if w.drawn {
		text += strings.Join(frame, "\n") + "\n" + fmt.Sprintf("\x1b[%dA", len(frame))
	}
	_, _ = io.WriteString(w.stdout, text)
}

// size of the terminal; zero where there is none.
func (w *watcher) size() (width, height int) {
	f, ok := w.stdout.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}
