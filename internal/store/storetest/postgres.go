package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

const (
	superuser  = "muster"
	startLimit = 60 * time.Second
)

// Server is a running PostgreSQL, reached through a unix socket in Dir.
type Server struct {
	Dir string

	cmd  *exec.Cmd
	done chan struct{}
	log  *bytes.Buffer
}

// StartServer runs a PostgreSQL for the whole test binary; TestMain stops it.
// It fails where Debian's packages are missing: these tests are never skipped.
func StartServer() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// A short path: a socket's may have 107 bytes.
	dir, err := os.MkdirTemp("/tmp", "muster-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, done: make(chan struct{}), log: &bytes.Buffer{}}
	if err := s.start(bin); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("start PostgreSQL: %w\n%s", err, s.log)
	}
	return s, nil
}

// programs returns the folder with the newest server's programs.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("no /usr/lib/postgresql/*/bin/initdb; install Debian's package postgresql")
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// unprivileged returns who runs the server: PostgreSQL refuses root.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("neither of the users postgres and nobody exists")
}

func (s *Server) start(bin string) error {
	who, err := unprivileged(s.Dir)
	if err != nil {
		return err
	}
	data := filepath.Join(s.Dir, "data")
	initdb := exec.CommandContext(context.Background(), filepath.Join(bin, "initdb"), "-D", data, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	s.cmd = exec.CommandContext(context.Background(), filepath.Join(bin, "postgres"), "-D", data, "-k", s.Dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200", "-c", "shared_buffers=16MB")
	for _, c := range []*exec.Cmd{initdb, s.cmd} {
		c.Dir, c.Stdout, c.Stderr = s.Dir, s.log, s.log
		c.SysProcAttr = attributes(who)
	}
	if err := initdb.Run(); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	started := make(chan error)
	go func() {
		// The server ends with the thread that started it, should the tests be
		// killed: so that thread stays.
		runtime.LockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait()
		}
		close(s.done)
	}()
	if err := <-started; err != nil {
		return err
	}
	if err := s.await(); err != nil {
		s.Stop()
		return err
	}
	return nil
}

func (s *Server) await() error {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-s.done:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", startLimit, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL of a database of the server.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s", superuser, database, url.QueryEscape(s.Dir))
}

// Database makes an empty database and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "t" + strings.ToLower(rand.Text())
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err == nil {
		_, err = db.ExecContext(context.Background(), "CREATE DATABASE "+name)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // at once, without a checkpoint
	<-s.done
	_ = os.RemoveAll(s.Dir)
}
