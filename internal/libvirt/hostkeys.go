package libvirt

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// hostKeys decides whether a host is the one it should be. There is no way to
// accept just any key.
type hostKeys struct {
	target string
	pins   []pin
	files  []string // known_hosts
}

// pin is one accepted key: the key itself or its fingerprint.
type pin struct {
	host        string // "": the target
	key         ssh.PublicKey
	fingerprint string
}

func newHostKeys(cfg SSHConfig, q query, target string) (hostKeys, error) {
	k := hostKeys{target: target}
	for _, s := range cfg.HostKeys {
		p, err := parsePin(s)
		if err != nil {
			return k, err
		}
		k.pins = append(k.pins, p)
	}
	file := cfg.KnownHostsFile
	if q.knownHosts != "" {
		file = q.knownHosts
	}
	if file != "" {
		k.files = []string{expandHome(file)}
	} else {
		k.files = []string{expandHome("~/.ssh/known_hosts"), "/etc/ssh/ssh_known_hosts"}
	}
	return k, nil
}

// parsePin reads "[host] SHA256:..." or "[host] type base64 [comment]".
func parsePin(s string) (pin, error) {
	bad := fmt.Errorf("ssh: host key %q is neither \"[host] ssh-ed25519 AAAA...\" nor \"[host] SHA256:...\"", s)
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return pin{}, bad
	}
	var p pin
	if !isKeyStart(fields[0]) {
		p.host, fields = strings.ToLower(fields[0]), fields[1:]
	}
	switch {
	case len(fields) == 0:
		return p, bad
	case strings.HasPrefix(fields[0], "SHA256:"):
		p.fingerprint = strings.TrimRight(fields[0], "=")
		return p, nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(strings.Join(fields, " ")))
	if err != nil {
		return p, bad
	}
	p.key, p.fingerprint = key, ssh.FingerprintSHA256(key)
	return p, nil
}

func isKeyStart(s string) bool {
	return strings.HasPrefix(s, "SHA256:") || strings.HasPrefix(s, "ssh-") ||
		strings.HasPrefix(s, "ecdsa-") || strings.HasPrefix(s, "sk-")
}

// forHost returns the check for one machine and the algorithms to ask it for,
// so that it shows the very key that is on file.
func (k hostKeys) forHost(to hop) (ssh.HostKeyCallback, []string, error) {
	if pins := k.pinsFor(to.host); len(pins) > 0 {
		return pinnedCallback(to, pins), pinnedAlgorithms(pins), nil
	}
	files := existing(k.files)
	if len(files) == 0 {
		return unknownCallback(to, k.files), nil, nil
	}
	check, err := knownhosts.New(files...)
	if err != nil {
		return nil, nil, fmt.Errorf("known_hosts: %w", err)
	}
	return knownCallback(to, files, check), knownAlgorithms(check, to.address()), nil
}

func (k hostKeys) pinsFor(host string) []pin {
	var found []pin
	for _, p := range k.pins {
		if p.host == strings.ToLower(host) || p.host == "" && host == k.target {
			found = append(found, p)
		}
	}
	return found
}

func existing(files []string) []string {
	var found []string
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			found = append(found, f)
		}
	}
	return found
}

func pinnedCallback(to hop, pins []pin) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, key ssh.PublicKey) error {
		shown := ssh.FingerprintSHA256(key)
		var want []string
		for _, p := range pins {
			if p.fingerprint == shown {
				return nil
			}
			want = append(want, p.fingerprint)
		}
		return &hostRefusedError{fmt.Errorf("ssh: host key of %s is %s %s, but host_keys pins %s; somebody may be in between, or the host was installed anew: if so, change host_keys",
			to.address(), key.Type(), shown, strings.Join(want, ", "))}
	}
}

func unknownCallback(to hop, files []string) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, key ssh.PublicKey) error {
		return notKnown(to, files, key)
	}
}

func knownCallback(to hop, files []string, check ssh.HostKeyCallback) ssh.HostKeyCallback {
	return func(address string, remote net.Addr, key ssh.PublicKey) error {
		err := check(address, remote, key)
		var wrong *knownhosts.KeyError
		var revoked *knownhosts.RevokedError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &revoked):
			return &hostRefusedError{fmt.Errorf("ssh: host key of %s, %s, is revoked in %s:%d",
				to.address(), ssh.FingerprintSHA256(key), revoked.Revoked.Filename, revoked.Revoked.Line)}
		case errors.As(err, &wrong) && len(wrong.Want) > 0:
			want := wrong.Want[0]
			return &hostRefusedError{fmt.Errorf("ssh: host key of %s is %s %s, but %s:%d says %s; somebody may be in between, or the host was installed anew: if so, remove that line",
				to.address(), key.Type(), ssh.FingerprintSHA256(key), want.Filename, want.Line, ssh.FingerprintSHA256(want.Key))}
		case errors.As(err, &wrong):
			return notKnown(to, files, key)
		default:
			return &hostRefusedError{fmt.Errorf("ssh: host key of %s, %s: %w", to.address(), ssh.FingerprintSHA256(key), err)}
		}
	}
}

func notKnown(to hop, files []string, key ssh.PublicKey) error {
	return &hostRefusedError{fmt.Errorf("ssh: host key of %s, %s %s, is not in %s; if that fingerprint is right, pin it with host_keys or add it with: ssh-keyscan -p %d %s >> %s",
		to.address(), key.Type(), ssh.FingerprintSHA256(key), strings.Join(files, " or "), to.port, to.host, files[0])}
}

func pinnedAlgorithms(pins []pin) []string {
	var types []string
	for _, p := range pins {
		if p.key == nil {
			return nil // a fingerprint does not tell its type
		}
		types = append(types, algorithmsOf(p.key.Type())...)
	}
	return types
}

// knownAlgorithms asks the known_hosts check, with a key that nobody has,
// which keys it wants.
func knownAlgorithms(check ssh.HostKeyCallback, address string) []string {
	var wrong *knownhosts.KeyError
	if !errors.As(check(address, &net.TCPAddr{IP: net.IPv4zero}, nobodysKey{}), &wrong) {
		return nil
	}
	var types []string
	for _, want := range wrong.Want {
		types = append(types, algorithmsOf(want.Key.Type())...)
	}
	return types
}

// algorithmsOf returns the signature algorithms of a key type: an RSA key
// signs with SHA-2 under other names.
func algorithmsOf(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// nobodysKey equals no key on file.
type nobodysKey struct{}

func (nobodysKey) Type() string                        { return "nobody" }
func (nobodysKey) Marshal() []byte                     { return []byte("nobody") }
func (nobodysKey) Verify([]byte, *ssh.Signature) error { return errors.New("nobody") }
