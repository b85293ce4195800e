package libvirt

import (
	"log/slog"
	"time"
)

// Limits that hold where Config leaves them zero.
const (
	DefaultDialTimeout  = 10 * time.Second
	DefaultReadTimeout  = 15 * time.Second
	DefaultWriteTimeout = 60 * time.Second
)

// Config says which host to talk to and how.
type Config struct {
	URI    string
	SSH    SSHConfig
	TLS    TLSConfig
	Logger *slog.Logger // nil: silent

	DialTimeout  time.Duration // connecting and handshake together
	ReadTimeout  time.Duration // each RPC that changes nothing
	WriteTimeout time.Duration // each RPC that changes something
}

// SSHConfig is how to log in for qemu+ssh. What the URI says itself (user,
// port, keyfile, known_hosts) goes before it.
type SSHConfig struct {
	User           string
	Port           int      // 0: 22
	KeyFile        string   // path of an unencrypted private key
	PrivateKey     string   // the key itself, PEM; goes before KeyFile
	Agent          *bool    // nil: when SSH_AUTH_SOCK is set and no key is given; true: required
	KnownHostsFile string   // "": ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	HostKeys       []string // pinned: "ssh-ed25519 AAAA...", "SHA256:...", either after "HOST " to name a host; known_hosts is then not read
	JumpHost       string   // [user@]host[:port]
}

// TLSConfig names the files for qemu+tls. Empty fields follow libvirt's PKI
// layout: ~/.pki/libvirt, then /etc/pki.
type TLSConfig struct{ CAFile, CertFile, KeyFile string }

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.ReadTimeout <= 0 {
		c.ReadTimeout = DefaultReadTimeout
	}
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = DefaultWriteTimeout
	}
	return c
}
