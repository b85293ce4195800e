// Labhost runs a private libvirt host that outlives the command, for the demo
// and for trying things by hand.
//
//	labhost up DIR              start it, or find it running; prints its URI
//	labhost down DIR            end everything on it and remove the folder
//	labhost exec DIR COMMAND    run a command in its namespaces
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "labhost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: labhost up DIR | down DIR | exec DIR COMMAND [ARGUMENT]")
	}
	dir, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	switch args[0] {
	case "up":
		return up(ctx, dir)
	case "down":
		return libvirttest.Down(ctx, dir)
	case "exec":
		return execute(dir, args[2:])
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func up(ctx context.Context, dir string) error {
	h, err := libvirttest.Attach(dir)
	if err != nil {
		// Perhaps the remains of one that a reboot ended.
		if err := libvirttest.Down(ctx, dir); err != nil {
			return err
		}
		h, err = libvirttest.Launch(ctx, dir, libvirttest.Detached(), libvirttest.WithName("labhost"))
		if err != nil {
			return err
		}
	}
	fmt.Println(h.URI())
	return nil
}

func execute(dir string, command []string) error {
	if len(command) == 0 {
		return errors.New("exec wants a command")
	}
	h, err := libvirttest.Attach(dir)
	if err != nil {
		return err
	}
	out, err := h.Exec(command...)
	if out != "" {
		fmt.Println(out)
	}
	return err
}
