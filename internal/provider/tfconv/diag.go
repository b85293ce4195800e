package tfconv

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// Problem is one diagnostic in the house's form.
type Problem struct {
	Verb, Type, Name string // "create", "network", "lab": the summary
	Happened         string // with remote names
	Expected         string // may be empty
	Todo             string // one concrete action
}

// Summary returns `Unable to <verb> <type> "<name>"`. Terraform merges
// diagnostics of equal summaries, so the name is part of it.
func (p Problem) Summary() string {
	s := "Unable to " + p.Verb + " " + p.Type
	if p.Name != "" {
		s += ` "` + p.Name + `"`
	}
	return s
}

// Detail returns what happened, what was expected and what to do, as
// sentences, one a line.
func (p Problem) Detail() string {
	var lines []string
	for _, s := range []string{p.Happened, p.Expected, p.Todo} {
		if s != "" {
			lines = append(lines, Sentence(s))
		}
	}
	return strings.Join(lines, "\n")
}

// Error returns the problem as an error.
func (p Problem) Error() diag.Diagnostic {
	return diag.NewErrorDiagnostic(p.Summary(), p.Detail())
}

// ErrorAt returns the problem as an error that points at an attribute.
func (p Problem) ErrorAt(at path.Path) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(at, p.Summary(), p.Detail())
}

// Warning returns the problem as a warning.
func (p Problem) Warning() diag.Diagnostic {
	return diag.NewWarningDiagnostic(p.Summary(), p.Detail())
}

// Unable returns an error diagnostic: what happened, what was expected (may be
// empty), what to do.
func Unable(verb, typ, name, happened, expected, todo string) diag.Diagnostic {
	return Problem{Verb: verb, Type: typ, Name: name, Happened: happened, Expected: expected, Todo: todo}.Error()
}

// UnableAt is Unable with the attribute that is to blame.
func UnableAt(at path.Path, verb, typ, name, happened, expected, todo string) diag.Diagnostic {
	return Problem{Verb: verb, Type: typ, Name: name, Happened: happened, Expected: expected, Todo: todo}.ErrorAt(at)
}

// Sentence makes an error's lower-case text a sentence: first letter in upper
// case unless a quote, name, path or "op:" begins it, full stop at the end.
func Sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	word, _, _ := strings.Cut(s, " ")
	if r, n := utf8.DecodeRuneInString(s); unicode.IsLower(r) && !strings.ContainsAny(strings.TrimRight(word, ".,;"), "_:/.`") {
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	if !strings.ContainsRune(".!?:", rune(s[len(s)-1])) {
		s += "."
	}
	return s
}
