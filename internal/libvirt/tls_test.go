package libvirt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestTCPAndTLS(t *testing.T) {
	alone(t)
	lh := libvirttest.Start(t, libvirttest.WithTCP(), libvirttest.WithTLS())
	pki, stranger := lh.PKI(), libvirttest.NewPKI(t)
	for _, c := range []struct {
		name, uri string
		tls       TLSConfig
		says      []string // of a refusal
	}{
		{name: "tcp", uri: lh.TCPURI()},
		{name: "tls", uri: lh.TLSURI(), tls: TLSConfig{CAFile: pki.CAFile, CertFile: pki.CertFile, KeyFile: pki.KeyFile}},
		{name: "tls by pkipath", uri: lh.TLSURI() + "?pkipath=" + filepath.Dir(pki.CAFile)},
		{
			name: "another CA", uri: lh.TLSURI(), tls: TLSConfig{CAFile: stranger.CAFile, CertFile: pki.CertFile, KeyFile: pki.KeyFile},
			says: []string{"not trusted", stranger.CAFile},
		},
		{
			name: "another client", uri: lh.TLSURI(), tls: TLSConfig{CAFile: pki.CAFile, CertFile: stranger.CertFile, KeyFile: stranger.KeyFile},
			says: []string{"refused the client certificate", stranger.CertFile},
		},
		{name: "no CA", uri: lh.TLSURI(), tls: TLSConfig{CAFile: "/no/such"}, says: []string{"/no/such", "ca_file"}},
		{name: "no client certificate", uri: lh.TLSURI(), tls: TLSConfig{CAFile: pki.CAFile}, says: []string{"no client certificate", "cert_file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, Config{URI: c.uri, TLS: c.tls})
			f, err := h.Facts(t.Context())
			if c.says != nil {
				wantKind(t, err, fault.Denied, append(c.says, h.URI())...)
				return
			}
			must(t, err)
			if f.Hostname != lh.Name {
				t.Errorf("host name %q, want %q", f.Hostname, lh.Name)
			}
		})
	}

	t.Run("the user's own layout", func(t *testing.T) {
		home, err := os.UserHomeDir()
		must(t, err)
		dir := filepath.Join(home, ".pki", "libvirt")
		must(t, os.MkdirAll(dir, 0o700))
		for from, to := range map[string]string{pki.CAFile: "cacert.pem", pki.CertFile: "clientcert.pem", pki.KeyFile: "clientkey.pem"} {
			b, err := os.ReadFile(from)
			must(t, err)
			writeFile(t, filepath.Join(dir, to), string(b))
		}
		must(t, open(t, Config{URI: lh.TLSURI()}).Ping(t.Context()))
	})
}

func TestTCP_notLibvirt(t *testing.T) {
	lh := libvirttest.Start(t)
	srv := libvirttest.StartSSHD(t, lh)
	h := open(t, Config{URI: "qemu+tcp://" + srv.Address + "/system"})
	wantKind(t, h.Ping(t.Context()), fault.Unavailable, h.URI(), "does not speak libvirt's protocol")
}
