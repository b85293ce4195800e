package testguest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterlab/terraform-provider-muster/internal/testguest/testcache"
)

// Cmdline is the kernel command line for a direct boot of the guest.
const Cmdline = "console=ttyS0 panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable random.trust_cpu=on raid=noautodetect quiet"

// Files are the guest's parts, absolute paths.
type Files struct {
	Vmlinux    string // uncompressed kernel: boots faster where CPUs are emulated
	Bzimage    string // the same kernel as a BIOS boot loader wants it
	Initrd     string
	Image      string // raw disk that boots under a BIOS; a few MiB larger than its contents
	ImageQCOW2 string // the same disk, compressed qcow2
}

const initPackage = "github.com/musterlab/terraform-provider-muster/internal/testguest/init"

// keepBuilds is how long a build that is no longer used stays in the cache.
const keepBuilds = 7 * 24 * time.Hour

// Build returns the guest's files, made or taken from the cache. The first time
// it downloads a kernel and a boot loader with apt-get; later it compiles the
// init, which Go's own cache makes quick, and makes the rest anew only when
// that changed. Several processes may build at once. The current folder must be
// inside this module.
func Build(ctx context.Context) (Files, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return Files{}, fmt.Errorf("testguest: there is no guest for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	dir, err := testcache.Dir("guest")
	if err != nil {
		return Files{}, err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return Files{}, fmt.Errorf("testguest: %w", err)
	}
	defer unlock()
	f, err := build(ctx, dir)
	if err != nil {
		return Files{}, fmt.Errorf("testguest: %w", err)
	}
	return f, nil
}

func build(ctx context.Context, dir string) (Files, error) {
	kernel, err := fetchKernel(ctx, dir)
	if err != nil {
		return Files{}, err
	}
	tools, err := fetchTools(ctx, dir)
	if err != nil {
		return Files{}, err
	}
	work, err := os.MkdirTemp(dir, "tmp-")
	if err != nil {
		return Files{}, err
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil {
		return Files{}, err
	}
	initPath := filepath.Join(work, "init")
	if err := compileInit(ctx, initPath); err != nil {
		return Files{}, err
	}
	key, err := contentKey(kernel.release, initPath)
	if err != nil {
		return Files{}, err
	}
	final := filepath.Join(dir, "build-"+key)
	files := kernel.files(final)
	if _, err := os.Stat(final); err == nil {
		now := time.Now()
		return files, os.Chtimes(final, now, now)
	}
	if err := makeParts(ctx, kernel, tools, initPath, kernel.files(work)); err != nil {
		return Files{}, err
	}
	prune(dir)
	return files, os.Rename(work, final)
}

func makeParts(ctx context.Context, k kernel, t tools, initPath string, out Files) error {
	if err := writeInitrd(out.Initrd, initPath, k.moduleRoot); err != nil {
		return err
	}
	if err := os.Remove(initPath); err != nil {
		return err
	}
	if err := t.writeImage(ctx, out); err != nil {
		return err
	}
	return run(ctx, "qemu-img", "convert", "-c", "-O", "qcow2", out.Image, out.ImageQCOW2)
}

// compileInit builds the guest's only program, statically.
func compileInit(ctx context.Context, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, initPackage)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile init: %w: %s", err, text)
	}
	return nil
}

// buildVersion is part of the key: it changes when this package makes something
// else of the same kernel and init.
const buildVersion = "1"

func contentKey(release, initPath string) (string, error) {
	f, err := os.Open(initPath)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	fmt.Fprintln(sum, buildVersion, release, modules, Cmdline)
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// Install copies the guest's files into a folder, for a QEMU that runs as a
// user to whom the cache is closed.
func (f Files) Install(dir string) (Files, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Files{}, err
	}
	for _, p := range []*string{&f.Vmlinux, &f.Bzimage, &f.Initrd, &f.Image, &f.ImageQCOW2} {
		to := filepath.Join(dir, filepath.Base(*p))
		if err := copyFile(to, *p); err != nil {
			return Files{}, fmt.Errorf("testguest: %w", err)
		}
		*p = to
	}
	return f, nil
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// lock waits for the file's lock; the returned function lets it go.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
	}
}

// prune removes builds that nobody asked for lately. What cannot be removed
// stays.
func prune(dir string) {
	builds, _ := filepath.Glob(filepath.Join(dir, "build-*"))
	for _, b := range builds {
		if info, err := os.Stat(b); err == nil && time.Since(info.ModTime()) > keepBuilds {
			_ = os.RemoveAll(b)
		}
	}
}

// run runs a command and puts what it said into its error.
func run(ctx context.Context, name string, args ...string) error {
	_, err := output(exec.CommandContext(ctx, name, args...))
	return err
}

func output(cmd *exec.Cmd) (string, error) {
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, text)
	}
	return string(text), nil
}
