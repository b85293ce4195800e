package libvirt

import (
	"bytes"
	"net"
	"strings"
	"testing"
)

// byteConn is a peer that says what it was given.
type byteConn struct {
	net.Conn
	r *bytes.Reader
}

func (c byteConn) Read(p []byte) (int, error) { return c.r.Read(p) }
func (c byteConn) Close() error               { return nil }

// Whatever a peer sends, go-libvirt is given whole packets of a sane length.
func FuzzWire(f *testing.F) {
	f.Add(packet(66, typeReply, 1, 0, []byte{0, 0, 0, 0}), 7)
	f.Add(append(packet(209, typeStream, 3, statusMore, []byte("data")), packet(209, typeReply, 3, 0, nil)...), 30)
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), 100)
	f.Fuzz(func(t *testing.T, sent []byte, size int) {
		w := newWire(byteConn{r: bytes.NewReader(sent)})
		w.release()
		p := make([]byte, 1+uint(size)%300)
		var check framer
		total := 0
		for {
			n, err := w.Read(p)
			if err != nil {
				break
			}
			total += n
			if pass, err := check.feed(p[:n]); err != nil || pass != n {
				t.Fatalf("passed on what is no packet: %d of %d, %v", pass, n, err)
			}
		}
		if total > len(sent) {
			t.Fatalf("%d bytes became %d", len(sent), total)
		}
	})
}

func FuzzParsePin(f *testing.F) {
	for _, s := range []string{"SHA256:abc", "host SHA256:abc=", "ssh-ed25519 AAAA", "h ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9v"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePin(s)
		if err == nil && !strings.HasPrefix(p.fingerprint, "SHA256:") {
			t.Fatalf("%q is accepted as %+v", s, p)
		}
	})
}

func FuzzParseHop(f *testing.F) {
	for _, s := range []string{"h", "u@h", "u@h:22", "[::1]:22", "u@[::1]", "a b", ":", "@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := parseHop(s, "me")
		if err == nil && (h.host == "" || h.user == "" || h.port < 1 || h.port > 65535) {
			t.Fatalf("%q is accepted as %+v", s, h)
		}
	})
}
