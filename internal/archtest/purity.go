package archtest

import (
	"go/ast"
	"slices"
	"strings"
)

const pure = "the ground floor decides from the values it is given, so that every decision can be replayed"

// outside reports whether a standard package reaches the world: files, network,
// chance, other goroutines, logs.
func outside(importPath string) bool {
	if importPath == "net/netip" || importPath == "io/fs" {
		return false // values and interfaces alone
	}
	doors := []string{"os", "net", "context", "log", "sync", "syscall", "math/rand", "crypto/rand", "io/ioutil", "database", "plugin", "runtime"}
	return slices.ContainsFunc(doors, func(d string) bool { return within(importPath, d) })
}

// groundImports keeps the ground floor to the standard library and itself.
func groundImports(f *file) []Violation {
	if f.place.floor != ground || f.test {
		return nil
	}
	var found []Violation
	for _, im := range f.imports() {
		switch {
		case strings.HasPrefix(im.path, module):
			// upward and besideInProduction judge these.
		case !isStandard(im.path):
			found = append(found, f.violation(im.line, "imports "+im.path,
				"the ground floor stands on the standard library alone, for everything else stands on it"))
		case outside(im.path):
			found = append(found, f.violation(im.line, "imports "+im.path, pure+"; read outside and pass the result in"))
		}
	}
	return found
}

// clock is what of package time reads it or waits for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// groundCalls finds clock and goroutines on the ground floor.
func groundCalls(f *file) []Violation {
	if f.place.floor != ground || f.test {
		return nil
	}
	timeName := f.localName("time")
	var found []Violation
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, f.violation(f.lineOf(n), "starts a goroutine", pure+"; concurrency belongs to the use cases"))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && timeName != "" && x.Name == timeName && slices.Contains(clock, n.Sel.Name) {
				found = append(found, f.violation(f.lineOf(n), "uses time."+n.Sel.Name, pure+"; take the time as an argument"))
			}
		}
		return true
	})
	if timeName == "." {
		found = append(found, f.violation(1, "dot-imports time", pure+", and a clock without its package's name is not seen here"))
	}
	return found
}
