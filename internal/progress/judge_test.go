package progress_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterlab/terraform-provider-muster/internal/progress"
)

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

var patience = progress.Patience{Silence: 2 * time.Minute, Blind: time.Minute}

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func TestJudge(t *testing.T) {
	type seen struct {
		at    int
		moved bool
	}
	for _, c := range []struct {
		behaviour string
		seen      []seen
		now       int
		want      progress.Answer
		since     time.Duration
	}{
		{"just begun", nil, 0, progress.Moving, 0},
		{"slow is moving", []seen{{30, true}, {60, false}, {90, false}, {150, false}}, 150, progress.Moving, 2 * time.Minute},
		{"nothing new for longer than allowed", []seen{{30, true}, {60, false}, {120, false}, {151, false}}, 151, progress.Silent, 121 * time.Second},
		{"the source is gone", []seen{{30, true}}, 91, progress.Blind, 61 * time.Second},
		{"the clock of silence stands still without answers", []seen{{30, true}, {60, false}}, 115, progress.Moving, 30 * time.Second},
		{"blind time is no silence", []seen{{30, true}, {60, false}, {400, false}, {430, false}}, 430, progress.Moving, time.Minute},
		{"silence goes on after blind time", []seen{{60, false}, {400, false}, {430, false}, {461, false}}, 461, progress.Silent, 121 * time.Second},
		{"movement ends it all", []seen{{60, false}, {400, false}, {500, true}}, 500, progress.Moving, 0},
	} {
		s := progress.Watch(start)
		for _, e := range c.seen {
			s = s.See(at(e.at), e.moved, patience)
		}
		if got, since := s.Judge(at(c.now), patience); got != c.want || since != c.since {
			t.Errorf("%s: %s for %s, want %s for %s", c.behaviour, got, since, c.want, c.since)
		}
	}
}

// Whoever polls and always sees movement is never alarmed, and whoever has no
// patience limits neither.
func TestJudge_noFalseAlarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, s, free := start, progress.Watch(start), progress.Watch(start)
		for _, pause := range rapid.SliceOfN(rapid.IntRange(0, 60), 0, 50).Draw(t, "pauses") {
			now = now.Add(time.Duration(pause) * time.Second)
			s = s.See(now, true, patience)
			free = free.See(now, rapid.Bool().Draw(t, "moved"), progress.Patience{})
			if got, _ := s.Judge(now, patience); got != progress.Moving {
				t.Fatalf("%s while it moves", got)
			}
			if got, _ := free.Judge(now.Add(time.Hour), progress.Patience{}); got != progress.Moving {
				t.Fatalf("%s without limits", got)
			}
		}
	})
}
