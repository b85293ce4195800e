package runner

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// calm is how long the child must have said nothing before something is drawn
// below its last line.
const calm = 150 * time.Millisecond

// screen passes the child's bytes to a terminal and draws below them. What is
// drawn is gone before the next byte of the child appears: the cursor always
// stands where the child left it.
type screen struct {
	out io.Writer

	mu    sync.Mutex
	at    lineTracker
	drawn bool
	raw   bool // the terminal does not turn a newline into both its parts
	spoke time.Time
}

// setRaw says in which mode the terminal is.
func (s *screen) setRaw(raw bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = raw
}

// Write passes bytes of the child on.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn {
		s.drawn = false
		if _, err := io.WriteString(s.out, "\x1b[J"); err != nil {
			return 0, err
		}
	}
	s.at.track(p)
	s.spoke = time.Now()
	return s.out.Write(p)
}

// draw replaces what is drawn, unless the child is in the middle of a line:
// a prompt is left alone.
func (s *screen) draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.start() || time.Since(s.spoke) < calm || len(lines) == 0 && !s.drawn {
		return
	}
	text := "\x1b[J"
	if len(lines) > 0 {
		text += strings.Join(lines, "\r\n") + "\r\n" + fmt.Sprintf("\x1b[%dA", len(lines))
	}
	s.drawn = len(lines) > 0
	_, _ = io.WriteString(s.out, text)
}

// say writes lines of ours that stay.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn {
		s.drawn = false
		_, _ = io.WriteString(s.out, "\x1b[J")
	}
	if !s.at.start() {
		text = "\n" + text
	}
	if s.raw {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	_, _ = io.WriteString(s.out, text)
	s.at = lineTracker{}
}

// lineTracker knows whether the cursor is at the start of a line. Colours and
// other control sequences do not move it.
type lineTracker struct {
	middle bool // of a line
	escape escapeState
}

type escapeState uint8

const (
	noEscape escapeState = iota
	escapeBegun
	inControl // CSI: until a final byte
	inString  // OSC and the like: until BEL or ST
)

func (l *lineTracker) start() bool { return !l.middle && l.escape == noEscape }

func (l *lineTracker) track(p []byte) {
	for _, c := range p {
		switch l.escape {
		case noEscape:
		case escapeBegun:
			l.escape = noEscape
			switch c {
			case '[':
				l.escape = inControl
			case ']', 'P', '_', '^':
				l.escape = inString
			}
			continue
		case inControl:
			if c >= 0x40 && c <= 0x7e {
				l.escape = noEscape
			}
			continue
		case inString:
			if c == 0x07 {
				l.escape = noEscape
			} else if c == 0x1b {
				l.escape = escapeBegun // its backslash ends it
			}
			continue
		}
		switch c {
		case 0x1b:
			l.escape = escapeBegun
		case '\n':
			l.middle = false
		case '\r', 0x07:
		default:
			l.middle = true
		}
	}
}
