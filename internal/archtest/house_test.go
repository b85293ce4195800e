package archtest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHouse reads the whole module. Whoever sees it fail finds the reason in
// the message.
func TestHouse(t *testing.T) {
	root := moduleRoot(t)
	found, err := Check(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// moduleRoot returns the folder of the nearest go.mod above.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = parent
	}
}
