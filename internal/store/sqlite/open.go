package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// busyLimit is how long a statement waits for another process's transaction.
const busyLimit = 10 * time.Second

// readers is how many connections read at once beside the one that writes.
const readers = 4

var dialect = store.Dialect{
	Name:     "sqlite",
	Now:      `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
	HasTable: `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1`,
	Classify: classify,
}

// Open opens the store in the file path. With store.Create a missing folder is
// made with mode 0700 and a .gitignore, and a missing file with mode 0600. A
// file on a network filesystem is refused: its locks cannot be relied on.
func Open(ctx context.Context, path string, mode store.Mode) (*store.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "store: open", path, "%w", err)
	}
	if err := prepare(path, mode); err != nil {
		return nil, err
	}
	write, err := pool(path, 1, "_txlock=immediate")
	if err != nil {
		return nil, fault.New(fault.Invalid, "store: open", path, "%w", err)
	}
	read, err := pool(path, readers, "_pragma=query_only(1)")
	if err != nil {
		_ = write.Close()
		return nil, fault.New(fault.Invalid, "store: open", path, "%w", err)
	}
	db := store.New(write, read, dialect, path)
	if err := settle(ctx, write, db, mode); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// settle switches a new file to write-ahead logging and checks or makes the
// schema. Both can meet another process doing the same, and SQLite does not
// wait for its own locks while it switches.
func settle(ctx context.Context, write *sql.DB, db *store.DB, mode store.Mode) error {
	deadline := time.Now().Add(busyLimit)
	for {
		err := attempt(ctx, write, db, mode)
		if !fault.Is(err, fault.Busy) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10*time.Millisecond + rand.N(20*time.Millisecond)):
		}
	}
}

func attempt(ctx context.Context, write *sql.DB, db *store.DB, mode store.Mode) error {
	if _, err := write.ExecContext(ctx, `PRAGMA journal_mode = WAL`); err != nil {
		return &fault.Error{Kind: classify(err), Op: "store: open", Subject: db.Where(), Err: err}
	}
	if mode == store.Create {
		return db.Migrate(ctx)
	}
	return db.Check(ctx)
}

func pool(path string, connections int, options string) (*sql.DB, error) {
	dsn := fmt.Sprintf("file:%s?%s&_pragma=busy_timeout(%d)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)",
		(&url.URL{Path: path}).EscapedPath(), options, busyLimit.Milliseconds())
	db, err := sql.Open("sqlite", dsn+"&mode=rw")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetConnMaxIdleTime(time.Minute)
	return db, nil
}

// prepare makes or checks folder and file.
func prepare(path string, mode store.Mode) error {
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return &fault.Error{Kind: pathKind(err), Op: "store: open", Subject: path, Err: cause(err)}
	case missing && mode != store.Create:
		return fault.New(fault.NotFound, "store: open", path, "there is no store yet")
	case missing:
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return &fault.Error{Kind: pathKind(err), Op: "store: make folder", Subject: filepath.Dir(path), Err: cause(err)}
		}
	case info.IsDir():
		return fault.New(fault.Invalid, "store: open", path, "it is a folder; name a file in it")
	}
	if name, network, err := networkFilesystem(filepath.Dir(path)); err != nil || network {
		if err != nil {
			return &fault.Error{Kind: pathKind(err), Op: "store: open", Subject: path, Err: cause(err)}
		}
		return fault.New(fault.Unsupported, "store: open", path,
			"it lies on a network filesystem (%s), whose locks cannot keep two writers apart; choose a local path, or PostgreSQL for a shared store", name)
	}
	if missing {
		return makeFile(path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		// A file that others could read: ours to close, if it is ours.
		if err := os.Chmod(path, 0o600); err != nil {
			return &fault.Error{Kind: pathKind(err), Op: "store: take rights of others from", Subject: path, Err: cause(err)}
		}
	}
	return nil
}

// makeFolder makes the folder for us alone, out of sight of git. One that is
// there is left as it is.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // another process made it in this moment
		}
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// makeFile makes the empty file. An existing one is never opened here: closing
// it would give up the locks that this process holds on it.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return &fault.Error{Kind: pathKind(err), Op: "store: make", Subject: path, Err: cause(err)}
	}
	return nil
}

func pathKind(err error) fault.Kind {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fault.Denied
	case errors.Is(err, fs.ErrNotExist):
		return fault.NotFound
	default:
		return fault.Invalid
	}
}

// cause drops the path, which the message has already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Primary result codes of SQLite (sqlite.org/rescode.html).
const (
	codePerm     = 3
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeIOErr    = 10
	codeFull     = 13
	codeCantOpen = 14
	codeConflict = 19
	codeNotADB   = 26
	codeCorrupt  = 11
)

func classify(err error) fault.Kind {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return fault.Unknown
	}
	switch e.Code() & 0xff {
	case codeBusy, codeLocked:
		return fault.Busy
	case codePerm, codeReadOnly, codeCantOpen:
		return fault.Denied
	case codeFull:
		return fault.Exhausted
	case codeConflict:
		return fault.Conflict
	case codeNotADB, codeCorrupt:
		return fault.Invalid
	case codeIOErr:
		return fault.Unavailable
	default:
		return fault.Unknown
	}
}
