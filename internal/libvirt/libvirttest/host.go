package libvirttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterlab/terraform-provider-muster/internal/testguest/testcache"
)

// Host is one running private libvirt host.
type Host struct {
	Name   string // the host name that the daemon reports
	Dir    string // its folder; the pool "default" is Dir/images
	Socket string // the daemon's read-write socket

	tb       testing.TB // nil when launched without a test
	conf     config
	keeper   *exec.Cmd
	hold     io.Closer // the keeper lives while this is open
	pid      int       // the keeper's, as seen from here
	forwards forwarder
	holder   testHolder
}

// startLimit is what a host may take until its daemon answers, on a loaded
// machine. Two seconds are usual.
const startLimit = 90 * time.Second

var hostCount atomic.Int32

// Start starts a private host and stops it when the test ends. It fails the
// test, with the reason, when that cannot be done: it never skips.
func Start(tb testing.TB, opts ...Option) *Host {
	tb.Helper()
	dir, err := os.MkdirTemp("", "lvh-")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	h, err := launch(ctx, dir, opts)
	if err != nil {
		_ = os.RemoveAll(dir)
		tb.Fatalf("libvirttest: start host: %v", err)
	}
	h.tb = tb
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("libvirtd of %s, last lines:\n%s", h.Name, tail(daemonLog(h.Dir), 4096))
		}
		if err := h.Close(); err != nil {
			tb.Errorf("libvirttest: stop host: %v", err)
		}
	})
	return h
}

// Launch starts a private host in dir, which is made when missing and removed
// by Close or [Down]. Unlike a test's host it outlives this process when
// detached is chosen with [Detached].
func Launch(ctx context.Context, dir string, opts ...Option) (*Host, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return launch(ctx, dir, opts)
}

func launch(ctx context.Context, dir string, opts []Option) (*Host, error) {
	c := config{name: "host" + strconv.Itoa(int(hostCount.Add(1)))}
	for _, o := range opts {
		o(&c)
	}
	if err := c.validate(dir); err != nil {
		return nil, err
	}
	if err := canRun(); err != nil {
		return nil, err
	}
	if err := layOut(dir, &c); err != nil {
		return nil, err
	}
	h := &Host{Name: c.name, Dir: dir, Socket: socketPath(dir), conf: c}
	if err := h.startKeeper(ctx); err != nil {
		return nil, err
	}
	if err := h.awaitDaemon(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// canRun says what this machine lacks.
func canRun() error {
	if os.Geteuid() != 0 {
		return errors.New("private hosts need root")
	}
	addSystemPath()
	for _, name := range []string{"libvirtd", "virtlogd", "virsh", "nsenter", "ip"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is not installed: run .ci/install-deps.sh", name)
		}
	}
	return nil
}

func (h *Host) startKeeper(ctx context.Context) error {
	task, err := h.task()
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(task)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	result, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer result.Close()
	cmd := exec.Command(self) //nolint:noctx // it outlives the start's context
	cmd.Args = []string{keeperName, h.Dir}
	// A keeper built with the race detector would sleep a second at its end.
	cmd.Env = append(os.Environ(), envKeeper+"="+string(encoded), "GORACE=atexit_sleep_ms=0")
	cmd.ExtraFiles = []*os.File{report}
	cmd.SysProcAttr = keeperAttr()
	if !h.conf.detached {
		if h.hold, err = cmd.StdinPipe(); err != nil {
			return errors.Join(err, report.Close())
		}
	}
	err = cmd.Start()
	_ = report.Close()
	if err != nil {
		return fmt.Errorf("start keeper in new namespaces: %w", err)
	}
	h.keeper, h.pid = cmd, cmd.Process.Pid
	if err := os.WriteFile(keeperPIDFile(h.Dir), []byte(strconv.Itoa(h.pid)), 0o644); err != nil {
		return errors.Join(err, h.Close())
	}
	return h.awaitReport(ctx, result)
}

func (h *Host) task() (keeperTask, error) {
	task := keeperTask{Dir: h.Dir, Name: h.Name, Listen: h.conf.tcp || h.conf.tls, Detached: h.conf.detached}
	kind := "root"
	switch {
	case h.conf.withoutKVM || !kvmWorks():
		task.KVM, kind = kvmHidden, "tcg"
	case h.conf.unprivileged:
		task.KVM, kind = kvmForAll, qemuUser
	}
	if h.conf.detached { // it leaves nothing at all
		task.Cache = filepath.Join(h.Dir, "cache")
		return task, os.Mkdir(task.Cache, 0o755)
	}
	// Asking QEMU for its capabilities takes a second or two; libvirt keeps the
	// answer there and knows itself when it is out of date.
	cache, err := testcache.Dir(filepath.Join("libvirt", kind))
	task.Cache = cache
	return task, err
}

// awaitReport reads the keeper's report: empty means that all is up.
func (h *Host) awaitReport(ctx context.Context, result *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = result.SetReadDeadline(time.Now()) })
	defer stop()
	reason, err := io.ReadAll(result)
	if err == nil && len(reason) > 0 {
		err = errors.New(string(bytes.TrimSpace(reason)))
	}
	if err != nil {
		return errors.Join(err, h.Close())
	}
	return nil
}

// Close kills everything that runs on the host and removes its folder.
func (h *Host) Close() error {
	h.forwards.close()
	h.holder.close()
	if h.hold != nil {
		_ = h.hold.Close()
	} else {
		_ = unix.Kill(h.pid, unix.SIGTERM)
	}
	kill := time.AfterFunc(stopLimit, func() { _ = h.keeper.Process.Kill() })
	defer kill.Stop()
	_ = h.keeper.Wait() // its exit status says nothing: it is ended by us
	return os.RemoveAll(h.Dir)
}

// addSystemPath makes the daemons findable for users whose PATH has no sbin.
func addSystemPath() {
	path := os.Getenv("PATH")
	for _, d := range []string{"/usr/sbin", "/sbin"} {
		found := false
		for _, p := range filepath.SplitList(path) {
			found = found || p == d
		}
		if !found {
			path += string(os.PathListSeparator) + d
		}
	}
	_ = os.Setenv("PATH", path)
}

func tail(path string, n int) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	return b[max(0, len(b)-n):]
}
