package engine

import (
	"context"
	"os"
	"path/filepath"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/store"
	"github.com/musterlab/terraform-provider-muster/internal/store/postgres"
	"github.com/musterlab/terraform-provider-muster/internal/store/sqlite"
)

// LocationEnv names the environment variable with the store's location.
const LocationEnv = "MUSTER_STORE"

// DefaultFile is the default store, relative to the root module's folder.
const DefaultFile = ".muster/fleet.db"

// Open opens the store at location: a PostgreSQL URL, or the path of an SQLite
// file.
func Open(ctx context.Context, location string, mode store.Mode) (*store.DB, error) {
	switch {
	case location == "":
		return nil, fault.New(fault.Invalid, "store: open", "", "no location is known")
	case postgres.IsURL(location):
		return postgres.Open(ctx, location, mode)
	default:
		return sqlite.Open(ctx, location, mode)
	}
}

// Find returns the store that people mean in the folder dir: what LocationEnv
// says, else the default file of dir or of the nearest folder above that has
// one, else "".
func Find(dir string) string {
	if location := os.Getenv(LocationEnv); location != "" {
		return location
	}
	for {
		file := filepath.Join(dir, DefaultFile)
		if _, err := os.Stat(file); err == nil {
			return file
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
