package libvirttest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"golang.org/x/sys/unix"
)

// mountAll gives this mount namespace the host's own view of the machine.
func mountAll(task keeperTask) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// The machine's own /sys shows its network namespace's interfaces and its
	// control groups; libvirt must see neither.
	if err := unix.Unmount("/sys", unix.MNT_DETACH); err != nil && err != unix.EINVAL {
		return fmt.Errorf("unmount /sys: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	binds := [][2]string{
		{"etc", "/etc/libvirt"},
		{"lib", "/var/lib/libvirt"},
		{"log", "/var/log/libvirt"},
		{"run", "/run/libvirt"},
		{"swtpm/ca", "/var/lib/swtpm-localca"},
		{"swtpm/log", "/var/log/swtpm"},
		{"hosts", "/etc/hosts"},
		{"passwd", "/etc/passwd"},
		{"group", "/etc/group"},
		{"shadow", "/etc/shadow"},
	}
	for _, b := range binds {
		if err := bind(filepath.Join(task.Dir, b[0]), b[1]); err != nil {
			return err
		}
	}
	if err := bind(task.Cache, "/var/cache/libvirt"); err != nil {
		return err
	}
	return mountKVM(task)
}

// What may stand for /dev/kvm.
const (
	kvmForAll = "for all" // one that every user may open
	kvmHidden = "hidden"  // none
)

// mountKVM replaces /dev/kvm, where the machine has it. A device that cannot be
// opened to all is hidden: libvirt would offer KVM and QEMU could not use it.
func mountKVM(task keeperTask) error {
	info, err := os.Stat("/dev/kvm")
	if err != nil || task.KVM == "" {
		return nil //nolint:nilerr // no device, nothing to replace
	}
	if task.KVM == kvmForAll {
		// The host's folder may lie on a file system that knows no devices.
		devices := filepath.Join(task.Dir, "dev")
		if err := os.Mkdir(devices, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", devices, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount %s: %w", devices, err)
		}
		node := filepath.Join(devices, "kvm")
		device := int(info.Sys().(*syscall.Stat_t).Rdev)
		if unix.Mknod(node, unix.S_IFCHR|0o666, device) == nil && os.Chmod(node, 0o666) == nil {
			return bind(node, "/dev/kvm")
		}
	}
	// A file that even root cannot write: to libvirt that is no KVM.
	if err := bind(filepath.Join(task.Dir, "hosts"), "/dev/kvm"); err != nil {
		return err
	}
	return unix.Mount("", "/dev/kvm", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// kvmWorks says whether /dev/kvm is worth using. A kernel module that stands in
// for the processor's extensions offers it as well: libvirt believes it, and a
// guest's kernel is then slower than with QEMU's own emulation, or never boots.
func kvmWorks() bool {
	switch os.Getenv("MUSTER_TEST_ACCEL") {
	case "kvm":
		return true
	case "tcg":
		return false
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && extensionFlag.Match(info)
}

var extensionFlag = regexp.MustCompile(`(?m)^flags\s*:.*\b(vmx|svm)\b`)

func bind(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", target, err)
	}
	return nil
}
