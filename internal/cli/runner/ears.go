package runner

import "bytes"

// maxLine is how much of a line is kept for understanding it, in bytes.
const maxLine = 64 << 10

// ears splits what is written to it into lines.
type ears struct {
	hear func(line string)
	line []byte
}

// Write never fails.
func (e *ears) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		e.hear(string(append(e.line, p[:i]...)))
		e.line, p = e.line[:0], p[i+1:]
	}
	if len(e.line)+len(p) <= maxLine {
		e.line = append(e.line, p...)
	}
	return n, nil
}
