package archtest

import (
	"fmt"
	"sort"
)

// maxLines is how long a file of production code may be.
const maxLines = 600

// tooLong finds files that do more than one thing.
func tooLong(f *file) []Violation {
	if f.test || f.lines <= maxLines {
		return nil
	}
	return []Violation{f.violation(1, fmt.Sprintf("has %d lines, more than %d", f.lines, maxLines),
		"a file is read in one sitting; split it by what it does")}
}

// undocumented finds packages without a package comment.
func undocumented(files []file) []Violation {
	first := map[string]*file{}
	documented := map[string]bool{}
	for i := range files {
		f := &files[i]
		if f.test {
			continue
		}
		if first[f.dir] == nil {
			first[f.dir] = f
		}
		documented[f.dir] = documented[f.dir] || f.syntax.Doc != nil
	}
	var found []Violation
	for dir, f := range first {
		if !documented[dir] {
			found = append(found, f.violation(1, "package "+dir+" has no package comment",
				"what it decides or adapts, and what it must not know, stands in its doc.go"))
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Path < found[j].Path })
	return found
}
