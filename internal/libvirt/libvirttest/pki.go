package libvirttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// PKI is a certificate authority with one server and one client certificate,
// as PEM files.
type PKI struct {
	CAFile   string
	CertFile string // the client's
	KeyFile  string // the client's

	serverCert, serverKey string
}

// PKI returns the files that a client of the host's TLS port needs.
func (h *Host) PKI() PKI {
	h.helper()
	h.listener(h.conf.tls, "WithTLS", tlsPort)
	return hostPKI(pkiDir(h.Dir))
}

// NewPKI makes a certificate authority that no host trusts, and a client
// certificate of it.
func NewPKI(tb testing.TB) PKI {
	tb.Helper()
	dir := tb.TempDir()
	if err := writeHostPKI(dir); err != nil {
		tb.Fatal(err)
	}
	return hostPKI(dir)
}

func hostPKI(dir string) PKI {
	return PKI{
		CAFile:     filepath.Join(dir, "cacert.pem"),
		CertFile:   filepath.Join(dir, "clientcert.pem"),
		KeyFile:    filepath.Join(dir, "clientkey.pem"),
		serverCert: filepath.Join(dir, "servercert.pem"),
		serverKey:  filepath.Join(dir, "serverkey.pem"),
	}
}

// writeHostPKI fills dir with libvirt's usual file names. The server is known
// as 127.0.0.1 and localhost.
func writeHostPKI(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pki := hostPKI(dir)
	ca := certificate("muster test authority")
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
	caKey, err := issue(ca, ca, nil, pki.CAFile, filepath.Join(dir, "cakey.pem"))
	if err != nil {
		return err
	}
	server := certificate("localhost")
	server.DNSNames, server.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if _, err := issue(server, ca, caKey, pki.serverCert, pki.serverKey); err != nil {
		return err
	}
	client := certificate("muster test client")
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	_, err = issue(client, ca, caKey, pki.CertFile, pki.KeyFile)
	return err
}

func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		BasicConstraintsValid: true,
	}
}

// issue signs cert with the parent's key, or with its own where parentKey is
// nil, and writes both files.
func issue(cert, parent *x509.Certificate, parentKey *ecdsa.PrivateKey, certFile, keyFile string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(certFile, "CERTIFICATE", der, 0o644); err != nil {
		return nil, err
	}
	return key, writePEM(keyFile, "PRIVATE KEY", keyDER, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
