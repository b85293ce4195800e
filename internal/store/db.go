package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Dialect is all in which the two engines differ.
type Dialect struct {
	Name     string
	Now      string                 // SQL for the database's clock, milliseconds since 1970, BIGINT
	HasTable string                 // SQL that gives 1 or 0: is there the table $1
	Lock     string                 // SQL that makes migrations wait for one another; "": each transaction does
	Classify func(error) fault.Kind // kind of a driver's error
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	write   *sql.DB
	read    *sql.DB
	dialect Dialect
	where   string // for messages; holds no password
}

// New returns a store over opened pools, which it closes; they may be one and
// the same. where names the store in messages. Nothing is read yet: call
// Migrate or Check before anything else.
func New(write, read *sql.DB, d Dialect, where string) *DB {
	return &DB{write: write, read: read, dialect: d, where: where}
}

// Where names the store: a path, or a URL without its password.
func (db *DB) Where() string { return db.where }

// Engine is "sqlite" or "postgres".
func (db *DB) Engine() string { return db.dialect.Name }

// Close closes the pools.
func (db *DB) Close() error {
	err := db.write.Close()
	if db.read != db.write {
		err = errors.Join(db.read.Close(), err)
	}
	return err
}

// text puts the engine's clock into a statement.
func (db *DB) text(statement string) string {
	return strings.ReplaceAll(statement, "@now", db.dialect.Now)
}

// problem classifies a driver's error; nil stays nil.
func (db *DB) problem(op, subject string, err error) error {
	var classified *fault.Error
	if err == nil || errors.As(err, &classified) {
		return err
	}
	kind := fault.Unavailable
	switch {
	case errors.Is(err, sql.ErrNoRows):
		kind = fault.NotFound
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		kind = db.dialect.Classify(err)
	}
	return &fault.Error{Kind: kind, Op: "store: " + op, Subject: subject, Err: err}
}

// exec runs one writing statement and returns how many rows it changed.
func (db *DB) exec(ctx context.Context, op, subject, statement string, args ...any) (int64, error) {
	res, err := db.write.ExecContext(ctx, db.text(statement), args...)
	if err != nil {
		return 0, db.problem(op, subject, err)
	}
	n, err := res.RowsAffected()
	return n, db.problem(op, subject, err)
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
