package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/musterlab/terraform-provider-muster/internal/provider"
)

// Exit codes.
const (
	exitOK    = 0
	exitFault = 1
	exitUsage = 2
)

// pluginCookie is set by Terraform and OpenTofu for the plugins they start
// (the handshake of hashicorp/go-plugin).
const pluginCookie = "TF_PLUGIN_MAGIC_COOKIE"

const usage = `terraform-provider-muster %s

This program is a provider for Terraform and OpenTofu, which start it
themselves. Configuration:

  terraform {
    required_providers {
      muster = { source = "musterlab/muster" }
    }
  }

Usage:
  terraform-provider-muster run -- terraform apply ...
                                       run a command, show the progress of what it starts
  terraform-provider-muster watch      show the progress of every running operation
  terraform-provider-muster receipts   list what ran, how far it got and how it ended
  terraform-provider-muster            serve the plugin protocol (started by terraform)
  terraform-provider-muster -debug     serve and print TF_REATTACH_PROVIDERS, for debuggers
  terraform-provider-muster -version   print the version
  terraform-provider-muster -help      print this text
`

// Run is the process: it returns the exit code.
func Run(ctx context.Context, args []string, version string, stdout, stderr io.Writer) int {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	if c, known := commands[command]; known {
		return c(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 1 {
		return misuse(stderr, version, args[1])
	}
	switch command {
	case "":
		if os.Getenv(pluginCookie) == "" {
			fmt.Fprintf(stderr, usage, version)
			return exitUsage
		}
		return serve(ctx, version, false, stderr)
	case "-debug", "--debug":
		return serve(ctx, version, true, stderr)
	case "-version", "--version", "version":
		fmt.Fprintf(stdout, "terraform-provider-muster %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return exitOK
	case "-h", "-help", "--help", "help":
		fmt.Fprintf(stdout, usage, version)
		return exitOK
	default:
		return misuse(stderr, version, command)
	}
}

func misuse(stderr io.Writer, version, arg string) int {
	fmt.Fprintf(stderr, "unknown argument %q\n\n", arg)
	fmt.Fprintf(stderr, usage, version)
	return exitUsage
}

func serve(ctx context.Context, version string, debug bool, stderr io.Writer) int {
	tune()
	if err := provider.Serve(ctx, version, debug); err != nil {
		fmt.Fprintln(stderr, "serve the plugin protocol:", err)
		return exitFault
	}
	return exitOK
}
