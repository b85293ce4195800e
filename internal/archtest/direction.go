package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// own calls visit for each import that is a package of the house.
func (f *file) own(visit func(dir string, to place, line int)) {
	for _, im := range f.imports() {
		dir, ok := strings.CutPrefix(im.path, module+"/")
		if !ok {
			continue
		}
		if to, known := placeOf(dir); known {
			visit(dir, to, im.line)
		}
	}
}

// unplanned finds packages for which the plan has no room.
func unplanned(f *file) []Violation {
	if f.known {
		return badName(f)
	}
	return []Violation{f.violation(1, "package "+f.dir+" is in no room of the house",
		"imports can only point downwards when every package has a floor; put it into a room, or plan one in archtest/house.go")}
}

// badName finds packages whose name says nothing.
func badName(f *file) []Violation {
	nothing := []string{"util", "utils", "common", "shared", "helper", "helpers", "models", "misc"}
	if !slices.Contains(nothing, path.Base(f.dir)) {
		return nil
	}
	return []Violation{f.violation(1, "package "+f.dir+" is named after nothing",
		"the package name carries the noun; a drawer without one collects what nobody finds again")}
}

// upward finds imports of a higher floor.
func upward(f *file) []Violation {
	if !f.known || f.place.floor == beside {
		return nil
	}
	var found []Violation
	f.own(func(dir string, to place, line int) {
		if to.floor > f.place.floor && to.floor != beside {
			found = append(found, f.violation(line, "imports "+dir, fmt.Sprintf(
				"imports point downwards, and this goes from %s up to %s; pass the value or a small interface down instead",
				floorNames[f.place.floor], floorNames[to.floor])))
		}
	})
	return found
}

// sideways finds adapters that know each other, and the provider's code that
// knows the command line's.
func sideways(f *file) []Violation {
	var found []Violation
	f.own(func(dir string, to place, line int) {
		if f.place.floor != to.floor || f.place.room == to.room {
			return
		}
		switch {
		case to.floor == adapters:
			found = append(found, f.violation(line, "imports "+dir,
				"adapters do not know each other, so that one can be replaced or tested alone; a use case joins them"))
		case to.floor == shells && f.place.room != "cli":
			found = append(found, f.violation(line, "imports "+dir,
				"the shells meet in the store and in the use cases alone; only the command line knows the others, to start them"))
		}
	})
	return found
}

// besideInProduction finds tests' packages in what is released.
func besideInProduction(f *file) []Violation {
	if f.test || f.place.floor == beside {
		return nil
	}
	var found []Violation
	f.own(func(dir string, to place, line int) {
		if to.floor == beside {
			found = append(found, f.violation(line, "imports "+dir,
				"it is for tests and would be linked into the released binary; move what production needs to its own floor"))
		}
	})
	return found
}

// metBySiblings are the provider's packages that every resource may use.
var metBySiblings = []string{"internal/provider/providerdata", "internal/provider/tfconv"}

// siblings finds resources that import one another.
func siblings(f *file) []Violation {
	if f.test || !within(f.dir, "internal/provider") || f.dir == "internal/provider" || slices.Contains(metBySiblings, f.dir) {
		return nil
	}
	var found []Violation
	f.own(func(dir string, _ place, line int) {
		if within(dir, "internal/provider") && !within(dir, f.dir) && !within(f.dir, dir) && !slices.Contains(metBySiblings, dir) {
			found = append(found, f.violation(line, "imports "+dir,
				"one package per Terraform type, and types meet in Terraform's graph; what two of them need is a use case, providerdata or tfconv"))
		}
	})
	return found
}
