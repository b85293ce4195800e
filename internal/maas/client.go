package maas

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/canonical/gomaasclient/client"
	"github.com/hashicorp/go-retryablehttp"
)

const (
	apiVersion          = "2.0"
	defaultMaxWrites    = 4
	defaultReadTimeout  = 60 * time.Second
	defaultWriteTimeout = 180 * time.Second
)

// Client speaks to one region. Its methods may be called concurrently.
type Client struct {
	base    *url.URL // the region, with a trailing slash
	key     string
	secrets []string
	retries http.RoundTripper
	traced  bool // the wire reports what it has written
	writes  chan struct{}
	read    time.Duration
	write   time.Duration
	log     *slog.Logger
	onCall  func(Call)
	close   func()

	mu      sync.Mutex
	skew    time.Duration
	skewed  bool
	configs map[string]string
	lookups map[string]chan struct{}
}

// New checks the configuration and returns a client. It sends nothing.
func New(cfg Config) (*Client, error) {
	base, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	token, err := parseKey(cfg.APIKey)
	if err != nil {
		return nil, err
	}
	wire, err := cfg.wire()
	if err != nil {
		return nil, err
	}
	c := &Client{
		base: base, key: cfg.APIKey,
		secrets: []string{cfg.APIKey, token.ConsumerKey, token.TokenKey, token.TokenSecret},
		writes:  make(chan struct{}, orInt(cfg.MaxWrites, defaultMaxWrites)),
		read:    orDuration(cfg.ReadTimeout, defaultReadTimeout),
		write:   orDuration(cfg.WriteTimeout, defaultWriteTimeout),
		log:     cfg.Logger, onCall: cfg.OnCall,
		configs: map[string]string{},
		lookups: map[string]chan struct{}{},
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	std, traced := wire.(*http.Transport)
	c.traced = traced
	c.close = func() {}
	if traced {
		c.close = std.CloseIdleConnections
	}
	c.retries = &retryablehttp.RoundTripper{Client: newRetryer(&attempt{token: token, wire: wire, client: c})}
	return c, nil
}

// URL returns the region's address in its canonical form, without a version.
func (c *Client) URL() string { return strings.TrimRight(c.base.String(), "/") }

// Close drops idle connections.
func (c *Client) Close() { c.close() }

// Skew returns how far the region's clock was ahead of ours at the last
// answer, and whether any answer has told. The header it is read from counts
// whole seconds.
func (c *Client) Skew() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skew, c.skewed
}

// library returns gomaasclient bound to one operation: each request that it
// sends carries the operation's context, which its own signatures lack.
func (c *Client) library(bound http.RoundTripper) (*client.Client, error) {
	return client.GetClientWithTransport(c.base.String(), c.key, apiVersion, bound)
}

// slot waits until a write may be sent.
func (c *Client) slot(ctx context.Context) (func(), error) {
	select {
	case c.writes <- struct{}{}:
		return func() { <-c.writes }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func orInt(v, otherwise int) int {
	if v > 0 {
		return v
	}
	return otherwise
}

func orDuration(v, otherwise time.Duration) time.Duration {
	if v > 0 {
		return v
	}
	return otherwise
}
