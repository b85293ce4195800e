package maas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// maxErrorText bounds what is kept of an error's body.
const maxErrorText = 8 << 10

const nonceUsed = "Nonce already used"

// Refusal is what the region said when it refused a request. It is in the
// chain of errors that come from such an answer.
type Refusal struct {
	Status int                 // HTTP status
	Fields map[string][]string // by the API's field names; "__all__" is the whole; may be empty
	Text   string              // the plain text, when there are no fields; no secrets
}

// Error implements error.
func (r *Refusal) Error() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		text := strings.Join(r.Fields[name], " ")
		if name != "__all__" {
			text = name + ": " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 && r.Text != "" {
		parts = []string{r.Text}
	}
	if len(parts) == 0 {
		parts = []string{http.StatusText(r.Status)}
	}
	return fmt.Sprintf("MAAS answered %d: %s", r.Status, strings.Join(parts, "; "))
}

// RefusalOf returns the region's refusal in err's chain, or nil.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// abandoned is the error of an operation that was never begun.
func (o *operation) abandoned(err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: o.name, Subject: o.subject, Err: fmt.Errorf("not sent: %w", err)}
}

// classify turns whatever ended the operation into a classified error without
// secrets. cause is what the libraries returned; what the attempts left in o
// says more and is free of request data.
func (c *Client) classify(ctx context.Context, o *operation, limit time.Duration, cause error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	kind, err := c.verdict(ctx, o, limit, cause)
	return &fault.Error{Kind: kind, Op: o.name, Subject: o.subject, Err: err}
}

func (c *Client) verdict(ctx context.Context, o *operation, limit time.Duration, cause error) (fault.Kind, error) {
	open := fault.Unavailable
	if o.class != reading && o.sent {
		open = fault.Ambiguous
	}
	switch {
	case ctx.Err() != nil:
		return open, fmt.Errorf("%s: %w", o.soFar("given up"), context.Cause(ctx))
	case errors.Is(cause, context.DeadlineExceeded):
		return open, fmt.Errorf("%s", o.soFar(fmt.Sprintf("no answer within %v", limit)))
	case isCertificate(o.err):
		return fault.Denied, fmt.Errorf("the region's certificate is not accepted: %w", o.err)
	case errors.Is(o.err, errNotJSON):
		return open, o.err
	case o.err != nil:
		return open, fmt.Errorf("no answer: %w", o.err)
	case o.status >= 200 && o.status < 300:
		return open, fmt.Errorf("the answer cannot be read: %s", c.redact(o, cause.Error()))
	case o.status == 0:
		return fault.Invalid, fmt.Errorf("not sent: %s", c.redact(o, cause.Error()))
	}
	return c.refused(o)
}

// soFar names the last failure besides the reason for stopping.
func (o *operation) soFar(reason string) string {
	switch {
	case o.err != nil:
		return fmt.Sprintf("%s after %d attempts; the last one: %v", reason, o.attempts, o.err)
	case o.status >= 300:
		return fmt.Sprintf("%s after %d attempts; the last answer: %d %s", reason, o.attempts, o.status, http.StatusText(o.status))
	}
	return reason
}

// refused classifies an answer that is an error.
func (c *Client) refused(o *operation) (fault.Kind, error) {
	r := c.refusal(o)
	switch o.status {
	case http.StatusBadRequest:
		if r.taken() {
			return fault.Conflict, r
		}
		return fault.Invalid, r
	case http.StatusUnauthorized:
		return unauthorised(o)
	case http.StatusForbidden:
		r.Text = "the key's user may not do this, or the machine is locked"
		return fault.Denied, r
	case http.StatusNotFound:
		return missing(o, r)
	case http.StatusConflict:
		if _, asked := retryAfter(o.header); asked {
			return fault.Busy, r
		}
		return fault.Conflict, r
	case http.StatusTooManyRequests:
		return fault.Busy, r
	case http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		return fault.Unsupported, r
	case http.StatusServiceUnavailable:
		if o.class == creating {
			return fault.Ambiguous, r
		}
		if strings.Contains(r.Text, "already in progress") {
			return fault.Busy, r
		}
		return fault.Unavailable, r
	}
	if o.status >= 500 && o.class != reading {
		return fault.Ambiguous, r
	}
	if o.status >= 500 {
		return fault.Unavailable, r
	}
	return fault.Invalid, r
}

// missing tells an object that is not there from an API that is not there.
func missing(o *operation, r *Refusal) (fault.Kind, error) {
	if strings.Contains(o.body, "matches the given query") || strings.Contains(o.body, "already in use") {
		return fault.NotFound, r
	}
	r.Text = "there is no such call at this address: either the URL is not that of a MAAS region, or the region is of another version"
	return fault.Unsupported, r
}

// unauthorised says what is wrong with the key in our own words: the body of a
// 401 can hold the token's secret.
func unauthorised(o *operation) (fault.Kind, error) {
	r := &Refusal{Status: o.status}
	switch b := o.body; {
	case strings.Contains(b, nonceUsed):
		r.Text = "the same request arrived twice, so something between us and the region repeats requests"
		if o.class != reading {
			return fault.Ambiguous, r
		}
	case strings.Contains(b, "Expired timestamp"):
		r.Text = "the clocks of this machine and of the region are more than five minutes apart"
	case strings.Contains(b, "Invalid API key"):
		r.Text = "the region does not know the first part of the API key (the consumer)"
	case strings.Contains(b, "Invalid access token"):
		r.Text = "the region does not know the second part of the API key (the token): it may have been deleted"
	case strings.Contains(b, "Invalid signature"):
		r.Text = "the third part of the API key (the secret) is wrong"
	default:
		r.Text = "the API key is not accepted"
	}
	return fault.Denied, r
}

// refusal reads the body of an error: fields, or a plain text.
func (c *Client) refusal(o *operation) *Refusal {
	r := &Refusal{Status: o.status}
	body := c.redact(o, o.body)
	if strings.Contains(strings.ToLower(o.header.Get("Content-Type")), "json") {
		r.Fields = fieldsOf(body)
	}
	if len(r.Fields) == 0 && !strings.Contains(body, "<") {
		r.Text = strings.TrimSpace(body)
	}
	return r
}

// fieldsOf reads {field: [text]} or {field: text}.
func fieldsOf(body string) map[string][]string {
	var raw map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &raw) != nil {
		return nil
	}
	fields := map[string][]string{}
	for name, value := range raw {
		var list []string
		var one string
		switch {
		case json.Unmarshal(value, &list) == nil:
			fields[name] = list
		case json.Unmarshal(value, &one) == nil:
			fields[name] = []string{one}
		}
	}
	return fields
}

// taken reports whether a name or an address belongs to something else.
func (r *Refusal) taken() bool {
	for _, name := range []string{"mac_addresses", "mac_address", "hostname", "name", "__all__"} {
		for _, text := range r.Fields[name] {
			if strings.Contains(text, "already in use") || strings.Contains(text, "already exists") {
				return true
			}
		}
	}
	return false
}

// redact replaces every secret of the key and of the request.
func (c *Client) redact(o *operation, text string) string {
	for _, secrets := range [][]string{o.secrets, c.secrets} {
		for _, s := range secrets {
			if len(s) > 2 {
				text = strings.ReplaceAll(text, s, "[secret]")
			}
		}
	}
	return text
}
