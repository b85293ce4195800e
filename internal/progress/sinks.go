package progress

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/musterlab/terraform-provider-muster/internal/store"
)

type storeSink struct{ lazy *store.Lazy }

// ToStore writes into the store, which the first event makes if need be.
func ToStore(l *store.Lazy) Sink { return storeSink{l} }

func (storeSink) Name() string { return "the store" }

func (s storeSink) Write(ctx context.Context, e Event) error {
	db, err := s.lazy.Get(ctx, store.Create)
	if err != nil {
		return err
	}
	return db.SaveOperation(ctx, e.Operation)
}

func (s storeSink) Close() error { return s.lazy.Close() }

type fileSink struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// ToFile appends each event but signs of life to a file, as a line of JSON in
// one write: several processes may share the file.
func ToFile(path string) Sink { return &fileSink{path: path} }

func (s *fileSink) Name() string { return "the progress file " + s.path }

func (s *fileSink) Write(_ context.Context, e Event) error {
	if e.Kind == Beat {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
			return err
		}
	}
	_, err = s.file.Write(append(line, '\n'))
	return err
}

func (s *fileSink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// ReadFile returns the operations in a file that ToFile wrote, each as its
// newest event has it, in the order of their beginnings. A line that was cut
// off at the end is left out.
func ReadFile(path string) ([]store.Operation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	var all []store.Operation
	for n, line := range bytes.Split(text, []byte("\n")) {
		var e Event
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &e); err != nil || e.Operation.ID == "" {
			if n == bytes.Count(text, []byte("\n")) {
				break
			}
			return nil, fmt.Errorf("%s line %d is no event of an operation", path, n+1)
		}
		i, known := index[e.Operation.ID]
		if !known {
			i = len(all)
			index[e.Operation.ID] = i
			all = append(all, store.Operation{})
		}
		all[i] = e.Operation
	}
	return all, nil
}

type logSink struct{ log *slog.Logger }

// ToLog writes beginnings, steps and ends at level info, movement at debug.
func ToLog(l *slog.Logger) Sink { return logSink{l} }

func (logSink) Name() string { return "the log" }

func (s logSink) Write(ctx context.Context, e Event) error {
	if e.Kind == Beat {
		return nil
	}
	level := slog.LevelInfo
	if e.Kind == Advanced {
		level = slog.LevelDebug
	}
	if !s.log.Enabled(ctx, level) {
		return nil
	}
	o := e.Operation
	s.log.Log(ctx, level, "operation: "+string(e.Kind), "id", o.ID, "kind", o.Kind, "type", o.Type, "name", o.Name, "host", o.Host,
		"progress", StepText(o.Current(), e.Time), "outcome", string(o.Outcome), "reason", o.Reason)
	return nil
}

func (logSink) Close() error { return nil }
