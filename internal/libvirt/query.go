package libvirt

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// query holds the parameters of a libvirt URI that mean something here.
type query struct {
	socket, keyFile, knownHosts, pkiPath string
	agent                                *bool
}

// parseQuery reads the parameters. Those of other clients that say how to
// reach the socket through a shell (netcat, mode, proxy, no_tty) are passed
// over, for a forwarded socket needs none; an unknown one is an error, and so
// is one that would switch a check off.
func parseQuery(u *url.URL, transport string) (query, error) {
	var q query
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return q, fmt.Errorf("the part after the question mark cannot be read")
	}
	for key, all := range values {
		if err := q.set(transport, key, all[len(all)-1]); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (q *query) set(transport, key, value string) error {
	only := func(dst *string, transports ...string) error {
		if !slices.Contains(transports, transport) {
			return fmt.Errorf("parameter %q does not fit transport %s", key, transport)
		}
		*dst = value
		return nil
	}
	switch key {
	case "socket":
		return only(&q.socket, transportUnix, transportSSH)
	case "keyfile":
		return only(&q.keyFile, transportSSH)
	case "known_hosts":
		return only(&q.knownHosts, transportSSH)
	case "pkipath":
		return only(&q.pkiPath, transportTLS)
	case "sshauth":
		return q.setAuth(value)
	case "no_verify", "no_sanity":
		if value == "0" || value == "" {
			return nil
		}
		return fmt.Errorf("parameter %q is refused: the peer is always checked; pin its key with host_keys instead", key)
	case "known_hosts_verify":
		if value == "normal" {
			return nil
		}
		return fmt.Errorf("parameter %q is refused: the host key is always checked; pin it with host_keys instead", key)
	case "netcat", "mode", "proxy", "no_tty":
		return nil
	default:
		return fmt.Errorf("unknown parameter %q; there are socket, keyfile, known_hosts, sshauth and pkipath", key)
	}
}

func (q *query) setAuth(value string) error {
	agent := false
	for _, method := range strings.Split(value, ",") {
		switch strings.ToLower(method) {
		case "agent":
			agent = true
		case "privkey":
		default:
			return fmt.Errorf("sshauth %q is not supported; there are agent and privkey", method)
		}
	}
	if !agent {
		q.agent = &agent
	}
	return nil
}
