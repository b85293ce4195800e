package testguest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// fetch downloads packages of the machine's own distribution and unpacks them
// into dir without installing anything. apt-get checks their signatures.
func fetch(ctx context.Context, dir string, packages ...string) error {
	debs, err := os.MkdirTemp(filepath.Dir(dir), "tmp-debs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(debs)
	// As root apt-get would download as a user to whom the cache is closed.
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"download", "-qq", "-o", "APT::Sandbox::User=root"}, packages...)...)
	cmd.Dir = debs
	if _, err := output(cmd); err != nil {
		return fmt.Errorf("download %s (is apt-get update due?): %w", strings.Join(packages, ", "), err)
	}
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil || len(files) != len(packages) {
		return errors.Join(err, fmt.Errorf("download %s: %d packages came", strings.Join(packages, ", "), len(files)))
	}
	for _, f := range files {
		if err := run(ctx, "dpkg-deb", "-x", f, dir); err != nil {
			return err
		}
	}
	return nil
}

// fetchOnce fetches into dir/name unless that is there, and never leaves half
// of it.
func fetchOnce(dir, name string, fill func(into string) error) (string, error) {
	final := filepath.Join(dir, name)
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	work, err := os.MkdirTemp(dir, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil {
		return "", err
	}
	if err := fill(work); err != nil {
		return "", err
	}
	return final, os.Rename(work, final)
}

// kernelPackages are the meta packages of small kernels for virtual machines,
// Debian's and Ubuntu's.
var kernelPackages = []string{"linux-image-cloud-amd64", "linux-image-virtual"}

var kernelPackage = regexp.MustCompile(`Depends: (linux-image-([0-9]\S+))`)

// findKernelPackage returns the newest kernel's package and its release.
func findKernelPackage(ctx context.Context) (name, release string, err error) {
	for _, meta := range kernelPackages {
		text, err := output(exec.CommandContext(ctx, "apt-cache", "depends", meta))
		if m := kernelPackage.FindStringSubmatch(text); err == nil && m != nil {
			return m[1], m[2], nil
		}
	}
	return "", "", fmt.Errorf("no kernel package: apt-cache knows none of %s (is apt-get update due?)", strings.Join(kernelPackages, ", "))
}

// unpackKernel fetches a kernel with its modules, which Ubuntu ships apart.
func unpackKernel(ctx context.Context, into string) error {
	name, release, err := findKernelPackage(ctx)
	if err != nil {
		return err
	}
	packages := []string{name}
	if modules := "linux-modules-" + release; run(ctx, "apt-cache", "show", modules) == nil {
		packages = append(packages, modules)
	}
	if err := fetch(ctx, into, packages...); err != nil {
		return err
	}
	vmlinuz := filepath.Join(into, "boot", "vmlinuz-"+release)
	if err := extractVmlinux(filepath.Join(into, "vmlinux"), vmlinuz); err != nil {
		return err
	}
	return os.Symlink(filepath.Join("boot", "vmlinuz-"+release), filepath.Join(into, "vmlinuz"))
}

// kernel is an unpacked kernel.
type kernel struct {
	release    string
	moduleRoot string
	vmlinux    string
	bzimage    string
}

// fetchKernel returns the cached kernel; removing the cache brings a newer one.
func fetchKernel(ctx context.Context, dir string) (kernel, error) {
	root, err := fetchOnce(dir, "kernel", func(into string) error { return unpackKernel(ctx, into) })
	if err != nil {
		return kernel{}, err
	}
	bzimage, err := filepath.EvalSymlinks(filepath.Join(root, "vmlinuz"))
	if err != nil {
		return kernel{}, err
	}
	release := strings.TrimPrefix(filepath.Base(bzimage), "vmlinuz-")
	return kernel{release: release, moduleRoot: root, vmlinux: filepath.Join(root, "vmlinux"), bzimage: bzimage}, nil
}

func (k kernel) files(dir string) Files {
	return Files{
		Vmlinux: k.vmlinux, Bzimage: k.bzimage,
		Initrd:     filepath.Join(dir, "initrd.img"),
		Image:      filepath.Join(dir, "guest.raw"),
		ImageQCOW2: filepath.Join(dir, "guest.qcow2"),
	}
}
