package libvirttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
)

// A domain that is defined and never started.
const definition = `<domain type='qemu'><name>vm</name><uuid>5d1c6c5e-62f0-4c5a-9c1c-d7a6c8d4a001</uuid>
<memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os></domain>`

// throughProxy runs virsh through the proxy and returns its error.
func throughProxy(t *testing.T, p *Proxy, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	_, err := run(exec.CommandContext(ctx, "virsh", append([]string{"-q", "-c", p.URI()}, args...)...))
	return err
}

func killedBySIGKILL(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

func TestProxy_countsCalls(t *testing.T) {
	h := Start(t)
	p := NewProxy(t, h.Socket)
	if err := throughProxy(t, p, "domstats"); err != nil {
		t.Fatal(err)
	}
	if p.Counts()["ConnectGetAllDomainStats"] != 1 || p.Counts()["ConnectOpen"] != 1 {
		t.Errorf("counts: %v", p.Counts())
	}
	calls := p.Calls()
	if calls[len(calls)-1].Seq != len(calls) || calls[0].Conn != 1 || calls[0].Peer <= 1 {
		t.Errorf("calls: %v", calls)
	}
	p.Reset()
	if len(p.Calls()) != 0 || len(p.Counts()) != 0 {
		t.Errorf("after a reset: %v", p.Calls())
	}
}

// TestProxy_appliedOrNot defines a domain under each action and looks whether
// the daemon did it and what the client saw.
func TestProxy_appliedOrNot(t *testing.T) {
	h := Start(t)
	file := writeFile(t, definition)
	p := NewProxy(t, h.Socket)
	cases := []struct {
		name    string
		rule    Rule
		applied bool
		saw     string // part of the client's error; "" none, "killed" SIGKILL
	}{
		{"drop", Rule{Action: Drop}, false, "End of file"},
		{"lose reply", Rule{Action: LoseReply}, true, "End of file"},
		{"half call", Rule{Action: HalfCall}, false, "End of file"},
		{"half reply", Rule{Action: HalfReply}, true, "End of file"},
		{"delay", Rule{Action: Delay, Delay: 50 * time.Millisecond}, true, ""},
		{"kill peer", Rule{Action: KillPeer}, true, "killed"},
		{"kill peer before", Rule{Action: KillPeerBefore}, false, "killed"},
		{"error", Rule{Action: Error, Code: 38, Message: "No space left on device"}, false, "No space left on device"},
		{"second", Rule{Action: Drop, Nth: 2}, true, ""},
		{"another procedure", Rule{Proc: "NetworkDefineXML", Action: Drop}, true, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.rule.Proc == "" {
				c.rule.Proc = "DomainDefineXML"
			}
			p.SetRules(c.rule)
			err := throughProxy(t, p, "define", file)
			switch {
			case c.saw == "" && err != nil, c.saw != "" && err == nil:
				t.Errorf("client saw %v", err)
			case c.saw == "killed" && !killedBySIGKILL(err):
				t.Errorf("client was not killed: %v", err)
			case c.saw != "" && c.saw != "killed" && !strings.Contains(err.Error(), c.saw):
				t.Errorf("client saw %v", err)
			}
			_, err = h.TryVirsh("dominfo", "vm")
			if applied := err == nil; applied != c.applied {
				t.Errorf("applied: %v", applied)
			} else if applied {
				h.Virsh("undefine", "vm")
			}
		})
	}
}

func TestProxy_nthOverall(t *testing.T) {
	h := Start(t)
	p := NewProxy(t, h.Socket)
	if err := throughProxy(t, p, "domstats"); err != nil {
		t.Fatal(err)
	}
	all := len(p.Calls())
	for n := 1; n <= all+1; n++ {
		p.Reset()
		p.SetRules(Rule{Nth: n, Action: KillPeerBefore})
		err := throughProxy(t, p, "domstats")
		if n <= all && (!killedBySIGKILL(err) || len(p.Calls()) != n || p.Fired() != 1) {
			t.Errorf("kill at call %d: %v after %d calls", n, err, len(p.Calls()))
		}
		if n > all && (err != nil || p.Fired() != 0) {
			t.Errorf("no such call, and yet: %v", err)
		}
	}
}

func TestProxy_silenceKeepsTheConnection(t *testing.T) {
	h := Start(t)
	p := NewProxy(t, h.Socket, Rule{Proc: "ConnectGetAllDomainStats", Action: Silence})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "virsh", "-c", p.URI(), "domstats")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.Await(ctx, "ConnectGetAllDomainStats", 1); err != nil {
		t.Fatal(err)
	}
	if open, accepted := p.Connections(); open != 1 || accepted != 1 {
		t.Errorf("connections: %d open, %d accepted", open, accepted)
	}
	p.CutAll()
	if err := cmd.Wait(); err == nil {
		t.Error("the client succeeded without an answer")
	}
}

func TestProxy_hookRunsBeforeTheCall(t *testing.T) {
	h := Start(t)
	file := writeFile(t, definition)
	var before atomic.Bool
	p := NewProxy(t, h.Socket, Rule{Proc: "DomainDefineXML", Action: Hook, Func: func(c Call) {
		_, err := h.TryVirsh("dominfo", "vm")
		before.Store(err != nil && c.Proc == "DomainDefineXML")
	}})
	if err := throughProxy(t, p, "define", file); err != nil || !before.Load() {
		t.Errorf("hook ran before: %v; define: %v", before.Load(), err)
	}
}

// dial returns a go-libvirt client through the proxy.
func dial(t *testing.T, p *Proxy) *libvirt.Libvirt {
	t.Helper()
	l := libvirt.NewWithDialer(dialers.NewLocal(dialers.WithSocket(p.Socket)))
	if err := l.ConnectToURI(libvirt.QEMUSystem); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestProxy_errorHasItsCode(t *testing.T) {
	h := Start(t)
	p := NewProxy(t, h.Socket, Rule{Proc: "DomainLookupByName", Action: Error, Code: 42, Message: "no domain of that name"})
	l := dial(t, p)
	_, err := l.DomainLookupByName("vm")
	var e libvirt.Error
	if !errors.As(err, &e) || e.Code != 42 || e.Message != "no domain of that name" {
		t.Errorf("error %#v", err)
	}
	if err := l.Disconnect(); err != nil {
		t.Error(err)
	}
}

func TestProxy_cutsStreams(t *testing.T) {
	h := Start(t)
	h.Virsh("vol-create-as", "default", "v", "16M")
	p := NewProxy(t, h.Socket, Rule{Proc: "StorageVolUpload", Action: CutStream, Bytes: 5 << 20})
	l := dial(t, p)
	pool, err := l.StoragePoolLookupByName("default")
	if err != nil {
		t.Fatal(err)
	}
	vol, err := l.StorageVolLookupByName(pool, "v")
	if err != nil {
		t.Fatal(err)
	}
	source := &countingReader{r: bytes.NewReader(make([]byte, 16<<20))}
	if err := l.StorageVolUpload(vol, source, 0, 16<<20, 0); err == nil {
		t.Error("an upload that was cut succeeded")
	}
	if n := source.n.Load(); n < 5<<20 {
		t.Errorf("cut after %d bytes", n)
	}
	if p.MaxInFlight() != 1 {
		t.Errorf("calls in flight: %d", p.MaxInFlight())
	}
}

// countingReader counts with care: go-libvirt may read on after the upload has
// returned its error.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func TestProxy_refusesToKillItsOwnProcess(t *testing.T) {
	h := Start(t)
	complaints := make(chan string, 4)
	p, err := ServeProxy(h.Socket, func(format string, _ ...any) { complaints <- format })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l := dial(t, p)
	p.SetRules(Rule{Proc: "ConnectGetLibVersion", Action: KillPeer})
	if _, err := l.ConnectGetLibVersion(); err == nil {
		t.Error("the call succeeded")
	}
	if got := <-complaints; !strings.Contains(got, "not one to kill") {
		t.Errorf("complaint %q", got)
	}
}

func TestRule_validate(t *testing.T) {
	bad := []Rule{{}, {Action: Hook + 1}, {Action: Drop, Proc: "DomainDefine"}, {Action: Hook}, {Action: Error}}
	for _, r := range bad {
		if r.validate() == nil {
			t.Errorf("accepted %+v", r)
		}
	}
	if err := (Rule{Action: Drop, Proc: "QEMUDomainAgentCommand"}).validate(); err != nil {
		t.Error(err)
	}
}

func FuzzReadPacket(f *testing.F) {
	f.Add(errorReply(header{program: programRemote, version: 1, procedure: 1, serial: 7}, 38, "full"))
	f.Add([]byte{0, 0, 0, 28})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, packet, err := readPacket(bytes.NewReader(b), nil)
		if err == nil && !bytes.HasPrefix(b, packet) {
			t.Error("a packet is not what was sent")
		}
	})
}
