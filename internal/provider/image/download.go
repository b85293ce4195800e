package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	// maxResumes is how often a download that broke off is taken up again.
	maxResumes = 5
	// silence is how long the server may send nothing.
	silence = 60 * time.Second
)

var errSilent = errors.New("the server sent nothing for " + silence.String())

// download fetches a URL into a temporary file and returns it, rewound. The
// file has no name, so that nothing is left however the process ends.
func download(ctx context.Context, source string, report reportFunc) (*os.File, error) {
	f, err := os.CreateTemp("", "muster-image-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for the download: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("hide the temporary file of the download: %w", err)
	}
	d := &fetch{source: source, file: f, report: report, client: newClient()}
	if err := d.run(ctx); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("download %s: %w", shown(source), err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func newClient() *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.Logger = nil // it would log the URL, which may hold credentials
	c.RetryMax = 4
	c.HTTPClient.Timeout = 0 // the context limits the whole, errSilent each pause
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	return c
}

// fetch is one download, over as many requests as it takes.
type fetch struct {
	source string
	file   *os.File
	client *retryablehttp.Client
	report reportFunc
	done   int64
	etag   string // strong validator of what was fetched so far
}

func (d *fetch) run(ctx context.Context) error {
	var last error
	for range maxResumes + 1 {
		again, err := d.once(ctx)
		if err == nil || !again {
			return err
		}
		last = err
	}
	return fmt.Errorf("broke off %d times, the last time after %d bytes: %w", maxResumes+1, d.done, last)
}

// once sends one request and stores its body. It reports whether another one
// may go on where this one broke off.
func (d *fetch) once(ctx context.Context) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watchdog.Stop()

	resp, err := d.request(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	total, err := d.accept(resp)
	if err != nil {
		return false, err
	}
	progress := meter(d.report, "download", total)
	body := &alive{r: resp.Body, touch: func(n int) {
		watchdog.Reset(silence)
		progress(d.done + int64(n))
	}}
	n, err := io.CopyBuffer(struct{ io.Writer }{d.file}, body, make([]byte, scanBuffer))
	d.done += n
	if cause := context.Cause(ctx); cause != nil {
		return errors.Is(cause, errSilent), cause
	}
	var full *os.PathError
	if errors.As(err, &full) {
		return false, fmt.Errorf("the folder for temporary files, %s: %w", os.TempDir(), full.Err)
	}
	if err == nil && total > 0 && d.done != total {
		err = io.ErrUnexpectedEOF
	}
	return true, err
}

func (d *fetch) request(ctx context.Context) (*http.Response, error) {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, d.source, nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	req.Header.Set("User-Agent", "terraform-provider-muster")
	req.Header.Set("Accept-Encoding", "identity")
	if d.done > 0 && d.etag != "" {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(d.done, 10)+"-")
		req.Header.Set("If-Range", d.etag)
	}
	resp, err := d.client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, withoutURL(err)
	}
	return resp, nil
}

// accept checks the answer, returns the whole's size (0: not told), and starts
// over where the server did not go on.
func (d *fetch) accept(resp *http.Response) (total int64, err error) {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		return d.done + max(resp.ContentLength, 0), nil
	case http.StatusOK:
		d.done, d.etag = 0, ""
		if tag := resp.Header.Get("ETag"); len(tag) > 0 && tag[0] == '"' {
			d.etag = tag
		}
		if err := d.file.Truncate(0); err != nil {
			return 0, err
		}
		if _, err := d.file.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		return max(resp.ContentLength, 0), nil
	default:
		return 0, fmt.Errorf("the server answered %s", resp.Status)
	}
}

// alive tells of every read that brought something.
type alive struct {
	r     io.Reader
	total int
	touch func(total int)
}

// Read implements io.Reader.
func (a *alive) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.total += n
		a.touch(a.total)
	}
	return n, err
}

// withoutURL drops the URL from an error of net/http: it may hold credentials.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
