package progress

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/store"
)

const (
	// BeatEvery is how often an operation shows that its process lives.
	BeatEvery = 5 * time.Second
	// advanceEvery is the pause between two events of movement.
	advanceEvery = time.Second
	// writeLimit is how long a sink may take for one event.
	writeLimit = 3 * time.Second
	// restAfter is how long a sink that failed is left alone. What it misses
	// the next event makes good, for each holds the whole record.
	restAfter = 30 * time.Second
)

// Config is what a recorder is made of.
type Config struct {
	Sinks   []Sink
	Process string           // who works: presence.Here()
	Now     func() time.Time // nil: the system's clock
	Logger  *slog.Logger     // for what goes wrong with a sink; nil: nobody
}

// Recorder makes operations and hands their events to the sinks. A sink that
// fails never disturbs the work. It is safe for concurrent use.
type Recorder struct {
	cfg   Config
	sinks []*guarded
}

// NewRecorder opens nothing: sinks open what they need at their first event.
func NewRecorder(cfg Config) *Recorder {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Recorder{cfg: cfg}
	for _, s := range cfg.Sinks {
		r.sinks = append(r.sinks, &guarded{Sink: s})
	}
	return r
}

// Close closes the sinks.
func (r *Recorder) Close() error {
	var all error
	for _, s := range r.sinks {
		all = errors.Join(all, s.Close())
	}
	return all
}

// Troubles returns, once each, what kept a sink from being written.
func (r *Recorder) Troubles() (texts []string) {
	for _, s := range r.sinks {
		if text := s.take(); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// write hands one event to every sink.
func (r *Recorder) write(e Event) {
	for _, s := range r.sinks {
		ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
		err := s.write(ctx, e)
		cancel()
		if err != nil {
			r.cfg.Logger.Warn("progress is not recorded", "sink", s.Name(), "operation", e.Operation.ID, "error", err)
		}
	}
}

// newID returns an id that sorts by time: milliseconds, then chance.
func newID(now time.Time) string {
	return strconv.FormatInt(now.UnixMilli(), 36) + strings.ToLower(rand.Text()[:8])
}

type (
	recorderKey  struct{}
	operationKey struct{}
)

// With returns a context in which operations are recorded by r; nil records
// none.
func With(ctx context.Context, r *Recorder) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, recorderKey{}, r)
}

// From returns the operation that the context is part of, or nil, on which
// every method is a no-op.
func From(ctx context.Context) *Operation {
	o, _ := ctx.Value(operationKey{}).(*Operation)
	return o
}

// Subject is what an operation is about.
type Subject struct {
	Kind   string // "create", "update", "destroy" and the like
	Type   string // Terraform type
	Name   string // of the remote object
	Host   string // canonical URI, without secrets
	Object string // remote id, if known
}

// Begin begins an operation with its stated limits and returns a context that
// is part of it. Whoever begins it ends it. Without a recorder in ctx nothing
// is begun, and the operation is nil.
func Begin(ctx context.Context, s Subject, limits ...store.Limit) (context.Context, *Operation) {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	if r == nil {
		return ctx, nil
	}
	now := r.cfg.Now()
	o := &Operation{
		recorder: r,
		stop:     make(chan struct{}), stopped: make(chan struct{}),
		record: store.Operation{
			ID: newID(now), Kind: s.Kind, Type: s.Type, Name: s.Name, Host: s.Host, Object: s.Object,
			Process: r.cfg.Process, Limits: limits, Begun: now, Moved: now, Heartbeat: now,
		},
	}
	o.flush(Began)
	go o.beat()
	return context.WithValue(ctx, operationKey{}, o), o
}

// guarded leaves a sink that failed alone for a while.
type guarded struct {
	Sink

	mu      sync.Mutex
	rest    time.Time // not before
	told    bool
	trouble string
}

// write passes the event on. Its error is returned only the first time.
func (g *guarded) write(ctx context.Context, e Event) error {
	g.mu.Lock()
	resting := e.Time.Before(g.rest)
	g.mu.Unlock()
	if resting {
		return nil
	}
	err := g.Write(ctx, e)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.rest = time.Time{}
		return nil
	}
	g.rest = e.Time.Add(restAfter)
	if g.told {
		return nil
	}
	g.told = true
	g.trouble = fmt.Sprintf("%s: %s", g.Name(), err)
	return err
}

func (g *guarded) take() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := g.trouble
	g.trouble = ""
	return text
}
