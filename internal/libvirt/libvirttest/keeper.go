package libvirttest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// envKeeper turns this program into a keeper; its value is the keeper's task.
const envKeeper = "LIBVIRTTEST_KEEPER"

// keeperTask is what a keeper is told.
type keeperTask struct {
	Dir, Name string
	Listen    bool   // the daemon listens on its network ports
	Detached  bool   // the host outlives the process that started it
	Cache     string // becomes /var/cache/libvirt
	KVM       string // the device that stands for /dev/kvm; empty: the machine's own
}

// hideSystemBus is for libvirtd: with a system bus in sight it would register
// its VMs with the machine's own systemd.
const hideSystemBus = "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent"

// init makes any program that imports this package able to be its own keeper:
// no helper has to be built, found or kept in step.
func init() {
	if task := os.Getenv(envKeeper); task != "" {
		_ = os.Unsetenv(envKeeper) // the daemons and what they start are no keepers
		os.Exit(keep(task))
	}
}

// keep is the life of a keeper. It reports on descriptor 3: nothing when the
// daemons run, else the reason.
func keep(encoded string) int {
	report := os.NewFile(3, "report")
	unix.CloseOnExec(3)
	var task keeperTask
	err := json.Unmarshal([]byte(encoded), &task)
	if err == nil {
		err = bringUp(task)
	}
	if err != nil {
		fmt.Fprint(report, err)
		return 1
	}
	_ = report.Close()
	go reap()
	if task.Detached {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, unix.SIGTERM)
		<-ended
	} else {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends when the owner does
	}
	_ = unix.Kill(-1, unix.SIGKILL)
	_ = os.RemoveAll(task.Dir)
	return 0
}

// reap collects whatever was orphaned into this PID namespace. libvirt waits
// until a QEMU's PID is gone, so a lazy reaper makes every stop slow.
func reap() {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err == unix.ECHILD {
			<-children
		}
	}
}

func bringUp(task keeperTask) error {
	if err := mountAll(task); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(task.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	daemons := [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"virtlogd", "-d", "-f", filepath.Join(task.Dir, "virtlogd.conf"), "-p", filepath.Join(task.Dir, "virtlogd.pid")},
		daemonCommand(task.Dir, task.Listen),
	}
	for _, argv := range daemons {
		cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // each ends by itself
		cmd.Env = append(os.Environ(), hideSystemBus)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, out)
		}
	}
	return nil
}

func daemonCommand(dir string, listen bool) []string {
	argv := []string{"libvirtd", "-d", "-f", daemonConf(dir), "-p", daemonPIDFile(dir)}
	if listen {
		argv = append(argv, "--listen")
	}
	return argv
}

// keeperAttr puts the keeper into namespaces of its own and out of the
// terminal's process group: an interrupt is the owner's business.
func keeperAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		Setsid:     true,
	}
}
