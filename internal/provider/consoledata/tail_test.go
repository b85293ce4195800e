package consoledata

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClean_leavesNothingForATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain\r\n":                       "plain\n",
		"\x1b[1;32mgreen\x1b[0m\n":        "green\n",
		"\x1b]0;title\x07text":            "text",
		"\x1b]2;title\x1b\\text":          "text",
		"\x1b[2J\x1b[1;1Hhome":            "home",
		"\x1bcreset \x1b(B":               "reset ",
		"half a rune \xe2\x82":            "half a rune \uFFFD",
		"tab\tbell\a nul\x00 c1\u009b31m": "tab\tbell nul c131m",
	} {
		if got := clean([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		got := clean(rapid.SliceOf(rapid.Byte()).Draw(t, "output"))
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x00\r\x07") {
			t.Fatalf("%q", got)
		}
	})
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
		more bool
	}{
		{"", 3, "", false},
		{"a\nb\nc\n", 2, "b\nc\n", true},
		{"a\nb\nc", 2, "b\nc", true},
		{"a\nb\n", 2, "a\nb\n", false},
		{"a\nb\n", 9, "a\nb\n", false},
		{"\n\n\n", 1, "\n", true},
	} {
		if got, more := lastLines(c.in, c.n); got != c.want || more != c.more {
			t.Errorf("%q, %d: %q %v, want %q %v", c.in, c.n, got, more, c.want, c.more)
		}
	}
}

func TestLogsOf_newestFirst(t *testing.T) {
	names := []string{"u.log.2", "other.log", "u.log.0", "u.log", "u.log.10", "u.log.x", "u.log.1"}
	if got, want := logsOf(names, "u.log"), []string{"u.log", "u.log.0", "u.log.1", "u.log.2", "u.log.10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBounded_keepsTheEnd(t *testing.T) {
	b := &bounded{max: 4}
	for _, s := range []string{"ab", "cde", "f"} {
		if n, err := b.Write([]byte(s)); n != len(s) || err != nil {
			t.Error(n, err)
		}
	}
	if b.String() != "cdef" || !b.dropped {
		t.Errorf("%q %v", b.String(), b.dropped)
	}
}
