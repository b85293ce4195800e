package providerdata

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

// AbandonEnv names hosts, by block name or URI and separated by commas, that
// are gone for good: a destroy of what is on one of them only forgets it.
const AbandonEnv = "MUSTER_ABANDON"

// ErrHostUnknown says that the provider's libvirt URI depends on something
// that is not created yet.
var ErrHostUnknown = errors.New("the libvirt host of the provider configuration is not known yet: its uri or credentials depend on something that is not created")

// Identity holds the rules by which names become hardware identities.
type Identity struct {
	Namespace        string
	NamespaceUnknown bool
	Prefix           hwaddr.Prefix
	TakeOver         []string // other namespaces whose objects may be managed
}

// Host is one configured libvirt host. Name is empty for the default.
type Host struct {
	Name string
	URI  string
	SSH  libvirt.SSHConfig
	TLS  libvirt.TLSConfig

	Unknown bool // something of it depends on what is not created yet
}

// Config is the provider's configuration, checked.
type Config struct {
	Identity Identity
	Default  Host
	Hosts    []Host
	Logger   *slog.Logger
}

// Data is safe for concurrent use.
type Data struct {
	Identity Identity

	cfg    Config
	byName map[string]Host // names and canonical URIs of the configured hosts
	claims *Claims
	vms    vmManagers
	gone   departed
	locks  locks

	mu     sync.Mutex
	opened map[string]*libvirt.Host // by canonical URI
	alias  map[string]*libvirt.Host // by what was asked for
	warned map[string]bool
}

// New checks the hosts' URIs and dials nothing.
func New(cfg Config) (*Data, error) {
	d := &Data{
		Identity: cfg.Identity,
		cfg:      cfg,
		byName:   map[string]Host{},
		claims:   newClaims(),
		locks:    locks{held: map[string]chan struct{}{}},
		opened:   map[string]*libvirt.Host{},
		alias:    map[string]*libvirt.Host{},
		warned:   map[string]bool{},
	}
	if err := d.configure(cfg.Default); err != nil {
		return nil, err
	}
	for _, h := range cfg.Hosts {
		if _, twice := d.byName[h.Name]; twice {
			return nil, fmt.Errorf("two host blocks are named %q", h.Name)
		}
		if err := d.configure(h); err != nil {
			return nil, fmt.Errorf("host %q: %w", h.Name, err)
		}
	}
	return d, nil
}

func (d *Data) configure(h Host) error {
	if h.Name != "" {
		d.byName[h.Name] = h
	}
	if h.Unknown {
		return nil
	}
	canonical, err := d.canonical(h)
	if err != nil {
		return err
	}
	if _, twice := d.byName[canonical]; !twice {
		d.byName[canonical] = h
	}
	return nil
}

// From returns the Data that Configure was given, or nil before the provider
// is configured (during validation).
func From(providerData any) (*Data, diag.Diagnostics) {
	if providerData == nil {
		return nil, nil
	}
	d, ok := providerData.(*Data)
	if !ok {
		return nil, diag.Diagnostics{diag.NewErrorDiagnostic("Unexpected provider data",
			fmt.Sprintf("Got %T. This is a fault of the provider; please report it.", providerData))}
	}
	return d, nil
}

func (d *Data) open(h Host) (*libvirt.Host, error) {
	return libvirt.Open(libvirt.Config{URI: h.URI, SSH: h.SSH, TLS: h.TLS, Logger: d.cfg.Logger})
}

func (d *Data) canonical(h Host) (string, error) {
	opened, err := d.open(h)
	if err != nil {
		return "", err
	}
	defer func() { _ = opened.Close() }()
	return opened.URI(), nil
}

// Host returns the host with the given URI or `host` block name; "" is the
// default. Nothing is dialled before the first call on it. The error is
// ErrHostUnknown or says what is wrong with the URI.
func (d *Data) Host(uri string) (*libvirt.Host, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h, ok := d.alias[uri]; ok {
		return h, nil
	}
	cfg, known := d.byName[uri]
	if uri == "" {
		cfg = d.cfg.Default
	} else if !known {
		cfg = Host{URI: uri}
	}
	if cfg.Unknown {
		return nil, ErrHostUnknown
	}
	h, err := d.open(cfg)
	if err != nil {
		return nil, err
	}
	return d.remember(uri, h)
}

// remember keeps one opened host per canonical URI, with the credentials of
// the block that names this URI, however it was spelt.
func (d *Data) remember(uri string, h *libvirt.Host) (*libvirt.Host, error) {
	canonical := h.URI()
	if known, ok := d.opened[canonical]; ok {
		_ = h.Close()
		d.alias[uri] = known
		return known, nil
	}
	if cfg, ok := d.byName[canonical]; ok && canonical != uri {
		_ = h.Close()
		var err error
		if h, err = d.open(cfg); err != nil {
			return nil, err
		}
	}
	d.opened[canonical] = h
	d.alias[uri] = h
	d.alias[canonical] = h
	return h, nil
}

// OpenHosts returns the hosts that were asked for so far, ordered by URI.
func (d *Data) OpenHosts() []*libvirt.Host {
	d.mu.Lock()
	defer d.mu.Unlock()
	hosts := make([]*libvirt.Host, 0, len(d.opened))
	for _, h := range d.opened {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b *libvirt.Host) int { return strings.Compare(a.URI(), b.URI()) })
	return hosts
}

// DefaultURI returns the default host's URI as configured, or unknown.
func (d *Data) DefaultURI() (uri string, unknown bool) {
	return d.cfg.Default.URI, d.cfg.Default.Unknown
}

// IsDefault reports whether uri names the default host.
func (d *Data) IsDefault(uri string) bool {
	def, err := d.Host("")
	if err != nil {
		return false
	}
	h, err := d.Host(uri)
	return err == nil && h == def
}

// WarnOnce reports true the first time it is called with key.
func (d *Data) WarnOnce(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := !d.warned[key]
	d.warned[key] = true
	return first
}

// Claims returns the registry of names and addresses claimed in this process.
func (d *Data) Claims() *Claims { return d.claims }

// Abandoned reports whether the user gave up the host with that URI or name
// through MUSTER_ABANDON.
func (d *Data) Abandoned(uri string) bool {
	h, err := d.Host(uri)
	for _, given := range strings.Split(os.Getenv(AbandonEnv), ",") {
		given = strings.TrimSpace(given)
		if given == "" {
			continue
		}
		if given == uri || err == nil && given == h.URI() {
			return true
		}
		if cfg, ok := d.byName[given]; ok && err == nil {
			if c, cerr := d.canonical(cfg); cerr == nil && c == h.URI() {
				return true
			}
		}
	}
	return false
}
