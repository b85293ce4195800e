package maas

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// class says what may be done with a request whose outcome is open.
type class uint8

const (
	reading  class = iota // may be sent again
	writing               // may be sent again only when it was certainly not carried out
	creating              // as writing; and even a 503 may have left a new object
)

// operation is one call with all its attempts.
type operation struct {
	name, subject string
	class         class
	secrets       []string

	mu       sync.Mutex
	attempts int
	sent     bool // some attempt may have reached the region
	status   int
	body     string
	header   http.Header
	err      error // of the last attempt, when no answer could be used
}

type operationKey struct{}

// operationOf returns the operation whose context this is.
func operationOf(ctx context.Context) *operation {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		return o
	}
	return &operation{}
}

func (o *operation) attempted(sent bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempts++
	o.sent = o.sent || sent
}

func (o *operation) failed(status int, body string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status, o.body, o.header, o.err = status, body, nil, err
}

func (o *operation) answered(resp *http.Response, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status, o.header, o.err = resp.StatusCode, resp.Header.Clone(), nil
	o.body = ""
	if resp.StatusCode >= 300 {
		o.body = string(body[:min(len(body), maxErrorText)])
	}
}

// retryAfter returns the wait that an answer asks for.
func retryAfter(h http.Header) (time.Duration, bool) {
	s := strings.TrimSpace(h.Get("Retry-After"))
	seconds, err := strconv.Atoi(s)
	if err != nil || seconds < 0 {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// bound puts an operation's context into every request and takes Retry-After
// out of every answer: gomaasapi would sleep on it, deaf to the context.
type bound struct {
	ctx    context.Context // of the one operation that this transport lives for
	client *Client
}

// RoundTrip implements http.RoundTripper.
func (b *bound) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.client.retries.RoundTrip(req.WithContext(b.ctx))
	if err != nil {
		return nil, err
	}
	resp.Header.Del("Retry-After")
	return resp, nil
}

// run carries out one operation: it waits for a slot, bounds the time, and
// classifies what went wrong.
func (c *Client) run(ctx context.Context, o *operation, f func(http.RoundTripper) error) error {
	limit := c.read
	if o.class != reading {
		limit = c.write
		release, err := c.slot(ctx)
		if err != nil {
			return o.abandoned(err)
		}
		defer release()
	}
	started := time.Now()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f(&bound{ctx: context.WithValue(bounded, operationKey{}, o), client: c})
	if err != nil {
		err = c.classify(ctx, o, limit, err)
	}
	c.tell(o, started, err)
	return err
}

// tell reports a finished call.
func (c *Client) tell(o *operation, started time.Time, err error) {
	o.mu.Lock()
	call := Call{
		Op: o.name, Subject: o.subject, Write: o.class != reading, Started: started,
		Duration: time.Since(started), Attempts: o.attempts, Status: o.status, Err: err,
	}
	o.mu.Unlock()
	c.log.Debug("maas call", "op", call.Op, "subject", call.Subject, "status", call.Status,
		"attempts", call.Attempts, "duration", call.Duration)
	if c.onCall != nil {
		c.onCall(call)
	}
}

// neverSent reports whether an attempt failed before a byte left.
func neverSent(err error) bool {
	var dial dialError
	return errors.As(err, &dial) && dial.Op == "dial" || isDNS(err) || isCertificate(err)
}
