package progress

import "time"

// Answer is what can be said of something awaited.
type Answer uint8

// The answers.
const (
	Moving Answer = iota + 1 // it got further lately
	Silent                   // it can be seen, and nothing moves
	Blind                    // the source that would tell does not answer
)

// String returns the answer in lower case.
func (a Answer) String() string {
	switch a {
	case Moving:
		return "moving"
	case Silent:
		return "silent"
	case Blind:
		return "blind"
	default:
		return "unknown"
	}
}

// Patience says how long is too long; zero is for ever.
type Patience struct {
	Silence time.Duration // without movement, while the source answers
	Blind   time.Duration // without an answer of the source
}

// Sight is what was seen of something awaited, as times.
type Sight struct {
	Moved    time.Time     // when it last got further
	Answered time.Time     // when its source last answered
	Unseen   time.Duration // blind time since Moved, which counts for nothing
}

// Watch returns the sight of something that begins to be awaited at now.
func Watch(now time.Time) Sight { return Sight{Moved: now, Answered: now} }

// See returns the sight after the source answered at now; moved says that it
// told of something new. A pause longer than p.Blind was blind time.
func (s Sight) See(now time.Time, moved bool, p Patience) Sight {
	if gap := now.Sub(s.Answered); p.Blind > 0 && gap > p.Blind {
		s.Unseen += gap
	}
	s.Answered = now
	if moved {
		s.Moved, s.Unseen = now, 0
	}
	return s
}

// Judge says which of the three it is at now, and for how long: since the last
// movement (blind time left out), or since the last answer. While the source
// does not answer, the clock of silence stands still.
func (s Sight) Judge(now time.Time, p Patience) (Answer, time.Duration) {
	if gap := now.Sub(s.Answered); p.Blind > 0 && gap > p.Blind {
		return Blind, gap
	}
	quiet := max(0, s.Answered.Sub(s.Moved)-s.Unseen)
	if p.Silence > 0 && quiet > p.Silence {
		return Silent, quiet
	}
	return Moving, quiet
}
