package tfcli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// commandLimit bounds one command; [CLI.Limit] changes it.
const commandLimit = 10 * time.Minute

// CLI is a root module in a folder of its own, with the terraform that runs in
// it. Only one command may run at a time.
type CLI struct {
	Dir   string        // the root module's folder
	Limit time.Duration // of one command: it is killed, and the test fails

	tb        testing.TB
	terraform string
	env       []string
}

// Requirements is the block that every configuration needs; [New] and
// [CLI.Configure] put it in front.
const Requirements = `
terraform {
  required_providers {
    muster = {
      source = "musterlab/muster"
    }
  }
}
`

// New makes a root module with that configuration. env are further variables
// as "NAME=value"; of this process's own environment nothing that steers
// Terraform, the provider or libvirt is passed on.
func New(tb testing.TB, config string, env ...string) *CLI {
	tb.Helper()
	dir, err := provider()
	if err != nil {
		tb.Fatal(err)
	}
	c := &CLI{Dir: tb.TempDir(), Limit: commandLimit, tb: tb}
	if c.terraform, err = exec.LookPath("terraform"); err != nil {
		tb.Fatalf("terraform is not installed: %v", err)
	}
	rc := filepath.Join(tb.TempDir(), "cli.tfrc")
	c.write(rc, fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", "musterlab/muster", dir))
	c.env = append(inherited(os.Environ()),
		"TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_DATA_DIR="+filepath.Join(filepath.Dir(rc), "data"))
	c.env = append(c.env, env...)
	c.Configure(config)
	return c
}

// Configure replaces the configuration.
func (c *CLI) Configure(config string) {
	c.tb.Helper()
	c.write(filepath.Join(c.Dir, "main.tf"), Requirements+config)
}

func (c *CLI) write(file, text string) {
	c.tb.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.tb.Fatal(err)
	}
}

// inherited drops the variables that would steer a command.
func inherited(environ []string) []string {
	var out []string
	for _, kv := range environ {
		switch {
		case strings.HasPrefix(kv, "TF_"), strings.HasPrefix(kv, "MUSTER_"), strings.HasPrefix(kv, "LIBVIRT_"), strings.HasPrefix(kv, "GOGC="):
		default:
			out = append(out, kv)
		}
	}
	return out
}

// Plan runs a plan. Its exit code is 0 for no changes, 1 for an error, 2 for
// changes.
func (c *CLI) Plan(args ...string) *Result {
	c.tb.Helper()
	return c.Run(append([]string{"plan", "-input=false", "-no-color", "-detailed-exitcode"}, args...)...)
}

// Apply plans and applies without asking.
func (c *CLI) Apply(args ...string) *Result {
	c.tb.Helper()
	return c.Run(append([]string{"apply", "-input=false", "-no-color", "-auto-approve"}, args...)...)
}

// Destroy destroys everything without asking.
func (c *CLI) Destroy(args ...string) *Result {
	c.tb.Helper()
	return c.Run(append([]string{"destroy", "-input=false", "-no-color", "-auto-approve"}, args...)...)
}

// Run runs any command to its end. Only a command that cannot be started, or
// does not end within the limit, fails the test.
func (c *CLI) Run(args ...string) *Result {
	c.tb.Helper()
	return c.Start(args...).Wait()
}
