package testguest

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// modules are what the guest loads, in any order; a kernel that has one built
// in has no file for it.
var modules = []string{
	"virtio_pci", "virtio_blk", "virtio_net", "virtio_console", "virtio_rng", "virtio_balloon", "virtio_scsi",
	"sr_mod", "sd_mod", "isofs", "ata_piix", "ahci", "button", "evdev", "e1000", "e1000e", "af_packet",
}

// writeInitrd writes an uncompressed initramfs: the init, the modules and the
// order in which to load them.
func writeInitrd(to, initPath, moduleRoot string) error {
	files, err := findModules(moduleRoot)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(initPath)
	if err != nil {
		return err
	}
	var a archive
	a.directory("dev")
	a.device("dev/console", 5, 1)
	a.directory("modules")
	a.file("init", 0o755, program)
	var order []string
	load := loader{files: files, loaded: map[string]bool{}, each: func(name string, module []byte) {
		a.file("modules/"+name+".ko", 0o644, module)
		order = append(order, name+".ko")
	}}
	for _, m := range modules {
		if err := load.module(m); err != nil {
			return err
		}
	}
	a.file("modules/order", 0o644, []byte(strings.Join(order, "\n")))
	return os.WriteFile(to, a.close(), 0o644)
}

// findModules maps module names to files. A name has underscores where its file
// may have dashes.
func findModules(root string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		name, _, isModule := strings.Cut(filepath.Base(path), ".ko")
		if err == nil && isModule {
			files[strings.ReplaceAll(name, "-", "_")] = path
		}
		return err
	})
	return files, err
}

// loader visits modules, each once and after those that it depends on.
type loader struct {
	files  map[string]string
	loaded map[string]bool
	each   func(name string, module []byte)
}

func (l loader) module(name string) error {
	name = strings.ReplaceAll(name, "-", "_")
	path, ok := l.files[name]
	if l.loaded[name] || !ok {
		return nil
	}
	l.loaded[name] = true
	module, err := readModule(path)
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	depends, err := dependencies(module)
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	for _, d := range depends {
		if err := l.module(d); err != nil {
			return err
		}
	}
	l.each(name, module)
	return nil
}

// readModule reads a module file, which newer distributions compress.
func readModule(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, d := range decompressors {
		if bytes.HasPrefix(b, d.magic) {
			return d.expand(b), nil
		}
	}
	return b, nil
}

// dependencies reads the "depends" line of a module's information section.
func dependencies(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no .modinfo section")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for _, line := range bytes.Split(info, []byte{0}) {
		if names, ok := bytes.CutPrefix(line, []byte("depends=")); ok && len(names) > 0 {
			return strings.Split(string(names), ","), nil
		}
	}
	return nil, nil
}
