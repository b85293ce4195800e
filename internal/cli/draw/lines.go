package draw

import (
	"fmt"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// logEvery is the pause between two lines on one step that only moves.
const logEvery = 30 * time.Second

// Title names an operation: its address where known, else type and name.
func Title(o store.Operation) string {
	what := o.Address
	if what == "" {
		what = fmt.Sprintf("%s %q", o.Type, o.Name)
	}
	return what + " (" + o.Kind + ")"
}

// Lines makes a line of each change of the operations it is shown.
type Lines struct {
	seen map[string]shown
}

type shown struct {
	steps  int
	state  progress.State
	answer progress.Answer
	moved  time.Time
	at     time.Time
}

// Next returns the lines that the operation's record calls for at now: of its
// beginning, each new step, movement from time to time, silence, and its end.
func (l *Lines) Next(o store.Operation, now time.Time) []string {
	if l.seen == nil {
		l.seen = map[string]shown{}
	}
	old, known := l.seen[o.ID]
	fresh := shown{steps: len(o.Steps), state: progress.StateOf(o), moved: o.Moved, at: now}
	fresh.answer, _ = judge(o, now)
	text := ""
	switch {
	case fresh.state != progress.Running && (!known || old.state == progress.Running):
		text = ending(o, now)
	case fresh.state != progress.Running:
	case !known && fresh.steps == 0:
		text = "begins" + limits(o)
	case fresh.steps != old.steps:
		text = progress.StepText(o.Current(), now) + elapsed(o, now)
	case fresh.answer != old.answer && fresh.answer != progress.Moving:
		text = attention(o, now) + elapsed(o, now)
	case !fresh.moved.Equal(old.moved) && now.Sub(old.at) >= logEvery:
		text = progress.StepText(o.Current(), now) + elapsed(o, now)
	}
	if text == "" {
		fresh.at, fresh.moved = old.at, old.moved
		if !known {
			fresh.at = now
		}
		l.seen[o.ID] = fresh
		return nil
	}
	l.seen[o.ID] = fresh
	return []string{cut("muster: "+Title(o)+": "+text, 0)}
}

func ending(o store.Operation, now time.Time) string {
	text := fmt.Sprintf("%s after %s", progress.StateOf(o), progress.Span(progress.Took(o, now)))
	if o.Outcome == store.Done {
		return text
	}
	if step := o.Current(); step.Name != "" {
		text += ", in the step " + progress.StepText(step, o.Moved)
	}
	if o.Reason != "" {
		text += "; " + oneLine(o.Reason)
	}
	for _, left := range o.Left {
		text += "; left: " + left.What + " " + left.Where
	}
	return text
}

func limits(o store.Operation) string {
	if limit := o.Limit(progress.Timeout); limit > 0 {
		return ", at most " + progress.Span(limit)
	}
	return ""
}

func elapsed(o store.Operation, now time.Time) string {
	text := " [" + progress.Span(now.Sub(o.Begun))
	if limit := o.Limit(progress.Timeout); limit > 0 {
		text += " of at most " + progress.Span(limit)
	}
	return text + "]"
}

// judge goes by the limits that the operation stated.
func judge(o store.Operation, now time.Time) (progress.Answer, time.Duration) {
	sight := progress.Sight{Moved: o.Moved, Answered: o.Answered}
	if sight.Answered.Before(sight.Moved) {
		sight.Answered = sight.Moved
	}
	return sight.Judge(now, progress.Patience{Silence: o.Limit(progress.Silence), Blind: o.Limit(progress.BlindFor)})
}

// attention says what is wrong with an operation that does not move.
func attention(o store.Operation, now time.Time) string {
	answer, since := judge(o, now)
	switch answer {
	case progress.Silent:
		return fmt.Sprintf("silent for %s in the step %s", progress.Span(since), progress.StepText(o.Current(), o.Moved))
	case progress.Blind:
		return fmt.Sprintf("out of sight for %s in the step %s", progress.Span(since), progress.StepText(o.Current(), o.Moved))
	default:
		return progress.StepText(o.Current(), now)
	}
}
