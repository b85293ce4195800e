package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func qcow2(version uint32, size uint64, backing uint64, features uint64) []byte {
	h := make([]byte, headerSize)
	copy(h, "QFI\xfb")
	binary.BigEndian.PutUint32(h[4:], version)
	binary.BigEndian.PutUint64(h[8:], backing)
	binary.BigEndian.PutUint64(h[24:], size)
	binary.BigEndian.PutUint64(h[72:], features)
	return h
}

func TestDetect(t *testing.T) {
	for name, c := range map[string]struct {
		header  []byte
		format  string
		virtual int64
		refused string
	}{
		"raw":            {[]byte("\xeb\x63\x90anything"), formatRaw, 4096, ""},
		"qcow2":          {qcow2(3, 1<<30, 0, 0), formatQCOW2, 1 << 30, ""},
		"old qcow2":      {qcow2(2, 1<<20, 0, 0)[:72], formatQCOW2, 1 << 20, ""},
		"overlay":        {qcow2(3, 1<<30, 512, 0), "", 0, "backing file"},
		"data elsewhere": {qcow2(3, 1<<30, 0, 4), "", 0, "another file"},
		"corrupt":        {qcow2(3, 1<<30, 0, 2), "", 0, "corrupt"},
		"version":        {qcow2(9, 1<<30, 0, 0), "", 0, "version 9"},
		"cut short":      {qcow2(3, 1<<30, 0, 0)[:40], "", 0, "cut short"},
		"size":           {qcow2(3, 0, 0, 0), "", 0, "virtual size"},
		"xz":             {[]byte("\xfd7zXZ\x00..."), "", 0, "xz"},
		"page":           {[]byte("<!DOCTYPE html>"), "", 0, "HTML"},
	} {
		format, virtual, err := detect(c.header, 4096)
		if c.refused == "" && (err != nil || format != c.format || virtual != c.virtual) {
			t.Errorf("%s: %q %d %v", name, format, virtual, err)
		}
		if c.refused != "" && (!errors.Is(err, errNotAnImage) || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := detect(nil, 0); err == nil {
		t.Error("an empty file is an image")
	}
}

func FuzzDetect(f *testing.F) {
	f.Add(qcow2(3, 1<<30, 0, 0))
	f.Add([]byte("QFI\xfb"))
	f.Fuzz(func(t *testing.T, header []byte) {
		format, virtual, err := detect(header, int64(len(header)))
		if err == nil && (format == "" || virtual <= 0) {
			t.Errorf("%q %d", format, virtual)
		}
	})
}

func TestReadLocal_remembersUntilTheFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := readLocal(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	forged := first
	forged.Content.SHA256 = "remembered"
	if got, err := readLocal(t.Context(), path, &forged); err != nil || got.Content.SHA256 != "remembered" {
		t.Errorf("%+v %v", got, err)
	}
	if err := os.Chtimes(path, time.Time{}, first.Stamp.MTime.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got, err := readLocal(t.Context(), path, &forged); err != nil || got.Content != first.Content {
		t.Errorf("%+v %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readLocal(ctx, path, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := readLocal(t.Context(), filepath.Dir(path), nil); err == nil {
		t.Error("a folder is an image")
	}
}

func TestCheckSource(t *testing.T) {
	for source, ok := range map[string]bool{
		"disk.img": true, "/a/b": true, "https://example.org/x": true, "HTTP://example.org": true,
		"": false, "s3://bucket/x": false, "file:///x": false, "https://": false, "https:///x": false,
	} {
		if err := checkSource(source); (err == nil) != ok {
			t.Errorf("%q: %v", source, err)
		}
	}
}

func TestShown_keepsSecretsBack(t *testing.T) {
	if got := shown("https://user:pw@example.org/x.img?token=t#f"); got != "https://example.org/x.img" {
		t.Error(got)
	}
}

func TestDownload_goesOnWhereItBrokeOff(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	requests := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.Header().Set("ETag", `"v1"`)
		if requests < 3 {
			from := 0
			_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
			if from > 0 {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
				w.WriteHeader(http.StatusPartialContent)
			}
			_, _ = w.Write(data[from : from+300_000])
			return
		}
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
	}))
	defer srv.Close()
	f, err := download(t.Context(), srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, data) || requests != 3 {
		t.Errorf("%d bytes of %d in %d requests: %v", len(got), len(data), requests, err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "muster-image-*")); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %q %v", left, err)
	}
}

func TestDownload_givesUpWithTheCause(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("x"))
	}))
	defer srv.Close()
	_, err := download(t.Context(), srv.URL+"/x?token=geheim", nil)
	if err == nil || !strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "geheim") {
		t.Error(err)
	}
	srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := download(ctx, srv.URL+"/x?token=geheim", nil); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "geheim") {
		t.Error(err)
	}
}

func TestMeter_rateAndRemaining(t *testing.T) {
	var got []report
	m := meter(func(r report) { got = append(got, r) }, "upload", 100)
	m(10) // too early
	m(100)
	if len(got) != 1 || got[0].Done != 100 || got[0].Stage != "upload" || got[0].Rate <= 0 || got[0].Remaining != 0 {
		t.Errorf("%+v", got)
	}
	meter(nil, "read", 1)(1)
}

func TestMarkerNames(t *testing.T) {
	c := content{SHA256: strings.Repeat("ab", 32), Format: formatRaw}
	v := volumeName("base", c)
	if v != "base-abababababababab.raw" {
		t.Error(v)
	}
	volume, inc, ok := splitMarker(markerName(v, "0123"))
	if !ok || volume != v || inc != "0123" {
		t.Error(volume, inc, ok)
	}
	if _, _, ok := splitMarker(v); ok {
		t.Error("a volume is a marker")
	}
}

func TestScanner_findsTheLastSolidByte(t *testing.T) {
	data := make([]byte, 100_000)
	for _, at := range []int{-1, 0, 1, 4095, 4096, 50_000, 99_999} {
		clear(data)
		if at >= 0 {
			data[at] = 1
		}
		for _, chunk := range []int{1, 4096, 7000, 200_000} {
			s := newScanner(t.Context(), bytes.NewReader(data), nil)
			if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{s}, make([]byte, chunk)); err != nil {
				t.Fatal(err)
			}
			if s.solid != int64(at+1) || s.n != int64(len(data)) {
				t.Errorf("a byte at %d, read by %d: solid %d of %d", at, chunk, s.solid, s.n)
			}
		}
	}
}
