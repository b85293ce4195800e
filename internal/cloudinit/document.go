package cloudinit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is why a document is refused. Neither field holds any part of a
// document's values.
type Problem struct {
	Line int // counted from 1; 0 when the whole document is meant
	Text string
}

// Error implements error.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

func problem(format string, args ...any) error {
	return &Problem{Text: fmt.Sprintf(format, args...)}
}

func problemAt(n *yaml.Node, format string, args ...any) error {
	return &Problem{Line: n.Line, Text: fmt.Sprintf(format, args...)}
}

// parse reads the one YAML document that text must hold and returns its
// outermost node, or nil when it holds nothing but comments.
func parse(text string) (*yaml.Node, error) {
	doc, extra, err := decode(text)
	if err != nil {
		return nil, &Problem{Line: faultyLine(text), Text: "not valid YAML: " + reason(err)}
	}
	if extra != nil {
		return nil, problemAt(extra, "a second document begins; cloud-init reads one document and refuses more")
	}
	if doc == nil || doc.Kind == yaml.ScalarNode && doc.Tag == "!!null" {
		return nil, nil
	}
	return doc, nil
}

// decode returns the outermost nodes of the first two documents.
func decode(text string) (first, second *yaml.Node, err error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	for i := 0; ; i++ {
		var n yaml.Node
		switch err := d.Decode(&n); {
		case errors.Is(err, io.EOF):
			return first, second, nil
		case err != nil:
			return nil, nil, err
		case i == 0:
			first = n.Content[0]
		case i == 1:
			second = n.Content[0]
		}
	}
}

// lookAhead is how many lines a quoted text or a bracketed list may span
// before faultyLine takes its opening for the fault.
const lookAhead = 64

// faultyLine returns the line at which the first broken construct of text
// begins: the one after the longest run of leading lines that is valid by
// itself. The parser's own line numbers name the enclosing block, which may be
// the whole document.
func faultyLine(text string) int {
	lines := bytes.SplitAfter([]byte(text), []byte("\n"))
	valid := func(n int) bool {
		_, _, err := decode(string(bytes.Join(lines[:n], nil)))
		return err == nil
	}
	good := 0
	for {
		bad := len(lines)
		for bad-good > 1 {
			if mid := (good + bad) / 2; valid(mid) {
				good = mid
			} else {
				bad = mid
			}
		}
		end := min(good+lookAhead, len(lines)-1)
		next := end
		for next > good && !valid(next) {
			next--
		}
		if next == good {
			return good + 1
		}
		good = next
	}
}

var (
	position = regexp.MustCompile(`^yaml: (line \d+: )?`)
	anchor   = regexp.MustCompile(`^unknown anchor `)
	cycle    = regexp.MustCompile(`^anchor .* value contains itself`)
)

// reason returns the parser's complaint. Anchors are the one thing that it
// quotes from the document.
func reason(err error) string {
	text := position.ReplaceAllString(err.Error(), "")
	switch {
	case anchor.MatchString(text):
		return "an alias refers to an anchor that is not defined"
	case cycle.MatchString(text):
		return "an anchor contains itself"
	}
	return text
}
