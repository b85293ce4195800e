package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// file is one source file as the rules see it.
type file struct {
	path   string // relative to the module's root
	dir    string
	place  place
	known  bool // the plan has a place for it
	test   bool
	lines  int
	syntax *ast.File
	fset   *token.FileSet
}

// Violation is a broken rule: where, what, and why the rule stands.
type Violation struct {
	Path string
	Line int
	What string
	Why  string
}

// String returns "path:line: what: why".
func (v Violation) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", v.Path, v.Line, v.What, v.Why)
}

// load parses every Go file below root. Folders of other modules, hidden ones
// and testdata are not part of the house.
func load(root fs.FS) ([]file, error) {
	var files []file
	fset := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && foreign(root, p) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parseFile(root, fset, p)
		files = append(files, f)
		return err
	})
	return files, err
}

func foreign(root fs.FS, dir string) bool {
	name := path.Base(dir)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" {
		return true
	}
	_, err := fs.Stat(root, dir+"/go.mod")
	return err == nil
}

func parseFile(root fs.FS, fset *token.FileSet, p string) (file, error) {
	src, err := fs.ReadFile(root, p)
	if err != nil {
		return file{}, err
	}
	syntax, err := parser.ParseFile(fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	f := file{
		path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"),
		lines: strings.Count(string(src), "\n"), syntax: syntax, fset: fset,
	}
	f.place, f.known = placeOf(f.dir)
	return f, nil
}

// imported is one import of a file.
type imported struct {
	path string
	line int
}

func (f *file) imports() []imported {
	list := make([]imported, 0, len(f.syntax.Imports))
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused the file already
		}
		list = append(list, imported{p, f.lineOf(spec)})
	}
	return list
}

func (f *file) lineOf(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

// localName returns the name under which the file knows the package at path,
// or "" when it does not import it.
func (f *file) localName(importPath string) string {
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func (f *file) violation(line int, what, why string) Violation {
	return Violation{Path: f.path, Line: line, What: what, Why: why}
}

// isStandard reports whether the path is one of the standard library's, whose
// first element has no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
