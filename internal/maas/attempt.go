package maas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/juju/gomaasapi/v2"
)

// maxBody bounds an answer: the list of 2,000 machines is about 15 MB.
const maxBody = 64 << 20

var errNotJSON = errors.New("the answer is HTML, not JSON: something else than MAAS answered, or a proxy in front of it")

// attempt is the innermost transport: one request, one signature. Nonces are
// used once, so a request that is sent again is signed again.
type attempt struct {
	token  *gomaasapi.OAuthToken
	wire   http.RoundTripper
	client *Client
}

// RoundTrip signs and sends one request and reads the whole answer, so that an
// answer cut short is a failed attempt and not a surprise to the decoder.
func (a *attempt) RoundTrip(req *http.Request) (*http.Response, error) {
	o := operationOf(req.Context())
	ctx := req.Context()
	var wrote atomic.Bool
	if a.client.traced {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	}
	sent := req.Clone(ctx)
	sent.Close = false // gomaasapi asks for it because of a fault of Go long repaired
	signer, err := gomaasapi.NewPlainTestOAuthSigner(a.token, "MAAS API")
	if err == nil {
		err = signer.OAuthSign(sent)
	}
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	resp, err := a.wire.RoundTrip(sent)
	o.attempted(wrote.Load() || !a.client.traced && !neverSent(err))
	if err != nil {
		o.failed(0, "", err)
		return nil, err
	}
	body, err := swallow(resp)
	if err != nil {
		o.failed(resp.StatusCode, "", err)
		return nil, err
	}
	a.client.noteClock(resp)
	if err := notJSON(resp); err != nil {
		o.failed(resp.StatusCode, "", err)
		return nil, err
	}
	o.answered(resp, body)
	return resp, nil
}

// swallow replaces the body by its content, read to the end.
func swallow(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	closeErr := resp.Body.Close()
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer was cut short: %w", err)
	case closeErr != nil:
		return nil, fmt.Errorf("the answer was cut short: %w", closeErr)
	case len(body) > maxBody:
		return nil, fmt.Errorf("the answer is longer than %d MiB", maxBody>>20)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// notJSON refuses a page in place of a success. MAAS itself answers errors
// with the type text/html, so those are judged by their status.
func notJSON(resp *http.Response) error {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return fmt.Errorf("the answer is a redirect (%d): the URL is not that of a MAAS API", resp.StatusCode)
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode < 300 && err == nil && kind == "text/html" {
		return errNotJSON
	}
	return nil
}

// noteClock remembers the region's clock against ours.
func (c *Client) noteClock(resp *http.Response) {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew, c.skewed = time.Until(date).Round(time.Second), true
}
