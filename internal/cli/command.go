package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/musterlab/terraform-provider-muster/internal/cli/runner"
	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/store"
	"github.com/musterlab/terraform-provider-muster/internal/store/engine"
)

// command is one for people. It returns the exit code.
type command func(ctx context.Context, args []string, stdout, stderr io.Writer) int

var commands = map[string]command{
	"run":      runCommand,
	"watch":    watchCommand,
	"receipts": receiptsCommand,
}

// flags returns the flag set of a command, with its usage line.
func flags(name, usage string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintf(stderr, "usage: terraform-provider-muster %s\n", usage)
		fs.PrintDefaults()
	}
	return fs
}

// parse takes flags from anywhere among the arguments and returns the rest.
func parse(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}

// parseFailed is the exit code for what parse returned.
func parseFailed(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	return exitUsage
}

func failed(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "muster:", err)
	return exitFault
}

// openStore opens the store that people mean, which has to be there.
func openStore(ctx context.Context, location string) (*store.DB, error) {
	if location == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		if location = engine.Find(dir); location == "" {
			return nil, fault.New(fault.NotFound, "store: find", "", "neither %s nor a folder above has %s; "+
				"name the store with -store or %s", dir, engine.DefaultFile, engine.LocationEnv)
		}
	}
	return engine.Open(ctx, location, store.Existing)
}

const storeUsage = "`location` of the store: a file, or a postgres:// URL. Default: " + engine.LocationEnv + ", else " +
	engine.DefaultFile + " of this folder or the nearest above"

func runCommand(ctx context.Context, args []string, _, stderr io.Writer) int {
	fs := flags("run", "run [-deadline 55m] [-receipts FILE] -- COMMAND...", stderr)
	deadline := fs.Duration("deadline", 0, "interrupt the command after this `time`, so that it ends by itself before a CI ends it")
	receipts := fs.String("receipts", "", "append what the operations did to this `file`, as lines of JSON, at each step")
	if err := fs.Parse(args); err != nil {
		return parseFailed(err)
	}
	if fs.NArg() == 0 || *deadline < 0 {
		fs.Usage()
		return exitUsage
	}
	code, err := runner.Run(ctx, runner.Options{
		Command: fs.Args(), Deadline: *deadline, Receipts: *receipts,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(stderr, "muster:", err)
		if code == exitOK {
			return exitFault
		}
	}
	return code
}
