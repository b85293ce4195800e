package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The daemon's socket for the system, and the ports libvirt listens on.
const (
	systemSocket = "/var/run/libvirt/libvirt-sock"
	tcpPort      = 16509
	tlsPort      = 16514
	sshPort      = 22
)

// transports as they stand after the plus sign of a URI's scheme.
const (
	transportUnix = "unix"
	transportSSH  = "ssh"
	transportTLS  = "tls"
	transportTCP  = "tcp"
)

var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?$`)

// endpoint is a parsed URI: what to dial and which driver to ask for.
type endpoint struct {
	canonical string
	shown     string // the URI as given, without a password
	driver    string // qemu:///system, as the daemon wants it
	transport string
	host      string // remote transports
	port      int
	user      string
	socket    string // local, or on the host behind ssh
	dial      func(context.Context) (net.Conn, error)
}

// parseEndpoint reads and checks a libvirt URI. Credentials do not belong in
// one, and what would switch off a check of the peer is refused.
func parseEndpoint(cfg Config) (endpoint, error) {
	u, err := url.Parse(cfg.URI)
	if err != nil {
		// url.Error repeats the text, in which there may be a password.
		return endpoint{}, errors.New("not a URI; for example qemu:///system or qemu+ssh://root@host/system")
	}
	ep := endpoint{shown: u.Redacted()}
	if err := ep.scheme(u); err != nil {
		return ep, err
	}
	if err := ep.address(u, cfg.SSH.Port); err != nil {
		return ep, err
	}
	q, err := parseQuery(u, ep.transport)
	if err != nil {
		return ep, err
	}
	if err := ep.setSocket(q.socket); err != nil {
		return ep, err
	}
	ep.canonical = ep.canonicalURI()
	return ep, ep.setDialer(cfg, q)
}

func (ep *endpoint) scheme(u *url.URL) error {
	driver, transport, explicit := strings.Cut(strings.ToLower(u.Scheme), "+")
	switch {
	case explicit:
	case u.Host == "":
		transport = transportUnix
	default:
		transport = transportTLS
	}
	switch transport {
	case transportUnix, transportSSH, transportTLS, transportTCP:
		ep.transport = transport
	default:
		return fmt.Errorf("unknown transport %q; there are unix, ssh, tls and tcp", transport)
	}
	path := u.Path
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	switch {
	case driver == "qemu" && (path == "/system" || path == "/session"), driver == "test" && path == "/default":
		ep.driver = driver + "://" + path
		return nil
	case driver == "qemu" || driver == "test":
		return fmt.Errorf("unknown path %q; there are qemu:///system, qemu:///session and test:///default", u.Path)
	default:
		return fmt.Errorf("unknown driver %q; there are qemu and test", driver)
	}
}

func (ep *endpoint) address(u *url.URL, configuredPort int) error {
	if _, has := u.User.Password(); has {
		return errors.New("a password does not belong in a URI; use a key or the agent")
	}
	if u.Fragment != "" {
		return errors.New("a URI of libvirt has no #fragment")
	}
	ep.host, ep.user = strings.ToLower(u.Hostname()), u.User.Username()
	if ep.transport == transportUnix {
		if u.Host != "" || u.User != nil {
			return fmt.Errorf("a local URI has no host; use %s+ssh:// for another machine", strings.Split(ep.driver, ":")[0])
		}
		return nil
	}
	if ep.host == "" {
		return fmt.Errorf("transport %s needs a host", ep.transport)
	}
	if !hostName.MatchString(ep.host) && net.ParseIP(ep.host) == nil {
		return fmt.Errorf("host %q is neither a host name nor an IP address", ep.host)
	}
	if ep.user != "" && ep.transport != transportSSH {
		return fmt.Errorf("transport %s takes no user", ep.transport)
	}
	ep.port = ep.defaultPort()
	if ep.transport == transportSSH && configuredPort != 0 {
		ep.port = configuredPort
	}
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("port %q is not between 1 and 65535", p)
		}
		ep.port = n
	}
	return nil
}

func (ep *endpoint) defaultPort() int {
	switch ep.transport {
	case transportSSH:
		return sshPort
	case transportTLS:
		return tlsPort
	default:
		return tcpPort
	}
}

func (ep *endpoint) setSocket(socket string) error {
	switch {
	case ep.transport != transportUnix && ep.transport != transportSSH:
	case socket != "" && !filepath.IsAbs(socket):
		return fmt.Errorf("socket %q is not an absolute path", socket)
	case socket != "":
		ep.socket = filepath.Clean(socket)
	case !ep.session():
		ep.socket = systemSocket
	case ep.transport == transportSSH:
		return errors.New("qemu:///session over ssh needs ?socket=/run/user/UID/libvirt/libvirt-sock")
	default:
		ep.socket = sessionSocket()
	}
	return nil
}

// canonicalURI leaves out every default and whatever says how to log in or
// what to trust, so that equal hosts have one name.
func (ep *endpoint) canonicalURI() string {
	scheme, path, _ := strings.Cut(ep.driver, "://")
	authority, query := "", ""
	if ep.transport != transportUnix {
		scheme += "+" + ep.transport
		authority = ep.host
		if strings.Contains(ep.host, ":") {
			authority = "[" + ep.host + "]"
		}
		if ep.port != ep.defaultPort() {
			authority += ":" + strconv.Itoa(ep.port)
		}
		if ep.user != "" {
			authority = url.User(ep.user).String() + "@" + authority
		}
	}
	if ep.socket != "" && !ep.usualSocket() {
		if ep.transport == transportUnix && scheme == "qemu" {
			scheme += "+" + transportUnix
		}
		// A path needs no escaping for its slashes, and reads better so.
		query = "?socket=" + strings.ReplaceAll(url.QueryEscape(ep.socket), "%2F", "/")
	}
	return scheme + "://" + authority + path + query
}

// usualSocket reports whether the socket is where the driver's daemon has it
// unless told otherwise, in either spelling of the system's.
func (ep *endpoint) usualSocket() bool {
	if ep.session() {
		return ep.transport == transportUnix && ep.socket == sessionSocket()
	}
	return ep.socket == systemSocket || ep.socket == strings.TrimPrefix(systemSocket, "/var")
}

func (ep *endpoint) session() bool { return strings.HasSuffix(ep.driver, "/session") }

func sessionSocket() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = fmt.Sprintf("/run/user/%d", os.Getuid())
	}
	return filepath.Join(dir, "libvirt", "libvirt-sock")
}
