package testguest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tools is an unpacked SYSLINUX with the mtools that it runs.
type tools struct{ root string }

func fetchTools(ctx context.Context, dir string) (tools, error) {
	root, err := fetchOnce(dir, "tools", func(into string) error { return fetch(ctx, into, "syslinux", "mtools") })
	return tools{root}, err
}

// diskSlack is what the disk has beyond kernel and initramfs: the boot loader
// and the file system's own tables.
const diskSlack = 2 << 20

const syslinuxConfig = `SERIAL 0 115200
DEFAULT guest
PROMPT 0
TIMEOUT 0
LABEL guest
  LINUX vmlinuz
  INITRD initrd.img
  APPEND %s
`

// writeImage writes a raw disk that is one FAT file system without a partition
// table, whose boot sector is SYSLINUX's: the least that a BIOS boots.
func (t tools) writeImage(ctx context.Context, f Files) error {
	size := int64(diskSlack)
	for _, part := range []string{f.Bzimage, f.Initrd} {
		info, err := os.Stat(part)
		if err != nil {
			return err
		}
		size += info.Size()
	}
	size = (size + 1<<20 - 1) &^ (1<<20 - 1)
	config := filepath.Join(filepath.Dir(f.Image), "syslinux.cfg")
	if err := os.WriteFile(config, fmt.Appendf(nil, syslinuxConfig, Cmdline), 0o644); err != nil {
		return err
	}
	defer os.Remove(config)
	if err := os.WriteFile(f.Image, nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(f.Image, size); err != nil {
		return err
	}
	steps := [][]string{
		{"mformat", "-i", f.Image, "-T", fmt.Sprint(size / 512), "-h", "255", "-s", "63", "-v", "GUEST", "::"},
		{"mcopy", "-i", f.Image, f.Bzimage, "::vmlinuz"},
		{"mcopy", "-i", f.Image, f.Initrd, config, "::"},
		{"syslinux", "--install", f.Image},
	}
	for _, s := range steps {
		if err := t.run(ctx, s...); err != nil {
			return err
		}
	}
	return nil
}

// run runs one of the unpacked programs.
func (t tools) run(ctx context.Context, argv ...string) error {
	bin := filepath.Join(t.root, "usr", "bin")
	cmd := exec.CommandContext(ctx, filepath.Join(bin, argv[0]), argv[1:]...)
	path := strings.Join([]string{bin, os.Getenv("PATH")}, string(os.PathListSeparator))
	cmd.Env = append(os.Environ(), "PATH="+path, "MTOOLS_SKIP_CHECK=1", "MTOOLSRC=/dev/null")
	_, err := output(cmd)
	return err
}
