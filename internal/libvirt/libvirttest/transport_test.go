package libvirttest

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hostnameVia asks for the host's name over another transport.
func hostnameVia(t *testing.T, uri string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := run(exec.CommandContext(ctx, "virsh", "-q", "-c", uri, "hostname"))
	if err != nil {
		return err.Error()
	}
	return out
}

func TestHost_listensOnTCPAndTLS(t *testing.T) {
	h := Start(t, WithTCP(), WithTLS(), WithName("net"))
	if got := hostnameVia(t, h.TCPURI()); got != "net" {
		t.Errorf("tcp: %s", got)
	}
	if got := hostnameVia(t, h.TLSURI()+"?pkipath="+filepath.Dir(h.PKI().CAFile)); got != "net" {
		t.Errorf("tls: %s", got)
	}
	stranger := filepath.Dir(NewPKI(t).CAFile)
	if got := hostnameVia(t, h.TLSURI()+"?pkipath="+stranger); !strings.Contains(got, "certificate") {
		t.Errorf("tls with another authority: %s", got)
	}
	h.RestartDaemon()
	if got := hostnameVia(t, h.TCPURI()); got != "net" {
		t.Errorf("tcp after a restart: %s", got)
	}
}

func TestStartSSHD_leadsToTheUsualSocket(t *testing.T) {
	h := Start(t, WithName("far"))
	s := StartSSHD(t, h)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	local := filepath.Join(h.Dir, "fwd")
	ssh := exec.CommandContext(ctx, "ssh", "-F", "none", "-i", s.KeyFile, "-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile="+s.KnownHostsFile,
		"-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes", "-p", strconv.Itoa(s.Port), "-o", "ExitOnForwardFailure=yes",
		"-L", local+":/run/libvirt/libvirt-sock", s.User+"@"+s.Host, "echo forwarding; cat")
	stdin, err := ssh.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := ssh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ssh.Start(); err != nil {
		t.Fatal(err)
	}
	if err := readUntil(stdout, "forwarding"); err != nil {
		t.Fatal(err)
	}
	if got := hostnameVia(t, "qemu+unix:///system?socket="+local); got != "far" {
		t.Errorf("through ssh: %s", got)
	}
	_ = stdin.Close()
	if err := ssh.Wait(); err != nil {
		t.Error(err)
	}
}
