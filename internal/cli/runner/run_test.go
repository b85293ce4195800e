package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/musterlab/terraform-provider-muster/internal/presence"
	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// TestMain is also the program run, and the child that it runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "as-run":
			os.Exit(asRun(os.Args[2:]))
		case "as-child":
			os.Exit(asChild())
		}
	}
	os.Exit(m.Run())
}

func asRun(args []string) int {
	o := Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	for args[0] != "--" {
		name, value, _ := strings.Cut(args[0], "=")
		switch name {
		case "deadline":
			o.Deadline, _ = time.ParseDuration(value)
		case "receipts":
			o.Receipts = value
		}
		args = args[1:]
	}
	o.Command = args[1:]
	code, err := Run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
	}
	return code
}

// asChild says what Terraform says, and works as a provider does. Of two
// operations the second is left without an end.
func asChild() int {
	rec := progress.NewRecorder(progress.Config{
		Process: presence.Here(), Sinks: []progress.Sink{progress.ToSocket(os.Getenv(progress.SocketEnv))},
	})
	ctx := progress.With(context.Background(), rec)
	fmt.Println("muster_image.base: Creating...")
	fmt.Fprintln(os.Stderr, "a warning")
	_, image := progress.Begin(ctx, progress.Subject{Kind: "create", Type: "muster_image", Name: "debian"}, progress.Limit(progress.Timeout, time.Minute))
	image.StepOf("upload", 100, "B")
	image.Advance(50, 0)
	<-time.After(1500 * time.Millisecond)
	image.Advance(100, 0)
	image.End(store.Done, "")
	fmt.Println("muster_image.base: Creation complete after 1s [id=x]")
	_, vm := progress.Begin(ctx, progress.Subject{Kind: "destroy", Type: "muster_node_vm", Name: "node-a"})
	vm.Step("stop")
	fmt.Print("half a line")
	return 3
}

func self(args ...string) *exec.Cmd { return exec.Command(os.Args[0], args...) }

func TestRun_piped(t *testing.T) {
	receipts := filepath.Join(t.TempDir(), "receipts.jsonl")
	cmd := self("as-run", "receipts="+receipts, "--", os.Args[0], "as-child")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 3 {
		t.Errorf("the child's exit code 3 became %v", err)
	}
	want := "muster_image.base: Creating...\nmuster_image.base: Creation complete after 1s [id=x]\nhalf a line"
	if stdout.String() != want {
		t.Errorf("the child's output is not what it was: %q", stdout.String())
	}
	for _, want := range []string{
		`(?m)^a warning$`,
		`(?m)^muster: muster_image.base \(create\): upload (0|50|100) B of 100 B.* \[\ds of at most 1m\]$`,
		`(?m)^muster: muster_image.base \(create\): done after \ds$`,
		`(?m)^muster: muster_node_vm "node-a" \(destroy\): cut short after 0s, in the step stop$`,
		`(?m)^WHAT +TOOK +ENDED +STEPS\nmuster_image.base \(create\) +\ds +done +upload \ds\nmuster_node_vm "node-a" \(destroy\) +0s +cut short +stop 0s$`,
	} {
		if !regexp.MustCompile(want).Match(stderr.Bytes()) {
			t.Errorf("no %s in\n%s", want, stderr.String())
		}
	}
	all, err := progress.ReadFile(receipts)
	if err != nil || len(all) != 2 || all[0].Address != "muster_image.base" || all[0].Outcome != store.Done || all[1].Outcome != "" {
		t.Errorf("receipts: %+v, %v", all, err)
	}
}

func TestRun_exits(t *testing.T) {
	for _, c := range []struct {
		script string
		want   int
	}{{"exit 0", 0}, {"exit 7", 7}, {"kill -TERM $$", 143}, {"cat >/dev/null; exit 5", 5}} {
		cmd := self("as-run", "--", "sh", "-c", c.script)
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != c.want {
			t.Errorf("%s: %d, want %d", c.script, got, c.want)
		}
	}
	out, _ := self("as-run", "--", "/nonexistent/program").CombinedOutput()
	if !strings.Contains(string(out), "no such file") {
		t.Errorf("a program that is not there: %s", out)
	}
	// A grandchild that holds the output open does not hold up the end.
	began := time.Now()
	if out, err := self("as-run", "--", "sh", "-c", "sleep 30 & echo ended").CombinedOutput(); err != nil || string(out) != "ended\n" || time.Since(began) > 20*time.Second {
		t.Errorf("%q, %v after %s", out, err, time.Since(began))
	}
}

// terminal is a run on a terminal of its own.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	seen strings.Builder
}

func onTerminal(t *testing.T, dir string, args ...string) *terminal {
	t.Helper()
	term := &terminal{t: t, cmd: self(append([]string{"as-run"}, args...)...)}
	term.cmd.Dir = dir
	var err error
	if term.tty, err = pty.StartWithSize(term.cmd, &pty.Winsize{Rows: 40, Cols: 133}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill()
		_ = term.tty.Close()
	})
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := term.tty.Read(buf)
			term.mu.Lock()
			term.seen.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.seen.String()
}

func (term *terminal) await(text string) {
	term.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !strings.Contains(term.text(), text); {
		if time.Now().After(deadline) {
			term.t.Fatalf("no %q on the terminal:\n%s", text, term.text())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (term *terminal) send(text string) {
	term.t.Helper()
	if _, err := io.WriteString(term.tty, text); err != nil {
		term.t.Fatal(err)
	}
}

func (term *terminal) exit() int {
	_ = term.cmd.Wait()
	return term.cmd.ProcessState.ExitCode()
}

func TestRun_onATerminal(t *testing.T) {
	script := `stty size; printf 'Enter a value: '; read answer; echo "got $answer"; sleep 1; stty size; test -t 0 && test -t 1 && test -t 2 && exit 9`
	term := onTerminal(t, t.TempDir(), "--", "sh", "-c", script)
	term.await("40 133")
	term.await("Enter a value: ") // at once, without a newline
	term.send("yes\r")
	term.await("got yes")
	if err := pty.Setsize(term.tty, &pty.Winsize{Rows: 20, Cols: 77}); err != nil {
		t.Fatal(err)
	}
	term.await("20 77")
	if code := term.exit(); code != 9 {
		t.Errorf("exit code %d\n%s", code, term.text())
	}
}

func TestRun_drawsBars(t *testing.T) {
	term := onTerminal(t, t.TempDir(), "--", os.Args[0], "as-child")
	if code := term.exit(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	term.await("WHAT")
	for _, want := range []string{
		"\x1b[J[==========          ] muster_image.base (create): upload 50 B of 100 B",
		"\r\n\x1b[1A",
		"half a line\r\n\r\nWHAT",
	} {
		if !strings.Contains(term.text(), want) {
			t.Errorf("no %q in\n%q", want, term.text())
		}
	}
}

const sleeper = `
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "echo asleep; sleep 120"
  }
}
resource "terraform_data" "quick" {}
`

// configured returns a folder in which terraform can be applied.
func configured(t *testing.T) string {
	t.Helper()
	t.Setenv("TF_CLI_CONFIG_FILE", "/dev/null")
	t.Setenv("CHECKPOINT_DISABLE", "1")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(sleeper), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("terraform", "init", "-input=false")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// interruptedOnce checks that Terraform got one SIGINT and no second: it would
// give up at once and lose what it had made.
func interruptedOnce(t *testing.T, dir, output string, code int) {
	t.Helper()
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	if n := strings.Count(output, "Interrupt received"); n != 1 || strings.Contains(output, "Two interrupts received") {
		t.Errorf("%d interrupts:\n%s", n, output)
	}
	state, err := os.ReadFile(filepath.Join(dir, "terraform.tfstate"))
	if err != nil || !strings.Contains(string(state), `"quick"`) {
		t.Errorf("what was made is not in the state: %s, %v", state, err)
	}
}

func TestRun_ctrlC(t *testing.T) {
	dir := configured(t)
	term := onTerminal(t, dir, "--", "terraform", "apply", "-no-color")
	term.await("Enter a value:")
	term.send("yes\r")
	term.await("(local-exec): asleep")
	term.send("\x03")
	code := term.exit()
	interruptedOnce(t, dir, term.text(), code)
}

func TestRun_signalsPiped(t *testing.T) {
	for _, c := range []struct {
		behaviour string
		options   []string
		signals   []os.Signal
	}{
		{"an interrupt", nil, []os.Signal{os.Interrupt}},
		{"a CI that sends one signal after the other", nil, []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}},
		{"a termination", nil, []os.Signal{syscall.SIGTERM, syscall.SIGTERM}},
		{"the deadline", []string{"deadline=4s"}, nil},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			dir := configured(t)
			cmd := self(append(append([]string{"as-run"}, c.options...), "--", "terraform", "apply", "-auto-approve", "-no-color")...)
			cmd.Dir = dir
			out := &syncBuffer{}
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(60 * time.Second); !strings.Contains(out.String(), "asleep\n"); {
				if time.Now().After(deadline) {
					t.Fatal(out.String())
				}
				time.Sleep(10 * time.Millisecond)
			}
			for _, s := range c.signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			interruptedOnce(t, dir, out.String(), cmd.ProcessState.ExitCode())
		})
	}
}

// syncBuffer is a buffer that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
