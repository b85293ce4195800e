package libvirttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keeperName is what a keeper is called in the process list.
const keeperName = "libvirttest-keeper"

// stopLimit is how long a keeper may take to end everything on its host.
const stopLimit = 20 * time.Second

// Attach returns the detached host that runs in dir.
func Attach(dir string) (*Host, error) {
	pid, err := runningKeeper(dir)
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		return nil, fmt.Errorf("no host runs in %s", dir)
	}
	addSystemPath()
	h := &Host{Dir: dir, Socket: socketPath(dir), pid: pid, conf: config{detached: true}}
	h.Name, err = h.Exec("hostname")
	return h, err
}

// Down ends a detached host and removes its folder. That it is down already is
// no error; a folder that never was a host's is.
func Down(ctx context.Context, dir string) error {
	pid, err := runningKeeper(dir)
	if err != nil {
		return err
	}
	if pid != 0 {
		if err := unix.Kill(pid, unix.SIGTERM); err != nil && err != unix.ESRCH {
			return fmt.Errorf("stop the host in %s: %w", dir, err)
		}
		ctx, cancel := context.WithTimeout(ctx, stopLimit)
		defer cancel()
		if err := poll(ctx, func() bool { return !isKeeper(pid, dir) }); err != nil {
			// Its end takes everything in its PID namespace with it.
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
				return fmt.Errorf("stop the host in %s: %w", dir, err)
			}
		}
	}
	return os.RemoveAll(dir)
}

// runningKeeper returns the process that keeps dir's host; zero if there is
// none any more.
func runningKeeper(dir string) (int, error) {
	b, err := os.ReadFile(keeperPIDFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			return 0, fmt.Errorf("%s is not the folder of a host", dir)
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || !isKeeper(pid, dir) {
		return 0, nil //nolint:nilerr // what is no number is no process
	}
	return pid, nil
}

// isKeeper guards against a process that was given the PID later.
func isKeeper(pid int, dir string) bool {
	argv, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && string(argv) == keeperName+"\x00"+dir+"\x00"
}
