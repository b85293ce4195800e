package runner

import (
	"io"
	"sync"
)

// log passes the child's two streams on as they come, and puts lines of ours
// into the second one, between lines: both often end in the same place.
type log struct {
	mu      sync.Mutex
	out     [2]io.Writer
	at      [2]lineTracker
	waiting string
}

// stream is one of the two.
type stream struct {
	log *log
	n   int
}

func newLog(stdout, stderr io.Writer) *log { return &log{out: [2]io.Writer{stdout, stderr}} }

// Write passes bytes of the child on, unbuffered.
func (s stream) Write(p []byte) (int, error) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.at[s.n].track(p)
	n, err := s.log.out[s.n].Write(p)
	s.log.release(false)
	return n, err
}

// say writes text, made of whole lines, as soon as the child is at the end of
// a line. With now it does not wait.
func (l *log) say(text string, now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting += text
	l.release(now)
}

func (l *log) release(now bool) {
	middle := !l.at[0].start() || !l.at[1].start()
	if l.waiting == "" || middle && !now {
		return
	}
	text := l.waiting
	if middle {
		text = "\n" + text
		l.at = [2]lineTracker{}
	}
	l.waiting = ""
	_, _ = io.WriteString(l.out[1], text)
}
