package providerdata

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// NewLogger returns a logger for the adapters that writes to Terraform's log.
// It is disabled as a whole while no TF_LOG variable asks for one.
func NewLogger() *slog.Logger {
	return slog.New(&bridge{enabled: logAsked()})
}

func logAsked() bool {
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TF_LOG") && name != "TF_LOG_PATH" && value != "" && !strings.EqualFold(value, "off") {
			return true
		}
	}
	return false
}

// bridge is a slog.Handler over tflog, which finds its sink in the context.
type bridge struct {
	enabled bool
	group   string
	attrs   []slog.Attr
}

// Enabled implements slog.Handler.
func (b *bridge) Enabled(context.Context, slog.Level) bool { return b.enabled }

// Handle implements slog.Handler.
func (b *bridge) Handle(ctx context.Context, r slog.Record) error {
	fields := make(map[string]any, len(b.attrs)+r.NumAttrs())
	for _, a := range b.attrs {
		fields[a.Key] = a.Value.Any()
	}
	r.Attrs(func(a slog.Attr) bool {
		fields[b.group+a.Key] = a.Value.Any()
		return true
	})
	switch {
	case r.Level >= slog.LevelError:
		tflog.Error(ctx, r.Message, fields)
	case r.Level >= slog.LevelWarn:
		tflog.Warn(ctx, r.Message, fields)
	case r.Level >= slog.LevelInfo:
		tflog.Info(ctx, r.Message, fields)
	default:
		tflog.Debug(ctx, r.Message, fields)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (b *bridge) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *b
	for _, a := range attrs {
		a.Key = b.group + a.Key
		next.attrs = append(next.attrs[:len(next.attrs):len(next.attrs)], a)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (b *bridge) WithGroup(name string) slog.Handler {
	next := *b
	next.group += name + "."
	return &next
}
