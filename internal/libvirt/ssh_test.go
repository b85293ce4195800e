package libvirt

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// alone hides the keys, agent and known hosts of whoever runs the tests.
func alone(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("SSH_AUTH_SOCK", "")
}

func off() *bool { no := false; return &no }
func on() *bool  { yes := true; return &yes }

func TestSSH_waysToTrustAndToLogIn(t *testing.T) {
	alone(t)
	lh := libvirttest.Start(t)
	srv := libvirttest.StartSSHD(t, lh)
	key, err := ssh.ParsePrivateKey([]byte(srv.PrivateKey))
	must(t, err)
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(srv.HostKey))
	must(t, err)
	fingerprint := ssh.FingerprintSHA256(hostKey)
	agentSocket := serveAgent(t, srv.PrivateKey)
	home, err := os.UserHomeDir()
	must(t, err)
	known, err := os.ReadFile(srv.KnownHostsFile)
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))

	for _, c := range []struct {
		name, query string
		cfg         SSHConfig
		prepare     func(t *testing.T)
	}{
		{name: "known_hosts and key file", cfg: SSHConfig{KnownHostsFile: srv.KnownHostsFile, KeyFile: srv.KeyFile}},
		{name: "the same by the URI", query: "?known_hosts=" + srv.KnownHostsFile + "&keyfile=" + srv.KeyFile},
		{name: "pinned key, key itself", cfg: SSHConfig{HostKeys: []string{srv.HostKey}, PrivateKey: srv.PrivateKey}},
		{name: "pinned fingerprint", cfg: SSHConfig{HostKeys: []string{"SHA256:x", fingerprint}, KeyFile: srv.KeyFile, Agent: off()}},
		{name: "pinned by name", cfg: SSHConfig{HostKeys: []string{srv.Host + " " + srv.HostKey}, KeyFile: srv.KeyFile}},
		{name: "agent, found", cfg: SSHConfig{HostKeys: []string{fingerprint}}, prepare: func(t *testing.T) { t.Setenv("SSH_AUTH_SOCK", agentSocket) }},
		{name: "agent, asked for", cfg: SSHConfig{HostKeys: []string{fingerprint}, Agent: on()}, prepare: func(t *testing.T) { t.Setenv("SSH_AUTH_SOCK", agentSocket) }},
		{name: "usual files", prepare: func(t *testing.T) {
			writeFile(t, filepath.Join(home, ".ssh", "known_hosts"), string(known))
			writeFile(t, filepath.Join(home, ".ssh", "id_ed25519"), srv.PrivateKey)
		}},
		{name: "jump host", cfg: SSHConfig{KnownHostsFile: srv.KnownHostsFile, KeyFile: srv.KeyFile, JumpHost: srv.User + "@" + srv.Address}},
		{name: "jump host, pinned", cfg: SSHConfig{HostKeys: []string{srv.HostKey}, KeyFile: srv.KeyFile, JumpHost: srv.Address}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.prepare != nil {
				c.prepare(t)
			}
			h := open(t, Config{URI: srv.URI() + c.query, SSH: c.cfg})
			f, err := h.Facts(t.Context())
			must(t, err)
			if f.Hostname != lh.Name {
				t.Errorf("host name %q, want %q", f.Hostname, lh.Name)
			}
			if want := "qemu+ssh://" + srv.User + "@" + srv.Address + "/system"; h.URI() != want {
				t.Errorf("canonical %s, want %s", h.URI(), want)
			}
		})
	}
	if key.PublicKey().Type() != ssh.KeyAlgoED25519 {
		t.Errorf("the user's key is %s", key.PublicKey().Type())
	}
}

// serveAgent runs an ssh agent that holds one key.
func serveAgent(t *testing.T, private string) string {
	t.Helper()
	raw, err := ssh.ParseRawPrivateKey([]byte(private))
	must(t, err)
	ring := agent.NewKeyring()
	must(t, ring.Add(agent.AddedKey{PrivateKey: raw}))
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = agent.ServeAgent(ring, c)
			}()
		}
	}()
	return socket
}

func TestSSH_refusals(t *testing.T) {
	alone(t)
	lh := libvirttest.Start(t)
	srv := libvirttest.StartSSHD(t, lh)
	otherKey, otherPublic := libvirttest.NewSSHKey(t)
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(srv.HostKey))
	must(t, err)
	shown := ssh.FingerprintSHA256(hostKey)
	wrongHosts := filepath.Join(t.TempDir(), "known_hosts")
	writeFile(t, wrongHosts, fmt.Sprintf("[%s]:%d %s\n", srv.Host, srv.Port, otherPublic))
	revoked := filepath.Join(t.TempDir(), "known_hosts")
	writeFile(t, revoked, fmt.Sprintf("@revoked * %s\n", srv.HostKey))
	empty := filepath.Join(t.TempDir(), "known_hosts")
	writeFile(t, empty, "")
	locked := filepath.Join(t.TempDir(), "locked")
	writeFile(t, locked, lockedKey(t))
	port := fmt.Sprint(srv.Port)

	for _, c := range []struct {
		name, uri string
		cfg       SSHConfig
		says      []string
	}{
		{
			name: "wrong host key", cfg: SSHConfig{KnownHostsFile: wrongHosts, KeyFile: srv.KeyFile},
			says: []string{srv.Address, shown, wrongHosts + ":1", "remove that line"},
		},
		{
			name: "wrong pinned key", cfg: SSHConfig{HostKeys: []string{otherPublic}, KeyFile: srv.KeyFile},
			says: []string{srv.Address, shown, "host_keys pins SHA256:", "change host_keys"},
		},
		{
			name: "unknown host", cfg: SSHConfig{KnownHostsFile: empty, KeyFile: srv.KeyFile},
			says: []string{srv.Address, shown, empty, "ssh-keyscan -p " + port},
		},
		{
			name: "no known_hosts", cfg: SSHConfig{KeyFile: srv.KeyFile},
			says: []string{srv.Address, shown, "known_hosts", "host_keys"},
		},
		{
			name: "known_hosts that is not there", cfg: SSHConfig{KnownHostsFile: "/no/such", KeyFile: srv.KeyFile},
			says: []string{shown, "/no/such"},
		},
		{name: "revoked", cfg: SSHConfig{KnownHostsFile: revoked, KeyFile: srv.KeyFile}, says: []string{shown, "revoked", revoked + ":1"}},
		{
			name: "refused key", cfg: SSHConfig{HostKeys: []string{srv.HostKey}, KeyFile: otherKey},
			says: []string{srv.Address, `refused user "root"`, otherKey, "authorized_keys"},
		},
		{
			name: "refused user", uri: "qemu+ssh://nobody-here@" + srv.Address + "/system", cfg: SSHConfig{HostKeys: []string{srv.HostKey}, KeyFile: srv.KeyFile},
			says: []string{`refused user "nobody-here"`},
		},
		{name: "nothing to log in with", cfg: SSHConfig{HostKeys: []string{srv.HostKey}}, says: []string{"no key to log in with", "key_file", "ssh-add"}},
		{name: "missing key file", cfg: SSHConfig{HostKeys: []string{srv.HostKey}, KeyFile: "/no/such/key"}, says: []string{"/no/such/key"}},
		{name: "key with a passphrase", cfg: SSHConfig{HostKeys: []string{srv.HostKey}, KeyFile: locked}, says: []string{locked, "passphrase", "ssh-add"}},
		{
			name: "wrong key of the jump host", cfg: SSHConfig{HostKeys: []string{"other " + srv.HostKey}, KnownHostsFile: wrongHosts, KeyFile: srv.KeyFile, JumpHost: srv.Address},
			says: []string{shown},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.uri == "" {
				c.uri = srv.URI()
			}
			h := open(t, Config{URI: c.uri, SSH: c.cfg})
			within(t, 3*time.Second, c.name, func() {
				wantKind(t, h.Ping(t.Context()), fault.Denied, append(c.says, h.URI())...)
			})
			within(t, time.Second, "the second call", func() { wantKind(t, h.Ping(t.Context()), fault.Denied) })
		})
	}
}

func lockedKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte("hush"))
	must(t, err)
	return string(pem.EncodeToMemory(block))
}

func TestSSH_agentThatIsAway(t *testing.T) {
	alone(t)
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(t.TempDir(), "none"))
	lh := libvirttest.Start(t)
	srv := libvirttest.StartSSHD(t, lh)
	h := open(t, Config{URI: srv.URI(), SSH: SSHConfig{HostKeys: []string{srv.HostKey}, Agent: on()}})
	wantKind(t, h.Ping(t.Context()), fault.Denied, "ssh agent", "no such file")
}

func TestSSH_agentThatHangs(t *testing.T) {
	alone(t)
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket) // accepted by the kernel, read by nobody
	must(t, err)
	defer l.Close()
	t.Setenv("SSH_AUTH_SOCK", socket)
	lh := libvirttest.Start(t)
	srv := libvirttest.StartSSHD(t, lh)
	h := open(t, Config{URI: srv.URI(), SSH: SSHConfig{HostKeys: []string{srv.HostKey}}, DialTimeout: 300 * time.Millisecond})
	within(t, 2*time.Second, "an agent that says nothing", func() {
		wantKind(t, h.Ping(t.Context()), fault.Unavailable, "300ms")
	})
}

func TestSSH_hostOrSocketAway(t *testing.T) {
	alone(t)
	lh := libvirttest.Start(t)
	srv := libvirttest.StartSSHD(t, lh)
	cfg := SSHConfig{HostKeys: []string{srv.HostKey}, KeyFile: srv.KeyFile}
	h := open(t, Config{URI: srv.URI() + "?socket=/no/such", SSH: cfg})
	wantKind(t, h.Ping(t.Context()), fault.Unavailable, "/no/such on 127.0.0.1", "is libvirtd running there")

	h = open(t, Config{URI: "qemu+ssh://root@127.0.0.1:1/system", SSH: cfg})
	wantKind(t, h.Ping(t.Context()), fault.Unavailable, "127.0.0.1:1", "refused")

	cfg.JumpHost = srv.Address
	h = open(t, Config{URI: "qemu+ssh://root@127.0.0.1:1/system", SSH: cfg})
	wantKind(t, h.Ping(t.Context()), fault.Unavailable, "jump host "+srv.Address, "127.0.0.1:1")
}

func TestSSH_callsStreamsRestartAndCancel(t *testing.T) {
	alone(t)
	lh := libvirttest.Start(t)
	srv := libvirttest.StartSSHD(t, lh)
	h := open(t, Config{URI: srv.URI(), SSH: SSHConfig{HostKeys: []string{srv.HostKey}, KeyFile: srv.KeyFile}})
	ctx := t.Context()
	const size = 8 << 20
	_, err := h.CreateVolume(ctx, VolumeSpec{Pool: "default", Name: "v", Format: "raw", CapacityBytes: size, Owner: -1, Group: -1})
	must(t, err)
	must(t, h.Upload(ctx, "default", "v", random(size), size, nil))
	n, err := h.Download(ctx, "default", "v", 0, 0, &countWriter{})
	if n != size || err != nil {
		t.Errorf("downloaded %d, %v", n, err)
	}
	d := define(t, h, "vm")
	lh.RestartDaemon()
	if _, err := h.DomainByUUID(ctx, d.UUID); err != nil {
		t.Errorf("after a restart: %v", err)
	}

	thaw := lh.FreezeDaemon()
	defer thaw()
	short, cancel := context.WithCancel(ctx)
	time.AfterFunc(50*time.Millisecond, cancel)
	within(t, time.Second, "a cancelled call to a frozen daemon", func() {
		if err := h.Ping(short); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	within(t, time.Second, "Close", func() { must(t, h.Close()) })
}

func TestSSH_silentServer(t *testing.T) {
	alone(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	keyFile, public := libvirttest.NewSSHKey(t)
	h := open(t, Config{
		URI: "qemu+ssh://root@" + l.Addr().String() + "/system", DialTimeout: 300 * time.Millisecond,
		SSH: SSHConfig{HostKeys: []string{public}, KeyFile: keyFile},
	})
	within(t, 2*time.Second, "a server that says nothing", func() {
		err := h.Ping(t.Context())
		wantKind(t, err, fault.Unavailable, l.Addr().String(), "does not answer", "300ms")
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("taken for a deadline of the caller's: %v", err)
		}
	})
}
