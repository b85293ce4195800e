package libvirttest

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
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// SSHD is a private SSH server in front of a host. Its sessions run inside the
// host, where libvirt's socket has its usual path, and may forward to unix
// sockets and TCP ports; it listens on this side's loopback.
type SSHD struct {
	Address        string // host and port
	Host           string // always 127.0.0.1
	Port           int
	User           string // always root
	KeyFile        string // the user's private key, OpenSSH format, mode 0600
	PrivateKey     string // what is in KeyFile
	HostKey        string // the server's public key, as in an authorized_keys line
	KnownHostsFile string // one that knows the server
	LogFile        string // the server's own log

	host     *Host
	conf     string
	listener net.Listener
}

// StartSSHD starts an SSH server for the host and stops it when the test ends.
func StartSSHD(tb testing.TB, h *Host) *SSHD {
	tb.Helper()
	s, err := newSSHD(h)
	if err != nil {
		tb.Fatalf("libvirttest: start sshd: %v", err)
	}
	tb.Cleanup(func() {
		_ = s.listener.Close()
		if tb.Failed() {
			tb.Logf("sshd, last lines:\n%s", tail(s.LogFile, 4096))
		}
	})
	return s
}

// URI returns the libvirt URI that leads through the server to the host's QEMU
// driver by the socket's usual path. It names neither key nor known hosts.
func (s *SSHD) URI() string { return "qemu+ssh://" + s.User + "@" + s.Address + "/system" }

const sshdConf = `HostKey %[1]s/host_key
AuthorizedKeysFile %[1]s/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
PidFile none
LogLevel VERBOSE
AllowTcpForwarding yes
AllowStreamLocalForwarding yes
`

func newSSHD(h *Host) (*SSHD, error) {
	dir, err := os.MkdirTemp(h.Dir, "ssh-")
	if err != nil {
		return nil, err
	}
	s := &SSHD{
		Host: "127.0.0.1", User: "root", host: h,
		KeyFile:        filepath.Join(dir, "user_key"),
		KnownHostsFile: filepath.Join(dir, "known_hosts"),
		LogFile:        filepath.Join(dir, "log"),
		conf:           filepath.Join(dir, "sshd_config"),
	}
	s.listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.Address = s.listener.Addr().String()
	s.Port = s.listener.Addr().(*net.TCPAddr).Port
	if err := s.writeFiles(dir); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	// It refuses to start without its folder, and a fresh machine has none.
	if _, err := h.Exec("sh", "-c", "mkdir -p /run/sshd && mount -t tmpfs -o mode=755 tmpfs /run/sshd"); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	go s.serve()
	return s, nil
}

func (s *SSHD) writeFiles(dir string) error {
	userPrivate, userPublic, err := newSSHKey()
	if err != nil {
		return err
	}
	hostPrivate, hostPublic, err := newSSHKey()
	if err != nil {
		return err
	}
	s.PrivateKey, s.HostKey = userPrivate, hostPublic
	files := map[string]string{
		s.KeyFile:                             userPrivate,
		filepath.Join(dir, "host_key"):        hostPrivate,
		filepath.Join(dir, "authorized_keys"): userPublic + "\n",
		filepath.Join(dir, "host_key.pub"):    hostPublic + "\n",
		s.KnownHostsFile:                      fmt.Sprintf("[%s]:%d %s\n", s.Host, s.Port, hostPublic),
		s.conf:                                fmt.Sprintf(sshdConf, dir),
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// newSSHKey returns a private key in OpenSSH's format and its public line.
func newSSHKey() (private, public string, err error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return "", "", err
	}
	sshPub, err := ssh.NewPublicKey(pub)
	if err != nil {
		return "", "", err
	}
	return string(pem.EncodeToMemory(block)), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshPub))), nil
}

// serve gives each connection an sshd of its own, so that no port has to be
// guessed free. It has the host's mounts and processes and this side's network.
func (s *SSHD) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			file, err := conn.(*net.TCPConn).File()
			if err != nil {
				return
			}
			defer file.Close()
			cmd := nsenter(context.Background(), s.host.pid, "-m", "-p")
			cmd.Args = append(cmd.Args, "/usr/sbin/sshd", "-i", "-f", s.conf, "-E", s.LogFile)
			cmd.Stdin, cmd.Stdout = file, file
			_ = cmd.Run() // ends with the client or the host; its log has the reason
		}()
	}
}

// NewSSHKey returns the file of a private key that no server accepts, and a
// public key, as in an authorized_keys line, that no server has.
func NewSSHKey(tb testing.TB) (keyFile, public string) {
	tb.Helper()
	private, public, err := newSSHKey()
	if err != nil {
		tb.Fatal(err)
	}
	keyFile = filepath.Join(tb.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(private), 0o600); err != nil {
		tb.Fatal(err)
	}
	return keyFile, public
}
