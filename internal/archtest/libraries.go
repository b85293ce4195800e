package archtest

import (
	"slices"
	"strings"
)

const pluginLibraries = "github.com/hashicorp/terraform-plugin-"

// library is one that only some packages may import.
type library struct {
	prefix string
	rooms  []string // folders, with what is below them
	exact  []string // folders alone
	why    string
}

const onlyStore = "only internal/store speaks SQL and knows its drivers; others use its methods, so that both databases stay equal"

var libraries = []library{
	{
		prefix: "github.com/digitalocean/go-libvirt",
		rooms:  []string{"internal/libvirt/libvirttest"}, exact: []string{"internal/libvirt"},
		why: "only internal/libvirt speaks to libvirt: it alone knows deadlines, reconnection and error codes, and everybody else gets classified errors from it",
	},
	{prefix: "database/sql", rooms: []string{"internal/store"}, why: onlyStore},
	{prefix: "modernc.org/sqlite", rooms: []string{"internal/store"}, why: onlyStore},
	{prefix: "github.com/jackc/pgx", rooms: []string{"internal/store"}, why: onlyStore},
	{
		prefix: "github.com/canonical/gomaasclient", rooms: []string{"internal/maas"},
		why: "only internal/maas speaks to MAAS; everybody else gets classified errors from it",
	},
}

// exclusive finds libraries outside their room.
func exclusive(f *file) []Violation {
	var found []Violation
	for _, im := range f.imports() {
		if why := pluginMisuse(f, im.path); why != "" {
			found = append(found, f.violation(im.line, "imports "+im.path, why))
		}
		for _, l := range libraries {
			if within(im.path, l.prefix) && !l.allows(f.dir) {
				found = append(found, f.violation(im.line, "imports "+im.path, l.why))
			}
		}
	}
	return found
}

func (l library) allows(dir string) bool {
	return slices.Contains(l.exact, dir) || slices.ContainsFunc(l.rooms, func(r string) bool { return within(dir, r) })
}

// pluginMisuse returns why the file may not import this library of Terraform's,
// or "".
func pluginMisuse(f *file, importPath string) string {
	if !strings.HasPrefix(importPath, pluginLibraries) {
		return ""
	}
	testing := strings.HasPrefix(importPath, pluginLibraries+"testing")
	switch {
	case f.place.floor == beside && f.place.room != "archtest":
		return ""
	case testing && !f.test:
		return "it is for tests and would be linked into the released binary"
	case within(f.dir, "internal/provider"):
		return ""
	case (f.dir == "." || f.dir == "internal/cli") && within(importPath, pluginLibraries+"framework/providerserver"):
		return ""
	}
	return "only internal/provider knows Terraform's types, so that the reconciler and the tests of all else run without it (main.go and internal/cli may import providerserver, to serve)"
}

// xmlLibrary is the one library that the pure XML of domains is built on.
const xmlLibrary = "github.com/beevik/etree"

// pureXML keeps the domain XML a function of its input.
func pureXML(f *file) []Violation {
	if f.test || !within(f.dir, "internal/libvirt/domxml") {
		return nil
	}
	var found []Violation
	for _, im := range f.imports() {
		dir, own := strings.CutPrefix(im.path, module+"/")
		to, _ := placeOf(dir)
		switch {
		case within(im.path, xmlLibrary), own && (to.floor == ground || within(dir, "internal/libvirt/domxml")):
		case isStandard(im.path) && !outside(im.path):
		default:
			found = append(found, f.violation(im.line, "imports "+strings.TrimPrefix(im.path, module+"/"),
				"domain XML is built and edited without I/O, so that every edit can be tried without a daemon; it knows the ground floor and "+xmlLibrary+" alone"))
		}
	}
	return found
}
