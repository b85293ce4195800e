package libvirt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
)

// findPKI completes the files by libvirt's layout: pkipath of the URI, else
// the user's ~/.pki/libvirt where a CA lies there, else /etc/pki.
func findPKI(cfg TLSConfig, pkiPath string) (TLSConfig, error) {
	system := TLSConfig{
		CAFile:   "/etc/pki/CA/cacert.pem",
		CertFile: "/etc/pki/libvirt/clientcert.pem",
		KeyFile:  "/etc/pki/libvirt/private/clientkey.pem",
	}
	found := system
	if home, err := os.UserHomeDir(); err == nil && pkiPath == "" {
		own := pkiIn(filepath.Join(home, ".pki", "libvirt"))
		if readable(own.CAFile) {
			found.CAFile = own.CAFile
		}
		if readable(own.CertFile) {
			found.CertFile, found.KeyFile = own.CertFile, own.KeyFile
		}
	}
	if pkiPath != "" {
		found = pkiIn(pkiPath)
	}
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return found, errors.New("tls: a client certificate and its key go together; one of the two is missing")
	}
	if cfg.CAFile != "" {
		found.CAFile = cfg.CAFile
	}
	if cfg.CertFile != "" {
		found.CertFile, found.KeyFile = cfg.CertFile, cfg.KeyFile
	}
	return found, nil
}

func pkiIn(dir string) TLSConfig {
	return TLSConfig{
		CAFile:   filepath.Join(dir, "cacert.pem"),
		CertFile: filepath.Join(dir, "clientcert.pem"),
		KeyFile:  filepath.Join(dir, "clientkey.pem"),
	}
}

func readable(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// config loads the files. Without a client certificate none is sent; the
// daemon then says whether it minds.
func (c TLSConfig) config(host string) (*tls.Config, error) {
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, &hostRefusedError{fmt.Errorf("tls: CA certificate: %w; set tls ca_file", err)}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, &hostRefusedError{fmt.Errorf("tls: no certificate in %s", c.CAFile)}
	}
	conf := &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}
	if !readable(c.CertFile) {
		return conf, nil
	}
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, &hostRefusedError{fmt.Errorf("tls: client certificate %s: %w", c.CertFile, err)}
	}
	conf.Certificates = []tls.Certificate{cert}
	return conf, nil
}

// dialTLS connects and checks the server's certificate. The daemon then says
// in one byte whether it accepts ours.
func dialTLS(ctx context.Context, host, address string, files TLSConfig) (net.Conn, error) {
	conf, err := files.config(host)
	if err != nil {
		return nil, err
	}
	raw, err := dialTCP(ctx, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	conn := tls.Client(raw, conf)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, tlsError(files, err)
	}
	var verdict [1]byte
	if _, err := io.ReadFull(conn, verdict[:]); err != nil || verdict[0] != 1 {
		_ = raw.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, refusedByDaemon(files, len(conf.Certificates) > 0)
	}
	return &bottomConn{Conn: conn, bottom: raw}, nil
}

func refusedByDaemon(files TLSConfig, offered bool) error {
	if !offered {
		return &hostRefusedError{fmt.Errorf("tls: the daemon wants a client certificate, and there is no client certificate %s; set tls cert_file and key_file", files.CertFile)}
	}
	return &hostRefusedError{fmt.Errorf(
		"tls: the daemon refused the client certificate %s; it must be signed by the daemon's CA and allowed by its tls_allowed_dn_list", files.CertFile)}
}

func tlsError(files TLSConfig, err error) error {
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		return &hostRefusedError{fmt.Errorf("tls: the daemon's certificate is not trusted (CA %s): %w", files.CAFile, err)}
	}
	return fmt.Errorf("tls: %w", err)
}

// bottomConn closes the connection underneath, which never waits for the peer
// as an orderly end of TLS or SSH would.
type bottomConn struct {
	net.Conn
	bottom net.Conn
}

// Close implements io.Closer.
func (c *bottomConn) Close() error { return c.bottom.Close() }
