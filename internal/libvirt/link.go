package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// link is one open connection to the daemon.
type link struct {
	rpc *golibvirt.Libvirt
	w   *wire

	// Guarded by the lane's mutex.
	live    int  // callers waiting for a reply on it
	retired bool // takes no new call; closed when the last live one has ended
}

func (l *link) alive() bool {
	select {
	case <-l.w.dead:
		return false
	default:
		return true
	}
}

func (l *link) close() { l.w.abort(net.ErrClosed) }

var (
	errHandshakeCut    = errors.New("the connection was closed during the handshake")
	errHandshakeSilent = errors.New("the connection is up, but the daemon does not answer")
)

type dialerFunc func() (net.Conn, error)

// Dial implements socket.Dialer of go-libvirt.
func (f dialerFunc) Dial() (net.Conn, error) { return f() }

// handshake opens driver over conn, which it owns from now on.
func handshake(ctx context.Context, conn net.Conn, driver string) (*link, error) {
	w := newWire(conn)
	rpc := golibvirt.NewWithDialer(dialerFunc(func() (net.Conn, error) { return w, nil }))
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = rpc.ConnectToURI(golibvirt.ConnectURI(driver))
		w.release()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		w.abort(ctx.Err())
		<-done
		return nil, errHandshakeSilent
	}
	if err != nil {
		if lost := w.lost(); lost != nil && !isLibvirtError(err) {
			err = fmt.Errorf("%w: %w", errHandshakeCut, lost)
		}
		w.abort(err)
		return nil, err
	}
	return &link{rpc: rpc, w: w}, nil
}
