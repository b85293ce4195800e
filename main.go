// Command terraform-provider-muster is the Terraform provider "muster".
// Without an argument it is the plugin server that Terraform starts.
package main

import (
	"context"
	"os"

	"github.com/musterlab/terraform-provider-muster/internal/cli"
)

// version is set by the linker at release.
var version = "dev"

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], version, os.Stdout, os.Stderr))
}
