package libvirt

import (
	"context"
	"fmt"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Facts is what is known about a host.
type Facts struct {
	Hostname, HostUUID                string
	LibvirtVersion, HypervisorVersion string // "9.0.0"
	Driver                            string // "QEMU" or "TEST"
	Arch, Emulator                    string
	DomainTypes                       []string // "kvm", "qemu"; best first
	MachineDefault                    string
	CPUs                              int
	MemoryMiB, FreeMiB                int64 // of the whole machine; free counts buffers and page cache
	QEMUUser, QEMUGroup               int   // whom QEMU runs as; -1: not known
}

// Facts returns the host's facts. All but the memory are read once. The first
// call takes seven RPCs, each later one takes one.
func (h *Host) Facts(ctx context.Context) (Facts, error) {
	f, err := h.constants(ctx)
	if err != nil {
		return Facts{}, err
	}
	f.MemoryMiB, f.FreeMiB, err = h.memory(ctx)
	if err != nil {
		return Facts{}, err
	}
	return f, nil
}

// DomainType returns "kvm" when the host can run its own architecture with
// hardware help, else "qemu"; on the test driver "test". Read once.
func (h *Host) DomainType(ctx context.Context) (string, error) {
	caps, err := h.capabilities(ctx)
	if err != nil {
		return "", err
	}
	if len(caps.types) == 0 {
		return "", fault.New(fault.Invalid, "libvirt: read capabilities", h.URI(),
			"the host offers no virtual machines of its own architecture %q; is QEMU installed?", caps.arch)
	}
	return caps.types[0], nil
}

// constants reads what does not change while a host is up.
func (h *Host) constants(ctx context.Context) (Facts, error) {
	h.caps.mu.Lock()
	cached := h.caps.facts
	h.caps.mu.Unlock()
	if cached != nil {
		return *cached, nil
	}
	caps, err := h.capabilities(ctx)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{
		HostUUID: caps.hostUUID, Arch: caps.arch, Emulator: caps.emulator, DomainTypes: caps.types,
		MachineDefault: caps.machine, QEMUUser: caps.user, QEMUGroup: caps.group,
	}
	if err := h.readConstants(ctx, &f); err != nil {
		return Facts{}, err
	}
	h.caps.mu.Lock()
	h.caps.facts = &f
	h.caps.mu.Unlock()
	return f, nil
}

func (h *Host) readConstants(ctx context.Context, f *Facts) error {
	r := request{op: "read host facts"}
	var err error
	if f.Hostname, err = call(ctx, h, r, (*golibvirt.Libvirt).ConnectGetHostname); err != nil {
		return err
	}
	if f.Driver, err = call(ctx, h, r, (*golibvirt.Libvirt).ConnectGetType); err != nil {
		return err
	}
	lib, err := call(ctx, h, r, (*golibvirt.Libvirt).ConnectGetLibVersion)
	if err != nil {
		return err
	}
	hv, err := call(ctx, h, r, (*golibvirt.Libvirt).ConnectGetVersion)
	if err != nil {
		return err
	}
	f.LibvirtVersion, f.HypervisorVersion = version(lib), version(hv)
	f.CPUs, err = call(ctx, h, r, func(l *golibvirt.Libvirt) (int, error) {
		_, _, cpus, _, _, _, _, _, err := l.NodeGetInfo()
		return int(cpus), err
	})
	return err
}

// version spells libvirt's number: major * 1 000 000 + minor * 1 000 + release.
func version(n uint64) string {
	return fmt.Sprintf("%d.%d.%d", n/1_000_000, n/1_000%1_000, n%1_000)
}

// memory returns total and free memory in MiB. The statistics over all cells
// are /proc/meminfo; NodeGetInfo, whose sum over NUMA nodes misses memory that
// was plugged in later, serves only where a driver has no statistics.
func (h *Host) memory(ctx context.Context) (total, free int64, err error) {
	r := request{op: "read host memory"}
	const allCells, most = -1, 16
	stats, err := call(ctx, h, r, func(l *golibvirt.Libvirt) ([]golibvirt.NodeGetMemoryStats, error) {
		count := h.caps.memoryStats()
		if count == 0 {
			_, n, err := l.NodeGetMemoryStats(0, allCells, 0)
			if err != nil {
				return nil, err
			}
			count = min(n, most)
			h.caps.setMemoryStats(count)
		}
		list, _, err := l.NodeGetMemoryStats(count, allCells, 0)
		return list, err
	})
	if fault.Is(err, fault.Unsupported) {
		return h.memoryOfNodes(ctx)
	}
	if err != nil {
		return 0, 0, err
	}
	for _, s := range stats {
		switch s.Field { // KiB
		case "total":
			total = int64(s.Value / 1024)
		case "free", "buffers", "cached":
			free += int64(s.Value)
		}
	}
	return total, free / 1024, nil
}

func (h *Host) memoryOfNodes(ctx context.Context) (total, free int64, err error) {
	r := request{op: "read host memory"}
	kib, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (uint64, error) {
		_, kib, _, _, _, _, _, _, err := l.NodeGetInfo()
		return kib, err
	})
	if err != nil {
		return 0, 0, err
	}
	bytes, err := call(ctx, h, r, (*golibvirt.Libvirt).NodeGetFreeMemory)
	if ignoreUnsupported(err) != nil {
		return 0, 0, err
	}
	return int64(kib / 1024), int64(bytes >> 20), nil
}
