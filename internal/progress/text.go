package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// Span writes a duration for people: whole seconds, from a minute on without
// empty parts. Below a second it is "0s".
func Span(d time.Duration) string {
	d = d.Truncate(time.Second)
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size writes a number of bytes in binary units.
func Size(n int64) string {
	value, unit := float64(n), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// Pace returns what a step does in a second and how long it needs for the
// rest, at now; zero where that cannot be told.
func Pace(s store.Step, now time.Time) (rate float64, left time.Duration) {
	if end := s.Ended; !end.IsZero() {
		now = end
	}
	spent := now.Sub(s.Begun).Seconds()
	if s.Done <= 0 || spent < 1 {
		return 0, 0
	}
	rate = float64(s.Done) / spent
	if s.Total > s.Done {
		left = time.Duration(float64(s.Total-s.Done) / rate * float64(time.Second))
	}
	return rate, left
}

// Measure writes how far a step is: "12 of 30 scripts", "1.2 GiB of 4.0 GiB".
// Nothing where it is not measured.
func Measure(s store.Step) string {
	amount := func(n int64) string { return fmt.Sprint(n) }
	unit := " " + s.Unit
	if s.Unit == "B" {
		amount, unit = Size, ""
	}
	switch {
	case s.Total > 0:
		return strings.TrimSpace(amount(s.Done) + " of " + amount(s.Total) + unit)
	case s.Done > 0:
		return strings.TrimSpace(amount(s.Done) + unit)
	default:
		return ""
	}
}

// StepText writes one line about a step at now: name, measure, rate and
// remaining time of bytes, message.
func StepText(s store.Step, now time.Time) string {
	text := s.Name
	if m := Measure(s); m != "" {
		text += " " + m
	}
	if rate, left := Pace(s, now); s.Unit == "B" && rate > 0 {
		text += ", " + Size(int64(rate)) + "/s"
		if left > 0 {
			text += ", " + Span(left) + " left"
		}
	}
	if s.Message != "" {
		text += ": " + strings.Join(strings.Fields(s.Message), " ")
	}
	return text
}

// Account tells, for an error's text, how an operation stood at now: its
// limit, the time it had, its last progress and what it waits for.
func Account(o store.Operation, now time.Time) string {
	text := Span(Took(o, now)) + " have passed"
	if limit := o.Limit(Timeout); limit > 0 {
		text += " of the " + Span(limit) + " allowed"
	}
	step := o.Current()
	if step.Name == "" {
		return text + "; no step had begun."
	}
	text += fmt.Sprintf(". The last progress was %s before, in the step %q", Span(now.Sub(o.Moved)), StepText(step, o.Moved))
	if answer, since := (Sight{Moved: o.Moved, Answered: o.Answered}).Judge(now, Patience{Blind: o.Limit(BlindFor)}); answer == Blind {
		text += fmt.Sprintf("; what would tell has not answered for %s", Span(since))
	}
	return text + "."
}

// The names of limits.
const (
	Timeout  = "timeout" // the operation ends
	Silence  = "silence" // nothing moves: it is said to be silent
	BlindFor = "blind"   // nothing answers: it is said to be out of sight
)

// Limit returns a limit of that name.
func Limit(name string, after time.Duration) store.Limit {
	return store.Limit{Name: name, After: after}
}
