package maas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/canonical/gomaasclient/client"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// request is one call that gomaasclient lacks or gets wrong.
type request struct {
	op, subject string
	class       class
	method      string
	path        string // below api/2.0/, with a trailing slash
	query       url.Values
	form        url.Values
	secrets     []string
}

// call sends a request and decodes the JSON answer into out, which may be nil.
func (c *Client) call(ctx context.Context, r request, out any) error {
	o := &operation{name: r.op, subject: r.subject, class: r.class, secrets: r.secrets}
	return c.run(ctx, o, func(bound http.RoundTripper) error {
		body, err := c.exchange(bound, r)
		if err != nil || out == nil {
			return err
		}
		return json.Unmarshal(body, out)
	})
}

// errRefused ends an exchange whose answer is an error; the operation holds it.
var errRefused = errors.New("refused")

func (c *Client) exchange(bound http.RoundTripper, r request) ([]byte, error) {
	u := *c.base
	u.Path += "api/" + apiVersion + "/" + r.path
	u.RawQuery = r.query.Encode()
	var body io.Reader
	if r.form != nil {
		body = strings.NewReader(r.form.Encode())
	}
	//nolint:noctx // the bound transport puts the operation's context into it
	req, err := http.NewRequest(r.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if r.form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := bound.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		return nil, errRefused
	}
	return io.ReadAll(resp.Body)
}

// viaLibrary runs a call of gomaasclient.
func (c *Client) viaLibrary(ctx context.Context, o *operation, f func(*client.Client) error) error {
	return c.run(ctx, o, func(bound http.RoundTripper) error {
		lib, err := c.library(bound)
		if err != nil {
			return errors.New("the client library refuses the configuration") // its text holds the key
		}
		return f(lib)
	})
}

var systemID = regexp.MustCompile(`^[a-z0-9]{4,16}$`)

// checkID refuses what cannot be a system id before it becomes part of a path.
func checkID(op, id string) error {
	if !systemID.MatchString(id) {
		return fault.New(fault.Invalid, op, fmt.Sprintf("%.40q", id), "that is not a system id of MAAS")
	}
	return nil
}
