package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// remote reports whether a source is fetched by HTTP.
func remote(source string) bool {
	s := strings.ToLower(source)
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// checkSource refuses what is neither a path nor an http(s) URL.
func checkSource(source string) error {
	if source == "" {
		return errors.New("the source is empty: want a path or an http(s) URL")
	}
	scheme, rest, ok := strings.Cut(source, "://")
	if !ok {
		return nil
	}
	if !remote(source) {
		return fmt.Errorf("sources by %q are not supported: want a path or an http(s) URL", scheme)
	}
	u, err := url.Parse(source)
	if err != nil || u.Host == "" || rest == "" {
		return errors.New("the URL cannot be read: want http(s)://HOST/PATH")
	}
	return nil
}

// shown returns a source without what may be secret in a URL.
func shown(source string) string {
	if !remote(source) {
		return source
	}
	u, err := url.Parse(source)
	if err != nil {
		return "the URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// stamp tells versions of a file apart without reading it.
type stamp struct {
	Path  string    `json:"path"`
	Size  int64     `json:"size"`
	MTime time.Time `json:"mtime"`
}

// remembered is the content of a file as it was when it had that stamp. It is
// kept in the resource's private state.
type remembered struct {
	Stamp   stamp   `json:"stamp"`
	Content content `json:"content"`
}

// readLocal returns the content of the file at path. A memory whose stamp
// still fits saves the reading.
func readLocal(ctx context.Context, path string, memory *remembered) (remembered, error) {
	f, st, err := openLocal(path)
	if err != nil {
		return remembered{}, err
	}
	defer func() { _ = f.Close() }()
	if memory != nil && memory.Stamp.Path == st.Path && memory.Stamp.Size == st.Size && memory.Stamp.MTime.Equal(st.MTime) {
		return *memory, nil
	}
	c, err := scan(ctx, f, nil)
	if err != nil {
		return remembered{}, fmt.Errorf("read %s: %w", path, err)
	}
	return remembered{Stamp: st, Content: c}, nil
}

// openLocal opens a regular file.
func openLocal(path string) (*os.File, stamp, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, stamp{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, stamp{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, stamp{}, err
	}
	return f, stamp{Path: absolute, Size: info.Size(), MTime: info.ModTime().UTC()}, nil
}

// isMissing reports whether a local source is not there (yet).
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// opened is a source whose content is known, ready to be read.
type opened struct {
	content content
	file    io.ReadSeekCloser
}

// openSource makes a source readable: a local file in its place, a URL through
// a temporary file that is gone with the process.
func openSource(ctx context.Context, source string, report reportFunc) (opened, error) {
	if !remote(source) {
		f, _, err := openLocal(source)
		if err != nil {
			return opened{}, err
		}
		return scanned(ctx, f, meter(report, "read", fileSize(f)))
	}
	f, err := download(ctx, source, report)
	if err != nil {
		return opened{}, err
	}
	return scanned(ctx, f, nil)
}

func fileSize(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// scanned reads f once to learn its content and rewinds it.
func scanned(ctx context.Context, f io.ReadSeekCloser, report func(int64)) (opened, error) {
	c, err := scan(ctx, f, report)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return opened{}, err
	}
	return opened{content: c, file: f}, nil
}
