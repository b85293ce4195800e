package libvirttest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const pollEvery = 20 * time.Millisecond

// KillDaemon ends libvirtd with SIGKILL and waits until it is gone. VMs and
// virtlogd go on.
func (h *Host) KillDaemon() {
	h.helper()
	h.must(h.signalDaemon(unix.SIGKILL))
}

// StartDaemon starts libvirtd and waits until it answers.
func (h *Host) StartDaemon() {
	h.helper()
	h.must(h.startDaemon())
}

// RestartDaemon stops libvirtd in an orderly way and starts it again.
func (h *Host) RestartDaemon() {
	h.helper()
	h.must(h.signalDaemon(unix.SIGTERM))
	h.must(h.startDaemon())
}

// FreezeDaemon stops libvirtd from running without closing its sockets, until
// the returned function is called: a daemon that does not answer.
func (h *Host) FreezeDaemon() (thaw func()) {
	h.helper()
	pid, err := h.daemonPID()
	h.must(err)
	h.kill(unix.SIGSTOP, pid)
	return func() { h.kill(unix.SIGCONT, pid) }
}

func (h *Host) kill(sig unix.Signal, pid int) {
	h.helper()
	_, err := h.Exec("kill", "-"+strconv.Itoa(int(sig)), strconv.Itoa(pid))
	h.must(err)
}

// daemonPID is libvirtd's process id inside the host's PID namespace.
func (h *Host) daemonPID() (int, error) {
	b, err := os.ReadFile(daemonPIDFile(h.Dir))
	if err != nil {
		return 0, fmt.Errorf("libvirtd does not run: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

func (h *Host) signalDaemon(sig unix.Signal) error {
	pid, err := h.daemonPID()
	if err != nil {
		return err
	}
	if _, err := h.Exec("kill", "-"+strconv.Itoa(int(sig)), strconv.Itoa(pid)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := poll(ctx, func() bool { _, err := h.Exec("test", "-d", "/proc/"+strconv.Itoa(pid)); return err != nil }); err != nil {
		return fmt.Errorf("libvirtd does not end: %w", err)
	}
	if err := os.Remove(daemonPIDFile(h.Dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (h *Host) startDaemon() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	cmd := h.command(ctx, daemonCommand(h.Dir, h.conf.tcp || h.conf.tls)...)
	cmd.Env = append(os.Environ(), hideSystemBus)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("libvirtd: %w: %s", err, out)
	}
	if err := h.awaitDaemon(ctx); err != nil {
		return err
	}
	return h.awaitReconnects(ctx)
}

// awaitReconnects waits until the daemon has its hands on the VMs that it found
// running. It answers clients before, and stopping it at that moment makes it
// kill the VM. A query that needs the domain's job lock waits for that.
func (h *Host) awaitReconnects(ctx context.Context) error {
	running, err := h.virsh(ctx, "list", "--uuid")
	if err != nil {
		return err
	}
	for _, uuid := range strings.Fields(running) {
		if _, err := h.virsh(ctx, "dommemstat", uuid); err != nil && !strings.Contains(err.Error(), "not found") && !strings.Contains(err.Error(), "not running") {
			return fmt.Errorf("libvirtd does not take up its VM: %w", err)
		}
	}
	return nil
}

// awaitDaemon waits until the daemon answers a call to its QEMU driver, which
// it does once all its drivers are up.
func (h *Host) awaitDaemon(ctx context.Context) error {
	accepts := func() bool {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", h.Socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	err := poll(ctx, accepts)
	if err == nil {
		_, err = h.virsh(ctx, "pool-uuid", "default")
	}
	if err != nil {
		return fmt.Errorf("libvirtd does not answer: %w\n%s", err, tail(daemonLog(h.Dir), 4096))
	}
	return nil
}

// poll waits until done is true or ctx ends.
func poll(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// command prepares argv to run in all of the host's namespaces.
func (h *Host) command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := nsenter(ctx, h.pid, "-m", "-n", "-u", "-i", "-p")
	cmd.Args = append(cmd.Args, argv...)
	return cmd
}

// nsenter prepares a command in some namespaces of process pid; what to run is
// still to be appended.
func nsenter(ctx context.Context, pid int, namespaces ...string) *exec.Cmd {
	args := append([]string{"-t", strconv.Itoa(pid)}, namespaces...)
	return exec.CommandContext(ctx, "nsenter", append(args, "--")...)
}
