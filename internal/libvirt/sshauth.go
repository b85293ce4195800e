package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshAuth is what we log in with: a given key, else the agent, else the
// user's default keys.
type sshAuth struct {
	pem      []byte // given in the configuration
	keyFiles []string
	given    bool // keyFiles[0] was asked for; a missing one is an error
	agent    *bool
	socket   string // SSH_AUTH_SOCK
}

func newSSHAuth(cfg SSHConfig, q query) (sshAuth, error) {
	a := sshAuth{agent: cfg.Agent, socket: os.Getenv("SSH_AUTH_SOCK")}
	if q.agent != nil {
		a.agent = q.agent
	}
	file := cfg.KeyFile
	if q.keyFile != "" {
		file = q.keyFile
	}
	switch {
	case cfg.PrivateKey != "" && q.keyFile == "":
		a.pem = []byte(cfg.PrivateKey)
		if _, err := parseKey(a.pem, "the given private key"); err != nil {
			return a, err
		}
	case file != "":
		a.keyFiles, a.given = []string{expandHome(file)}, true
	default:
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			a.keyFiles = append(a.keyFiles, expandHome("~/.ssh/"+name))
		}
	}
	if a.agent != nil && *a.agent && a.socket == "" {
		return a, errors.New("ssh: the agent is asked for, but SSH_AUTH_SOCK is not set; start one with: eval $(ssh-agent); ssh-add")
	}
	return a, nil
}

func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

func (a sshAuth) useAgent() bool {
	if a.agent != nil {
		return *a.agent
	}
	return a.socket != "" && a.pem == nil && !a.given
}

// methods loads keys and agent. done must be called after the login. The end
// of ctx ends an agent that does not answer.
func (a sshAuth) methods(ctx context.Context) (auth []ssh.AuthMethod, done func(), err error) {
	done = func() {}
	signers, err := a.keySigners()
	if err != nil {
		return nil, done, err
	}
	if a.useAgent() {
		var fromAgent []ssh.Signer
		fromAgent, done, err = a.agentSigners(ctx)
		if err != nil && (a.agent != nil || len(signers) == 0) {
			return nil, done, fmt.Errorf("ssh agent %s: %w", a.socket, err)
		}
		signers = append(fromAgent, signers...)
	}
	if len(signers) == 0 {
		done()
		return nil, done, fmt.Errorf("no key to log in with (%s); set ssh key_file, or load one into the agent with ssh-add", a.describe())
	}
	return []ssh.AuthMethod{ssh.PublicKeys(signers...)}, done, nil
}

// agentSigners returns the agent's keys, which sign until done is called.
func (a sshAuth) agentSigners(ctx context.Context) (signers []ssh.Signer, done func(), err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", a.socket)
	if err != nil {
		return nil, func() {}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	done = func() { stop(); _ = conn.Close() }
	signers, err = agent.NewClient(conn).Signers()
	if err != nil {
		done()
	}
	return signers, done, err
}

// keySigners returns the given key, else those of the files.
func (a sshAuth) keySigners() ([]ssh.Signer, error) {
	if a.pem != nil {
		s, err := parseKey(a.pem, "the given private key")
		return []ssh.Signer{s}, err
	}
	var signers []ssh.Signer
	for _, file := range a.keyFiles {
		pem, err := os.ReadFile(file)
		if err != nil {
			if a.given {
				return nil, fmt.Errorf("key file: %w", err)
			}
			continue
		}
		s, err := parseKey(pem, file)
		if err != nil {
			if a.given {
				return nil, err
			}
			continue
		}
		signers = append(signers, s)
	}
	return signers, nil
}

// parseKey never puts a part of the key into its error.
func parseKey(pem []byte, name string) (ssh.Signer, error) {
	s, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, fmt.Errorf("%s has a passphrase; load it into the agent with ssh-add and use the agent", name)
	case err != nil:
		return nil, fmt.Errorf("%s is not a private key that can be read", name)
	}
	return s, nil
}

// describe names what is offered to the host, for errors.
func (a sshAuth) describe() string {
	var parts []string
	if a.useAgent() {
		parts = append(parts, "the keys of the agent")
	}
	if a.pem != nil {
		parts = append(parts, "the given private key")
	}
	if len(a.keyFiles) > 0 {
		parts = append(parts, strings.Join(a.keyFiles, ", "))
	}
	return strings.Join(parts, " and ")
}
