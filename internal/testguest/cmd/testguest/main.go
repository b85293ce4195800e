// Testguest builds the test guest and prints where its files are, one
// NAME=PATH a line. With a folder as its argument it copies them there.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/musterlab/terraform-provider-muster/internal/testguest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	files, err := testguest.Build(ctx)
	if err == nil && len(args) > 0 {
		files, err = files.Install(args[0])
	}
	if err != nil {
		return err
	}
	fmt.Printf("VMLINUX=%s\nBZIMAGE=%s\nINITRD=%s\nIMAGE=%s\nIMAGE_QCOW2=%s\n",
		files.Vmlinux, files.Bzimage, files.Initrd, files.Image, files.ImageQCOW2)
	return nil
}
