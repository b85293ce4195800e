package tfcli

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a terraform that runs.
type Process struct {
	tb      testing.TB
	cmd     *exec.Cmd
	began   time.Time
	output  *output
	stdout  *output
	sampler *sampler
	limit   *time.Timer
	result  *Result
}

// Result is a command that has ended.
type Result struct {
	Args   []string
	Output string // what it wrote, errors included
	Stdout string // the same without what went to the standard error
	Code   int    // its exit code; -1 when a signal ended it
	Wall   time.Duration

	Terraform    Usage
	Provider     Usage // of all provider processes
	PeakTogether int64 // bytes that terraform and the providers held at one moment
}

// Start starts a command, for instance "apply", "-auto-approve".
func (c *CLI) Start(args ...string) *Process {
	c.tb.Helper()
	p := &Process{tb: c.tb, output: &output{}, stdout: &output{}}
	p.cmd = exec.Command(c.terraform, args...) //nolint:noctx // the limit kills its whole process group
	p.cmd.Dir, p.cmd.Env = c.Dir, c.env
	p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(p.output, p.stdout), p.output
	// A group of its own, as a shell gives it: a signal reaches the providers
	// as well, and never this process.
	p.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		c.tb.Fatalf("start terraform: %v", err)
	}
	p.sampler = sample(p.cmd.Process.Pid)
	p.limit = time.AfterFunc(c.Limit, func() {
		c.tb.Errorf("terraform %s did not end within %s; its output so far:\n%s", strings.Join(args, " "), c.Limit, p.output)
		p.signal(unix.SIGKILL)
	})
	c.tb.Cleanup(p.end)
	return p
}

// Interrupt sends one SIGINT to terraform and its providers, as one Ctrl-C at a
// terminal does.
func (p *Process) Interrupt() { p.signal(unix.SIGINT) }

// Kill ends terraform and its providers with SIGKILL.
func (p *Process) Kill() { p.signal(unix.SIGKILL) }

func (p *Process) signal(sig unix.Signal) {
	if err := unix.Kill(-p.cmd.Process.Pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		p.tb.Errorf("send %s to terraform: %v", sig, err)
	}
}

// Output returns what it has written so far.
func (p *Process) Output() string { return p.output.String() }

// Wait waits for the command to end. It may be called again.
func (p *Process) Wait() *Result {
	if p.result != nil {
		return p.result
	}
	r := &Result{Args: p.cmd.Args[1:]}
	own, children := p.sampler.finish()
	r.Wall = time.Since(p.began)
	err := p.cmd.Wait()
	p.limit.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.tb.Errorf("terraform %s: %v", strings.Join(r.Args, " "), err)
	}
	r.Code = p.cmd.ProcessState.ExitCode()
	r.Output, r.Stdout = p.output.String(), p.stdout.String()
	p.sampler.fill(r, own, children)
	p.result = r
	return r
}

// end kills what a test that gave up has left running.
func (p *Process) end() {
	if p.result == nil {
		p.signal(unix.SIGKILL)
		p.Wait()
	}
}

// OK fails the test unless the command ended with exit code 0.
func (r *Result) OK(tb testing.TB) *Result {
	tb.Helper()
	if r.Code != 0 {
		tb.Fatalf("terraform %s: exit code %d\n%s", strings.Join(r.Args, " "), r.Code, r.Output)
	}
	return r
}

// Says reports whether the output has that text, however the lines were
// wrapped.
func (r *Result) Says(text string) bool {
	return strings.Contains(unwrapped(r.Output), strings.Join(strings.Fields(text), " "))
}

// unwrapped takes the frame and the line breaks out of Terraform's diagnostics.
func unwrapped(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(s)), " ")
}

// output collects what is written by several at once.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
