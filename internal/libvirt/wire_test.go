package libvirt

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// packet builds one packet of libvirt's remote program.
func packet(proc, kind, serial, status uint32, body []byte) []byte {
	p := make([]byte, headerSize, headerSize+len(body))
	for i, v := range []uint32{uint32(headerSize + len(body)), remoteProgram, 1, proc, kind, serial, status} {
		binary.BigEndian.PutUint32(p[4*i:], v)
	}
	return append(p, body...)
}

func TestFramer_followsPacketsInAnyChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		opensAt, endsAt, tail := -1, -1, 0
		for range rapid.IntRange(0, 6).Draw(t, "packets") {
			proc := rapid.SampledFrom([]uint32{procOpen, 66, 209}).Draw(t, "proc")
			kind := rapid.SampledFrom([]uint32{0, typeReply, typeStream}).Draw(t, "kind")
			status := rapid.Uint32Range(0, 2).Draw(t, "status")
			body := rapid.SliceOfN(rapid.Byte(), 0, 90).Draw(t, "body")
			if endsAt >= 0 {
				tail += headerSize + len(body)
			}
			stream = append(stream, packet(proc, kind, 1, status, body)...)
			if kind == typeStream && (status != statusMore || len(body) == 0) && endsAt < 0 {
				endsAt = len(stream)
			}
			if proc == procOpen && kind == typeReply && opensAt < 0 && endsAt < 0 {
				opensAt = len(stream)
			}
		}
		var f framer
		for at := 0; at < len(stream); {
			n := rapid.IntRange(1, len(stream)-at).Draw(t, "chunk")
			pass, err := f.feed(stream[at : at+n])
			if err != nil {
				t.Fatal(err)
			}
			if beyond := at + n - (len(stream) - tail); endsAt >= 0 && beyond > 0 {
				if want := max(0, n-beyond); pass != want || !f.ended {
					t.Fatalf("at the end of a stream %d of %d bytes pass, want %d", pass, n, want)
				}
				return
			}
			if pass != n {
				t.Fatalf("%d of %d bytes pass", pass, n)
			}
			at += n
			if want := opensAt >= 0 && at >= opensAt; f.opened != want {
				t.Fatalf("after %d of %d bytes: opened %v", at, len(stream), f.opened)
			}
		}
		if f.have != 0 || f.body != 0 {
			t.Fatalf("at the end: %d bytes of a header, %d of a body", f.have, f.body)
		}
	})
}

func TestWire_refusesWhatIsNotLibvirt(t *testing.T) {
	for _, greeting := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\x00\x00\x00\x03abc"} {
		here, there := net.Pipe()
		go func() {
			_, _ = io.WriteString(there, greeting)
		}()
		_, err := handshake(t.Context(), here, "qemu:///system")
		if !errors.Is(err, errNotLibvirt) {
			t.Errorf("%q: %v", greeting, err)
		}
		_ = there.Close()
	}
}

// serveHandshake answers auth list (66) and open, then closes at once.
func serveHandshake(conn net.Conn, openStatus uint32, openBody []byte) {
	defer conn.Close()
	for {
		var h [headerSize]byte
		if _, err := io.ReadFull(conn, h[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(h[:4])-headerSize)
		if _, err := io.ReadFull(conn, body); err != nil {
			return
		}
		proc, serial := binary.BigEndian.Uint32(h[12:]), binary.BigEndian.Uint32(h[20:])
		if proc == procOpen {
			_, _ = conn.Write(packet(proc, typeReply, serial, openStatus, openBody))
			return
		}
		_, _ = conn.Write(packet(proc, typeReply, serial, 0, []byte{0, 0, 0, 1, 0, 0, 0, 0}))
	}
}

// The loss of a connection right after the handshake is where go-libvirt races
// with itself; the race detector watches this test.
func TestHandshake_connectionLostAtOnce(t *testing.T) {
	for range 200 {
		here, there := net.Pipe()
		go serveHandshake(there, 0, nil)
		lk, err := handshake(t.Context(), here, "qemu:///system")
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-lk.w.dead:
		case <-time.After(5 * time.Second):
			t.Fatal("the loss is not seen")
		}
		if _, err := lk.rpc.ConnectGetLibVersion(); err == nil {
			t.Fatal("an answer over a lost connection")
		}
	}
}

func TestHandshake_endsWithItsContext(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := handshake(ctx, here, "qemu:///system")
	if !errors.Is(err, errHandshakeSilent) {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Fatalf("took %s", took)
	}
}
