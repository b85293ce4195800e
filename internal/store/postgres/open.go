package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

const (
	connections = 4
	dialLimit   = 10 * time.Second
)

// Of migrations that start at once one works and the others wait. The lock
// ends with its transaction, also behind a pooler. The table is looked up by a
// query: to_regclass answers from a cache that the lock does not refresh.
var dialect = store.Dialect{
	Name:     "postgres",
	Now:      `CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`,
	HasTable: `SELECT count(*) FROM pg_catalog.pg_class WHERE relname = $1 AND relkind = 'r' AND pg_table_is_visible(oid)`,
	Lock:     `SELECT pg_advisory_xact_lock(7765737465)`,
	Classify: classify,
}

// IsURL reports whether a store's location is for this package.
func IsURL(location string) bool {
	return strings.HasPrefix(location, "postgres://") || strings.HasPrefix(location, "postgresql://")
}

// Open connects to the database that the URL names. Its password may come from
// PGPASSWORD or ~/.pgpass. With store.Existing the tables have to be there.
func Open(ctx context.Context, url string, mode store.Mode) (*store.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// The parser's own text may hold parts of the URL.
		return nil, fault.New(fault.Invalid, "store: open", "", "the PostgreSQL URL cannot be read: expected postgres://user@host:port/database")
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = dialLimit
	}
	// No named prepared statements: they do not survive a pooler.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool := stdlib.OpenDB(*cfg)
	pool.SetMaxOpenConns(connections)
	pool.SetConnMaxIdleTime(time.Minute)
	db := store.New(pool, pool, dialect, shown(cfg))
	if err := settle(ctx, pool, db, mode); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func settle(ctx context.Context, pool *sql.DB, db *store.DB, mode store.Mode) error {
	if err := pool.PingContext(ctx); err != nil {
		kind := classify(err)
		if kind == fault.Unknown {
			kind = fault.Unavailable
		}
		return &fault.Error{Kind: kind, Op: "store: connect to", Subject: db.Where(), Err: withoutConfig(err)}
	}
	if mode == store.Create {
		return db.Migrate(ctx)
	}
	return db.Check(ctx)
}

// shown is the URL without password and options.
func shown(cfg *pgx.ConnConfig) string {
	if strings.HasPrefix(cfg.Host, "/") {
		return fmt.Sprintf("postgres://%s@/%s?host=%s", cfg.User, cfg.Database, cfg.Host)
	}
	return fmt.Sprintf("postgres://%s@%s:%d/%s", cfg.User, cfg.Host, cfg.Port, cfg.Database)
}

// withoutConfig drops pgx's repetition of the connection's parameters.
func withoutConfig(err error) error {
	var c *pgconn.ConnectError
	if errors.As(err, &c) && c.Unwrap() != nil {
		return c.Unwrap()
	}
	return err
}

// classify goes by the SQLSTATE (PostgreSQL's appendix A) and its class.
func classify(err error) fault.Kind {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var c *pgconn.ConnectError
		if errors.As(err, &c) || pgconn.SafeToRetry(err) {
			return fault.Unavailable
		}
		return fault.Unknown
	}
	switch e.Code {
	case "40001", "40P01", "55P03":
		return fault.Busy
	case "42501":
		return fault.Denied
	case "3D000":
		return fault.NotFound
	case "25006":
		return fault.Denied // a read-only standby
	}
	switch e.Code[:2] {
	case "08", "57", "58":
		return fault.Unavailable
	case "23":
		return fault.Conflict
	case "28":
		return fault.Denied
	case "53":
		return fault.Exhausted
	case "22", "42":
		return fault.Invalid
	}
	return fault.Unknown
}
