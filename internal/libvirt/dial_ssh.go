package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// errSocketRefused: the host was reached by ssh, but not its libvirt socket.
var errSocketRefused = errors.New("the libvirt socket could not be opened through ssh")

// sshDialer reaches a libvirt socket on another machine through
// direct-streamlocal forwarding.
type sshDialer struct {
	target hop
	jump   *hop
	socket string
	auth   sshAuth
	keys   hostKeys
}

// hop is one machine to log in to.
type hop struct {
	user, host string
	port       int
}

func (h hop) address() string { return net.JoinHostPort(h.host, strconv.Itoa(h.port)) }

func newSSHDialer(ep endpoint, cfg SSHConfig, q query) (*sshDialer, error) {
	d := &sshDialer{socket: ep.socket, target: hop{user: ep.user, host: ep.host, port: ep.port}}
	if d.target.user == "" {
		d.target.user = cfg.User
	}
	if d.target.port < 1 || d.target.port > 65535 {
		return nil, fmt.Errorf("ssh: port %d is not between 1 and 65535", d.target.port)
	}
	if d.target.user == "" {
		me, err := user.Current()
		if err != nil {
			return nil, fmt.Errorf("ssh: no user is set and the current one is not known: %w", err)
		}
		d.target.user = me.Username
	}
	if cfg.JumpHost != "" {
		jump, err := parseHop(cfg.JumpHost, d.target.user)
		if err != nil {
			return nil, err
		}
		d.jump = &jump
	}
	var err error
	if d.auth, err = newSSHAuth(cfg, q); err != nil {
		return nil, err
	}
	d.keys, err = newHostKeys(cfg, q, d.target.host)
	return d, err
}

func parseHop(s, defaultUser string) (hop, error) {
	h := hop{user: defaultUser, port: sshPort}
	rest := s
	if u, r, ok := strings.Cut(s, "@"); ok {
		h.user, rest = u, r
	}
	h.host = strings.Trim(rest, "[]")
	if host, port, err := net.SplitHostPort(rest); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return h, fmt.Errorf("ssh: jump host %q: port %q is not between 1 and 65535", s, port)
		}
		h.host, h.port = host, n
	}
	if h.host == "" || h.user == "" || strings.ContainsAny(h.host, " /") {
		return h, fmt.Errorf("ssh: jump host %q is not [user@]host[:port]", s)
	}
	return h, nil
}

// dial logs in and opens the socket. The end of ctx closes the TCP connection,
// which ends whatever ssh is waiting for.
func (d *sshDialer) dial(ctx context.Context) (net.Conn, error) {
	first := d.target
	if d.jump != nil {
		first = *d.jump
	}
	bottom, err := dialTCP(ctx, first.address())
	if err != nil {
		return nil, fmt.Errorf("ssh: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = bottom.Close() })
	defer stop()
	conn, err := d.through(ctx, bottom, first)
	if err != nil {
		_ = bottom.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ssh: %s does not answer: %w", first.address(), ctx.Err())
		}
		return nil, err
	}
	return &bottomConn{Conn: conn, bottom: bottom}, nil
}

func (d *sshDialer) through(ctx context.Context, bottom net.Conn, first hop) (net.Conn, error) {
	client, err := d.login(ctx, bottom, first)
	if err != nil {
		return nil, err
	}
	if d.jump != nil {
		inner, err := client.Dial("tcp", d.target.address())
		if err != nil {
			return nil, fmt.Errorf("ssh: jump host %s cannot reach %s: %w", first.address(), d.target.address(), err)
		}
		if client, err = d.login(ctx, inner, d.target); err != nil {
			return nil, err
		}
	}
	conn, err := client.Dial("unix", d.socket)
	if err != nil {
		return nil, d.socketError(err)
	}
	return conn, nil
}

func (d *sshDialer) login(ctx context.Context, conn net.Conn, to hop) (*ssh.Client, error) {
	auth, done, err := d.auth.methods(ctx)
	if err != nil {
		return nil, &hostRefusedError{fmt.Errorf("ssh: %s@%s: %w", to.user, to.address(), err)}
	}
	defer done()
	callback, algorithms, err := d.keys.forHost(to)
	if err != nil {
		return nil, &hostRefusedError{fmt.Errorf("ssh: %s: %w", to.address(), err)}
	}
	c, channels, requests, err := ssh.NewClientConn(conn, to.address(), &ssh.ClientConfig{
		User: to.user, Auth: auth, HostKeyCallback: callback, HostKeyAlgorithms: algorithms,
	})
	if err != nil {
		return nil, d.loginError(to, err)
	}
	return ssh.NewClient(c, channels, requests), nil
}

func (d *sshDialer) loginError(to hop, err error) error {
	var refused *hostRefusedError
	if errors.As(err, &refused) { // our own verdict on the host key
		return refused
	}
	if strings.Contains(err.Error(), "unable to authenticate") {
		return &hostRefusedError{fmt.Errorf("ssh: %s refused user %q with %s; check the user, and that its authorized_keys holds one of these keys",
			to.address(), to.user, d.auth.describe())}
	}
	return fmt.Errorf("ssh: %s: %w", to.address(), err)
}

func (d *sshDialer) socketError(err error) error {
	var open *ssh.OpenChannelError
	if errors.As(err, &open) && open.Reason == ssh.Prohibited {
		return &hostRefusedError{fmt.Errorf("ssh: %s does not forward sockets; set AllowStreamLocalForwarding yes in its sshd_config: %w", d.target.address(), err)}
	}
	return fmt.Errorf("%w: %s on %s: %w; is libvirtd running there, and may user %q open it?",
		errSocketRefused, d.socket, d.target.host, err, d.target.user)
}
