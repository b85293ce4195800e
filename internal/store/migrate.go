package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"io/fs"
	"slices"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

//go:embed migrations/*.sql
var migrations embed.FS

// scripts returns the migrations in their order; the nth makes version n.
func scripts() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	texts := make([]string, len(names))
	for i, name := range names {
		b, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts[i] = string(b)
	}
	return texts, nil
}

// queryer is a pool or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns the schema's version; 0 is an empty database.
func (db *DB) version(ctx context.Context, q queryer) (v int, err error) {
	var has int
	if err := q.QueryRowContext(ctx, db.dialect.HasTable, "schema_version").Scan(&has); err != nil || has == 0 {
		return 0, err
	}
	err = q.QueryRowContext(ctx, `SELECT COALESCE(MAX(version), 0) FROM schema_version`).Scan(&v)
	return v, err
}

// Check says what is wrong with the store without changing it: fault.NotFound
// when it has no schema yet, fault.Unsupported when its schema is newer than
// this program. An older schema is brought forward, for reading needs it too.
func (db *DB) Check(ctx context.Context) error {
	v, err := db.version(ctx, db.read)
	if err != nil {
		return db.problem("open", db.where, err)
	}
	if v == 0 {
		return fault.New(fault.NotFound, "store: open", db.where, "there is no store yet")
	}
	return db.Migrate(ctx)
}

// Migrate brings the schema to this program's version. Any number of processes
// may do so at once; one does the work and the others find it done. A schema
// that is newer than this program is refused with fault.Unsupported and stays
// as it is.
func (db *DB) Migrate(ctx context.Context) error {
	texts, err := scripts()
	if err != nil {
		return err
	}
	v, err := db.version(ctx, db.read)
	if err != nil {
		return db.problem("open", db.where, err)
	}
	if v < len(texts) {
		if v, err = db.forward(ctx, texts); err != nil {
			return db.problem("migrate", db.where, err)
		}
	}
	if v > len(texts) {
		return fault.New(fault.Unsupported, "store: open", db.where,
			"its schema has version %d and this program knows versions up to %d; use the newer program that made it", v, len(texts))
	}
	return nil
}

// forward runs the missing migrations in one transaction and returns the
// version reached.
func (db *DB) forward(ctx context.Context, texts []string) (int, error) {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	if db.dialect.Lock != "" {
		if _, err := tx.ExecContext(ctx, db.dialect.Lock); err != nil {
			return 0, err
		}
	}
	v, err := db.version(ctx, tx)
	if err != nil || v >= len(texts) {
		return v, err
	}
	if v == 0 {
		_, err := tx.ExecContext(ctx, `CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_ms BIGINT NOT NULL)`)
		if err != nil {
			return 0, err
		}
	}
	for i := v; i < len(texts); i++ {
		// No arguments: both drivers then take several statements at once.
		if _, err := tx.ExecContext(ctx, texts[i]); err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, db.text(`INSERT INTO schema_version (version, applied_ms) VALUES ($1, @now)`), i+1); err != nil {
			return 0, err
		}
	}
	if v == 0 {
		id := strings.ToLower(rand.Text())
		if _, err := tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('id', $1)`, id); err != nil {
			return 0, err
		}
	}
	return len(texts), tx.Commit()
}

// ID returns the store's own id, random and given when it was made.
func (db *DB) ID(ctx context.Context) (id string, err error) {
	err = db.read.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'id'`).Scan(&id)
	return id, db.problem("read id of", db.where, err)
}
