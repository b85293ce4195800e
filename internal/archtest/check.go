package archtest

import (
	"io/fs"
	"sort"
)

// Check reads the module below root and returns every broken rule, in the
// order of files and lines.
func Check(root fs.FS) ([]Violation, error) {
	files, err := load(root)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for i := range files {
		for _, rule := range fileRules {
			found = append(found, rule(&files[i])...)
		}
	}
	found = append(found, undocumented(files)...)
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].Path != found[j].Path {
			return found[i].Path < found[j].Path
		}
		return found[i].Line < found[j].Line
	})
	return found, nil
}

// fileRules each look at one file.
var fileRules = []func(*file) []Violation{
	unplanned, upward, sideways, besideInProduction, siblings, exclusive, pureXML, groundImports, groundCalls, tooLong,
}
