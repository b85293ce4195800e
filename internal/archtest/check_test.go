package archtest

import (
	"io/fs"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Each script under testdata is a small module and, in its file "want", every
// violation it has, a line each, without the reason: "path:line: what".
func scripts(t *testing.T) map[string]fs.FS {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	all := map[string]fs.FS{}
	for _, p := range paths {
		archive, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		fsys, err := txtar.FS(archive)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(p)] = fsys
	}
	return all
}

func TestCheck_scripts(t *testing.T) {
	for name, fsys := range scripts(t) {
		t.Run(name, func(t *testing.T) {
			want, err := fs.ReadFile(fsys, "want")
			if err != nil {
				t.Fatal(err)
			}
			found, err := Check(fsys)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, v := range found {
				got.WriteString(v.Path + ":" + strconv.Itoa(v.Line) + ": " + v.What + "\n")
				if len(strings.Fields(v.Why)) < 8 || !strings.HasSuffix(v.String(), v.Why) {
					t.Errorf("%s: gives no reason worth the name: %q", v, v.Why)
				}
			}
			if got.String() != string(want) {
				t.Errorf("got\n%swant\n%s", got.String(), want)
			}
		})
	}
}

// A rule that no script breaks could be one that cannot fail.
func TestCheck_everyRuleCanFail(t *testing.T) {
	broken := make([]bool, len(fileRules))
	for name, fsys := range scripts(t) {
		files, err := load(fsys)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, rule := range fileRules {
			for j := range files {
				broken[i] = broken[i] || len(rule(&files[j])) > 0
			}
		}
	}
	for i, rule := range fileRules {
		if !broken[i] {
			t.Errorf("no script breaks the rule %s", runtime.FuncForPC(reflect.ValueOf(rule).Pointer()).Name())
		}
	}
}

func TestCheck_refusesWhatItCannotRead(t *testing.T) {
	archive := txtar.Parse([]byte("-- internal/fault/a.go --\npackage fault\nfunc {\n"))
	fsys, err := txtar.FS(archive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Check(fsys); err == nil {
		t.Error("a file that is no Go passes for one that breaks no rule")
	}
}
