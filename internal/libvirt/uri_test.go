package libvirt

import (
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

func TestOpen_equalHostsHaveOneURI(t *testing.T) {
	for _, c := range []struct{ want, given string }{
		{"qemu:///system", "qemu:///system"},
		{"qemu:///system", "QEMU+unix:///system/"},
		{"qemu:///system", "qemu+unix:///system?socket=/var/run/libvirt/libvirt-sock"},
		{"qemu:///system", "qemu+unix:///system?socket=/run/libvirt//libvirt-sock"},
		{"qemu+unix:///system?socket=/a/b", "qemu+unix:///system?socket=/a/b"},
		{"qemu+unix:///system?socket=/a/b", "qemu:///system?socket=%2Fa%2F.%2Fb"},
		{"qemu+unix:///system?socket=/a%26b+c", "qemu:///system?socket=/a%26b%20c"},
		{"test:///default", "test:///default"},
		{"test:///default?socket=/a", "test+unix:///default?socket=/a"},
		{"qemu+ssh://root@h/system", "qemu+ssh://root@H:22/system?keyfile=/k&known_hosts=/h&no_tty=1&mode=auto"},
		{"qemu+ssh://h:2222/system", "qemu+ssh://h:2222/system"},
		{"qemu+ssh://[fe80::1]:2222/system", "qemu+ssh://[FE80::1]:2222/system"},
		{"qemu+ssh://h/system?socket=/s", "qemu+ssh://h/system?socket=/s"},
		{"qemu+ssh://h/session?socket=/s", "qemu+ssh://h/session?socket=/s"},
		{"qemu+tls://h/system", "qemu://h/system"},
		{"qemu+tls://h/system", "qemu+tls://h:16514/system?pkipath=/pki"},
		{"qemu+tcp://h/system", "qemu+tcp://h:16509/system"},
		{"qemu+tcp://h:1/system", "qemu+tcp://h:1/system"},
	} {
		h, err := Open(Config{URI: c.given})
		if err != nil {
			t.Errorf("%s: %v", c.given, err)
			continue
		}
		if h.URI() != c.want {
			t.Errorf("%s: canonical %s, want %s", c.given, h.URI(), c.want)
		}
	}
}

func TestOpen_configuredPortIsPartOfTheName(t *testing.T) {
	for uri, want := range map[string]string{
		"qemu+ssh://h/system":    "qemu+ssh://h:2200/system",
		"qemu+ssh://h:22/system": "qemu+ssh://h/system",
		"qemu+tcp://h/system":    "qemu+tcp://h/system",
	} {
		h, err := Open(Config{URI: uri, SSH: SSHConfig{Port: 2200}})
		if err != nil {
			t.Fatal(err)
		}
		if h.URI() != want {
			t.Errorf("%s: %s, want %s", uri, h.URI(), want)
		}
	}
}

func TestOpen_refuses(t *testing.T) {
	agent := true
	t.Setenv("SSH_AUTH_SOCK", "")
	for _, c := range []struct {
		uri, says string
		ssh       SSHConfig
		tls       TLSConfig
	}{
		{uri: "", says: "unknown driver"},
		{uri: "::", says: "not a URI"},
		{uri: "xen:///system", says: "unknown driver"},
		{uri: "qemu:///other", says: "unknown path"},
		{uri: "test:///system", says: "unknown path"},
		{uri: "qemu+ext:///system", says: "unknown transport"},
		{uri: "qemu+ssh:///system", says: "needs a host"},
		{uri: "qemu+tcp://h%20x/system", says: "not a URI"},
		{uri: "qemu+tcp://-h/system", says: "neither"},
		{uri: "qemu+unix://h/system", says: "no host"},
		{uri: "qemu+ssh://root:secret@h/system", says: "password"},
		{uri: "qemu+tcp://root@h/system", says: "takes no user"},
		{uri: "qemu+ssh://h:0/system", says: "not between"},
		{uri: "qemu+ssh://h:99999/system", says: "not between"},
		{uri: "qemu+ssh://h/system", ssh: SSHConfig{Port: 70000}, says: "not between"},
		{uri: "qemu:///system?socket=rel", says: "absolute"},
		{uri: "qemu+tcp://h/system?socket=/s", says: "does not fit"},
		{uri: "qemu+ssh://h/session", says: "needs ?socket="},
		{uri: "qemu+ssh://h/system?no_verify=1", says: "always checked"},
		{uri: "qemu+tls://h/system?no_verify=1", says: "always checked"},
		{uri: "qemu+ssh://h/system?known_hosts_verify=ignore", says: "always checked"},
		{uri: "qemu+ssh://h/system?sshauth=password", says: "not supported"},
		{uri: "qemu+ssh://h/system?command=/bin/x", says: "unknown parameter"},
		{uri: "qemu:///system?a=%zz", says: "cannot be read"},
		{uri: "qemu:///system#x", says: "fragment"},
		{uri: "qemu+ssh://h/system", ssh: SSHConfig{Agent: &agent}, says: "SSH_AUTH_SOCK"},
		{uri: "qemu+ssh://h/system", ssh: SSHConfig{PrivateKey: "s3cret"}, says: "not a private key"},
		{uri: "qemu+ssh://h/system", ssh: SSHConfig{HostKeys: []string{"yes"}}, says: "host key"},
		{uri: "qemu+ssh://h/system", ssh: SSHConfig{JumpHost: "a b"}, says: "jump host"},
		{uri: "qemu+tls://h/system", tls: TLSConfig{CertFile: "/c"}, says: "go together"},
	} {
		_, err := Open(Config{URI: c.uri, SSH: c.ssh, TLS: c.tls})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want invalid: %q", c.uri, err, c.says)
			continue
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: a secret in %q", c.uri, err)
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{
		"qemu:///system", "qemu+ssh://u@h:22/system?socket=/a&keyfile=/k", "test:///default?socket=/x",
		"qemu+tls://[::1]:5/system?pkipath=/p", "qemu+tcp://h/session", "qemu+ssh://u:p@h/system#f",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		ep, err := parseEndpoint(Config{URI: uri})
		if err != nil {
			return
		}
		again, err := parseEndpoint(Config{URI: ep.canonical})
		if err != nil {
			t.Fatalf("%q: canonical %q is refused: %v", uri, ep.canonical, err)
		}
		if again.canonical != ep.canonical {
			t.Fatalf("%q: canonical %q becomes %q", uri, ep.canonical, again.canonical)
		}
		if again.socket != ep.socket || again.host != ep.host || again.port != ep.port || again.user != ep.user || again.driver != ep.driver {
			// The two spellings of the system's socket are one.
			if !(ep.usualSocket() && again.usualSocket()) || again.host != ep.host {
				t.Fatalf("%q: canonical %q is another host", uri, ep.canonical)
			}
		}
	})
}
