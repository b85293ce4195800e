package vm

import (
	"context"
	"log/slog"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/presence"
)

// Paths and pools that every host has for us. The console's folder is where
// virtlogd may write; the pool makes its files readable from afar.
const (
	ConsolePool = "muster-console"
	consoleDir  = "/var/log/libvirt/muster-console"
	CapturePool = "muster-capture"
	captureDir  = "/var/lib/libvirt/muster-capture"
)

// Manager works on the domains of one host. It is safe for concurrent use.
type Manager struct {
	host     *libvirt.Host
	log      *slog.Logger
	now      func() time.Time
	ops      *operations
	made     madeMarks
	macs     *macIndex
	leases   *leaseCache
	proof    proof         // that QEMU can write captures
	restarts chan struct{} // one restart at a time per host
}

// New returns the manager of a host. now is the clock for the owner marks.
func New(host *libvirt.Host, log *slog.Logger, now func() time.Time) *Manager {
	return &Manager{
		host: host, log: log, now: now, ops: newOperations(),
		macs: &macIndex{host: host}, leases: &leaseCache{host: host, now: now, nets: map[string]*leaseTable{}},
		restarts: make(chan struct{}, 1),
	}
}

// ConsoleLog returns the path on the host of a domain's console log.
func ConsoleLog(uuid string) string { return consoleDir + "/" + ConsoleVolume(uuid) }

// ConsoleVolume returns the name of that log in ConsolePool.
func ConsoleVolume(uuid string) string { return uuid + ".log" }

// step writes how far an operation got into the owner mark, and into the log.
// Only a create and an update that makes things do so: the mark is what the
// next run goes on from.
func (m *Manager) step(ctx context.Context, uuid string, mark *owner.Mark, step string) error {
	mark.Op.Step, mark.Op.Time = step, m.now()
	m.log.InfoContext(ctx, "vm: "+step, "vm", mark.Name, "uuid", uuid)
	return m.writeMark(ctx, uuid, mark)
}

// writeMark stores the mark in the persistent definition, and in the live one
// when there is one.
func (m *Manager) writeMark(ctx context.Context, uuid string, mark *owner.Mark) error {
	state, _, err := m.host.DomainState(ctx, uuid)
	if err != nil {
		return err
	}
	return m.host.SetMetadata(ctx, uuid, domxml.MarkURI, domxml.MarkKey, domxml.MetadataMark(*mark), running(string(state)))
}

// readMark returns a domain's owner mark, or nil when it has none.
func (m *Manager) readMark(ctx context.Context, uuid string) (*owner.Mark, error) {
	xml, err := m.host.Metadata(ctx, uuid, domxml.MarkURI)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return domxml.UnmarshalMark(xml)
}

// newOperation returns the record of an operation that begins now, here.
func (m *Manager) newOperation(step string) owner.Operation {
	return presence.NewOperation(step, m.now())
}

// NewIncarnation returns a fresh incarnation: 64 random bits.
func NewIncarnation() string { return presence.NewID() }
