package maas

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/juju/gomaasapi/v2"
)

// Config says how a region is reached.
type Config struct {
	URL    string // of the region, for example http://maas:5240/MAAS
	APIKey string // consumer:token:secret; appears in no error
	CAFile string // PEM; the system's authorities when empty
	// InsecureSkipVerify accepts any certificate of the region.
	InsecureSkipVerify bool

	MaxWrites    int           // writes in flight; 0 stands for 4
	ReadTimeout  time.Duration // 0 stands for 60 s, retries included
	WriteTimeout time.Duration // 0 stands for 180 s, retries included

	Logger    *slog.Logger      // nil discards
	Transport http.RoundTripper // nil: TCP with the settings above
	OnCall    func(Call)        // told of each finished call; may be nil
}

// Call is one finished request to the region, retries included.
type Call struct {
	Op       string // for example "maas: read machine"
	Subject  string // system id or name; may be empty
	Write    bool
	Started  time.Time
	Duration time.Duration
	Attempts int
	Status   int // HTTP status of the last answer; 0 when there was none
	Err      error
}

// Validate reports what is wrong with the configuration. It names settings and
// shows no part of the key.
func (c Config) Validate() error {
	if _, err := parseURL(c.URL); err != nil {
		return err
	}
	_, err := parseKey(c.APIKey)
	return err
}

// parseURL returns the region's base URL with a trailing slash and without an
// API version.
func parseURL(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, errors.New("maas: url: it is not set; expected one such as http://maas.example.com:5240/MAAS")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("maas: url: it is not an http or https URL; expected one such as http://maas.example.com:5240/MAAS")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("maas: url: it holds credentials, a query or a fragment; the credentials go into api_key")
	}
	base, version, versioned := gomaasapi.SplitVersionedURL(u.String())
	if versioned && version != apiVersion {
		return nil, fmt.Errorf("maas: url: it names version %s of the API; this provider speaks %s", version, apiVersion)
	}
	return url.Parse(strings.TrimRight(base, "/") + "/")
}

// parseKey splits an API key. Its error says what is wrong with the form alone.
func parseKey(key string) (*gomaasapi.OAuthToken, error) {
	if key == "" {
		return nil, errors.New("maas: api_key: it is not set; it is on the page of your MAAS user under API keys")
	}
	parts := strings.Split(key, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("maas: api_key: it has %d parts between colons; expected 3: consumer, token and secret", len(parts))
	}
	for _, p := range parts {
		if p == "" || strings.TrimFunc(p, isKeyRune) != "" {
			return nil, errors.New("maas: api_key: one of its three parts is empty or holds characters that no MAAS key has")
		}
	}
	return &gomaasapi.OAuthToken{ConsumerKey: parts[0], TokenKey: parts[1], TokenSecret: parts[2]}, nil
}

func isKeyRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_'
}

// wire returns the transport that carries one attempt.
func (c Config) wire() (http.RoundTripper, error) {
	if c.Transport != nil {
		return c.Transport, nil
	}
	std, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("maas: the process has replaced the default HTTP transport")
	}
	t := std.Clone()
	t.MaxIdleConnsPerHost = 8
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.InsecureSkipVerify}
	if c.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("maas: ca_file: %w", err)
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("maas: ca_file: %s holds no certificate in PEM form", c.CAFile)
	}
	return t, nil
}
