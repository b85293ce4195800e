package libvirttest

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
)

// An Option changes how a host is set up.
type Option func(*config)

type config struct {
	name         string
	unprivileged bool
	tcp          bool
	tls          bool
	detached     bool
	withoutKVM   bool
}

// WithName sets the host name that the daemon reports; the default is one that
// is unique in this process.
func WithName(name string) Option { return func(c *config) { c.name = name } }

// WithUnprivilegedQEMU runs QEMU as the user libvirt-qemu, as a distribution's
// packages do, so that file permissions matter. The default is root.
func WithUnprivilegedQEMU() Option { return func(c *config) { c.unprivileged = true } }

// WithoutKVM hides the machine's KVM, so that VMs are emulated in software. It
// is hidden from every host where the processor lacks the extensions that make
// it fast; the environment variable MUSTER_TEST_ACCEL, kvm or tcg, decides
// otherwise.
func WithoutKVM() Option { return func(c *config) { c.withoutKVM = true } }

// WithTCP makes the daemon listen on an unauthenticated TCP port; see
// [Host.TCPURI].
func WithTCP() Option { return func(c *config) { c.tcp = true } }

// WithTLS makes the daemon listen on a TLS port and require client
// certificates; see [Host.TLSURI] and [Host.PKI].
func WithTLS() Option { return func(c *config) { c.tls = true } }

// Detached lets a launched host outlive this process, until [Down].
func Detached() Option { return func(c *config) { c.detached = true } }

var hostNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// maxSocketPath is what fits into sockaddr_un with its terminating zero.
const maxSocketPath = 107

func (c *config) validate(dir string) error {
	if !hostNamePattern.MatchString(c.name) {
		return fmt.Errorf("host name %q is not a lower-case host name of at most 32 characters", c.name)
	}
	if !filepath.IsAbs(dir) {
		return errors.New("the folder of a host must be an absolute path")
	}
	if longest := filepath.Join(socketDir(dir), "libvirt-admin-sock"); len(longest) > maxSocketPath {
		return fmt.Errorf("folder %s is too long a path for its unix sockets", dir)
	}
	return nil
}
