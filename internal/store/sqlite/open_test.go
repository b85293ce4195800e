package sqlite_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/store"
	"github.com/musterlab/terraform-provider-muster/internal/store/sqlite"
	"github.com/musterlab/terraform-provider-muster/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Engine{
		// A folder with what a URI would take for its own.
		Empty: func(t testing.TB) string { return filepath.Join(t.TempDir(), "a b?c#d%41", ".muster", "fleet.db") },
		Open:  sqlite.Open,
		Exec: func(t testing.TB, location, statement string) {
			db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: location}).EscapedPath())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestOpen_rights(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".muster")
	path := filepath.Join(dir, "fleet.db")
	db, err := sqlite.Open(context.Background(), path, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.SaveOperation(context.Background(), storetest.Sample("a")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "fleet.db": 0o600, "fleet.db-wal": 0o600, "fleet.db-shm": 0o600, ".gitignore": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != want {
			t.Errorf("%q has mode %v, want %v", name, info.Mode().Perm(), want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || string(b) != "*\n" {
		t.Errorf(".gitignore holds %q, %v", b, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if db, err = sqlite.Open(context.Background(), path, store.Existing); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may still read it: %v, %v", info.Mode(), err)
	}
}

// A folder that somebody else made is not ours to change.
func TestOpen_foreignFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(context.Background(), filepath.Join(dir, "fleet.db"), store.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".gitignore")); err == nil {
		t.Error("a .gitignore hides files that are not ours")
	}
}

func TestOpen_refusals(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("this is no database, and long enough to be looked at as one: header\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		behaviour, path string
		want            fault.Kind
	}{
		{"a folder", dir, fault.Invalid},
		{"a file of another kind", text, fault.Invalid},
		{"below a file", filepath.Join(text, "fleet.db"), fault.Invalid},
	} {
		db, err := sqlite.Open(context.Background(), c.path, store.Create)
		if !fault.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.behaviour, db, err, c.want)
		}
	}
	if b, err := os.ReadFile(text); err != nil || string(b[:4]) != "this" {
		t.Errorf("the refused file was changed: %q, %v", b, err)
	}
}
