package maas

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	maxRetries  = 6
	firstPause  = 250 * time.Millisecond
	longestWait = 5 * time.Second
)

type dialError = *net.OpError

// newRetryer returns the layer that sends again what may be sent again.
func newRetryer(wire http.RoundTripper) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: wire, CheckRedirect: noRedirect},
		RetryMax:     maxRetries,
		CheckRetry:   mayRetry,
		Backoff:      pause,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// noRedirect leaves redirects to the guard: a signature is for one URL.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// mayRetry decides whether the request of an operation is sent again. A write
// goes again only when the region cannot have carried it out.
func mayRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	o := operationOf(ctx)
	if err != nil {
		if isCertificate(err) {
			return false, nil
		}
		return o.class == reading || !o.mayHaveArrived(), nil
	}
	_, asked := retryAfter(resp.Header)
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return true, nil
	case http.StatusConflict:
		// With Retry-After it is the database that gave up serialising, and
		// nothing was stored; without it the machine's state forbids the call.
		return asked, nil
	case http.StatusServiceUnavailable:
		return o.class != creating, nil
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return o.class == reading, nil
	case http.StatusUnauthorized:
		return o.class == reading && strings.Contains(o.body, nonceUsed), nil
	}
	return false, nil
}

func (o *operation) mayHaveArrived() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent
}

// pause is as long as the answer asks for, else it doubles, with jitter so that
// a hundred waiting machines do not knock at once.
func pause(_, _ time.Duration, n int, resp *http.Response) time.Duration {
	if resp != nil {
		if d, ok := retryAfter(resp.Header); ok {
			return d + jitter(d/10+firstPause)
		}
	}
	d := min(firstPause<<n, longestWait)
	return d/2 + jitter(d/2)
}

func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}

func isDNS(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

func isCertificate(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
	)
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &host) ||
		errors.As(err, &invalid) || errors.As(err, &record)
}
