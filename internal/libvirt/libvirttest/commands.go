package libvirttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// commandLimit bounds each command that runs on a host.
const commandLimit = 2 * time.Minute

// URI returns the libvirt URI of the host's QEMU driver.
func (h *Host) URI() string { return "qemu+unix:///system?socket=" + h.Socket }

// TestURI returns the URI of the test driver in the same daemon. libvirt
// forgets what was defined there when the last connection closes, so from the
// first call on the host keeps one open.
func (h *Host) TestURI() string {
	h.helper()
	h.must(h.holder.open(h.virshTestURI()))
	return "test:///default?socket=" + h.Socket
}

// virshTestURI is the same for virsh, which without a transport in the scheme
// would start a test driver of its own.
func (h *Host) virshTestURI() string { return "test+unix:///default?socket=" + h.Socket }

// Virsh runs virsh on the QEMU driver and returns its output without white
// space around it; an error fails the test.
func (h *Host) Virsh(args ...string) string {
	h.helper()
	out, err := h.TryVirsh(args...)
	h.must(err)
	return out
}

// TryVirsh is Virsh for commands that may fail; the error carries their output.
func (h *Host) TryVirsh(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	return h.virsh(ctx, args...)
}

func (h *Host) virsh(ctx context.Context, args ...string) (string, error) {
	return run(exec.CommandContext(ctx, "virsh", append([]string{"-q", "-c", h.URI()}, args...)...))
}

// VirshTest runs virsh on the test driver.
func (h *Host) VirshTest(args ...string) string {
	h.helper()
	h.TestURI()
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	out, err := run(exec.CommandContext(ctx, "virsh", append([]string{"-q", "-c", h.virshTestURI()}, args...)...))
	h.must(err)
	return out
}

// Exec runs a command in all of the host's namespaces and returns what it
// wrote to its standard output.
func (h *Host) Exec(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	return run(h.command(ctx, args...))
}

func run(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := strings.TrimSpace(stdout.String())
	if err != nil {
		return out, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()+" "+out))
	}
	return out, nil
}

// DomainType returns the fastest kind of domain that the host's QEMU can run:
// "kvm" where the machine has it, else "qemu", which is software emulation.
func (h *Host) DomainType() string {
	h.helper()
	if strings.Contains(h.Virsh("capabilities"), "<domain type='kvm'") {
		return "kvm"
	}
	return "qemu"
}

// testHolder keeps a connection to the test driver open: a virsh that waits for
// its first command.
type testHolder struct {
	mu    sync.Mutex
	stdin io.Closer
	cmd   *exec.Cmd
}

func (t *testHolder) open(uri string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cmd != nil {
		return nil
	}
	cmd := exec.Command("virsh", "-c", uri) //nolint:noctx // it ends with the host
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.cmd, t.stdin = cmd, stdin
	// Its answer proves that the connection is there before anybody relies on it.
	if _, err := io.WriteString(stdin, "echo held\n"); err != nil {
		return err
	}
	return readUntil(stdout, "held")
}

func readUntil(r io.Reader, mark string) error {
	var seen []byte
	for buf := make([]byte, 256); !bytes.Contains(seen, []byte(mark)); {
		n, err := r.Read(buf)
		if err != nil {
			return fmt.Errorf("virsh ended: %w: %s", err, seen)
		}
		seen = append(seen, buf[:n]...)
	}
	return nil
}

func (t *testHolder) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cmd != nil {
		_ = t.stdin.Close()
		_ = t.cmd.Process.Kill()
		_ = t.cmd.Wait()
		t.cmd = nil
	}
}

func (h *Host) helper() {
	if h.tb != nil {
		h.tb.Helper()
	}
}

// must ends the test on an error; a host that no test owns has nobody to tell
// but the caller's stack.
func (h *Host) must(err error) {
	if err == nil {
		return
	}
	if h.tb == nil {
		panic(err)
	}
	h.tb.Helper()
	h.tb.Fatal(err)
}
