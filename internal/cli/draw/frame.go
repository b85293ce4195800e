package draw

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

const (
	barWidth = 20
	// quietShown is from when on a frame says how long nothing has moved.
	quietShown = 15 * time.Second
)

// Frame draws a line for each running operation, at most height of them, none
// wider than width columns.
func Frame(all []store.Operation, width, height int, now time.Time) []string {
	var running []store.Operation
	for _, o := range all {
		if progress.StateOf(o) == progress.Running {
			running = append(running, o)
		}
	}
	var lines []string
	for i, o := range running {
		if len(lines) == height-1 && len(running) > height {
			lines = append(lines, cut(fmt.Sprintf("... and %d more", len(running)-i), width))
			break
		}
		lines = append(lines, cut(frameLine(o, now), width))
	}
	return lines
}

func frameLine(o store.Operation, now time.Time) string {
	text := Bar(o.Current()) + " " + Title(o) + ": "
	if o.Current().Name == "" {
		text += "begins"
	} else {
		text += attention(o, now)
	}
	if quiet := now.Sub(o.Moved); quiet >= quietShown {
		if answer, _ := judge(o, now); answer == progress.Moving {
			text += ", quiet for " + progress.Span(quiet)
		}
	}
	return text + elapsed(o, now)
}

// Bar draws how far a step is, or that it is not measured.
func Bar(s store.Step) string {
	if s.Total <= 0 {
		return "[" + strings.Repeat(".", barWidth) + "]"
	}
	full := int(min(max(s.Done, 0), s.Total) * barWidth / s.Total)
	if s.Total > 1<<58 { // the product would overflow
		full = int(min(max(s.Done, 0), s.Total) / (s.Total / barWidth))
	}
	full = min(full, barWidth)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "]"
}

// cut shortens a line to width columns; what it says first matters most.
func cut(text string, width int) string {
	runes := []rune(plain(text))
	if width <= 0 || len(runes) <= width {
		return string(runes)
	}
	if width <= 3 {
		return string(runes[:width])
	}
	return string(runes[:width-3]) + "..."
}

// oneLine makes a text of several lines one.
func oneLine(text string) string { return strings.Join(strings.Fields(plain(text)), " ") }

// plain takes the sting out of what a message may hold: control characters.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
