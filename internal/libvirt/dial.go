package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// keepAlive makes the kernel notice a peer that is gone: libvirt's own
// keepalive is not spoken by go-libvirt.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// hostRefusedError: the host was reached and did not let us in, or we would
// not trust it.
type hostRefusedError struct{ error }

// Unwrap returns the cause.
func (e *hostRefusedError) Unwrap() error { return e.error }

func (ep *endpoint) setDialer(cfg Config, q query) error {
	switch ep.transport {
	case transportUnix:
		ep.dial = ep.dialUnix
	case transportTCP:
		ep.dial = func(ctx context.Context) (net.Conn, error) { return dialTCP(ctx, ep.hostPort()) }
	case transportTLS:
		files, err := findPKI(cfg.TLS, q.pkiPath)
		if err != nil {
			return err
		}
		host, address := ep.host, ep.hostPort()
		ep.dial = func(ctx context.Context) (net.Conn, error) { return dialTLS(ctx, host, address, files) }
	case transportSSH:
		d, err := newSSHDialer(*ep, cfg.SSH, q)
		if err != nil {
			return err
		}
		ep.dial = d.dial
	}
	return nil
}

func (ep *endpoint) hostPort() string { return net.JoinHostPort(ep.host, strconv.Itoa(ep.port)) }

func (ep *endpoint) dialUnix(ctx context.Context) (net.Conn, error) {
	return dialSocket(ctx, ep.socket)
}

func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%w; run as root or as a member of the group that owns the socket (often libvirt)", err)
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w; is libvirtd installed and running? (systemctl status libvirtd)", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w; libvirtd does not run (systemctl status libvirtd)", err)
	default:
		return nil, err
	}
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	return d.DialContext(ctx, "tcp", address)
}
