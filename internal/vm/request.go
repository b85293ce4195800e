package vm

import (
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// Power is what is wanted of a domain's power state.
type Power string

// The power settings.
const (
	PowerOn       Power = "on"
	PowerOff      Power = "off"
	PowerExternal Power = "external" // somebody else starts and stops it
)

// Request is a domain as it should be.
type Request struct {
	Spec      domxml.Spec // without paths of disks, seed, console and without a mark
	Disks     []DiskRequest
	Seed      *SeedRequest // nil: none
	Console   bool
	Capture   *CaptureRequest // nil: none
	Power     Power
	Autostart bool
	Ready     Ready
	Restart   bool          // resolve what waits for a power cycle at once
	Shutdown  time.Duration // how long a guest gets to shut down before it is forced
	Adopt     bool
	Claim     owner.Claim
	Known     domxml.Names // devices of a domain without a mark that are ours
}

// DiskRequest is one declared disk.
type DiskRequest struct {
	Name    string
	Pool    string
	Image   string // "POOL/VOLUME" or an absolute path; empty: a blank disk
	SizeMiB int64  // 0: the image's size
	Bus     string
}

// SeedRequest is a NoCloud seed. Its volume is named by the digest of its
// content.
type SeedRequest struct {
	Pool   string
	Digest string // hexadecimal
	ISO    []byte
}

// Observed is a domain as it is.
type Observed struct {
	Definition domxml.Definition
	State      string // libvirt's state, for example "running"
	Autostart  bool
	DiskMiB    map[string]int64  // by disk name; absent: unknown
	Pools      map[string]string // by disk name, where the mark says so
	Addresses  map[string]string // by NIC name
	Pending    []string          // fields that wait for a power cycle
}

// Running reports whether the domain has a process.
func (o *Observed) Running() bool { return running(o.State) }

func running(state string) bool {
	switch state {
	case "shutoff", "crashed", "nostate", "":
		return false
	default:
		return true
	}
}

// Problem is a refusal that names the declared field to blame. Field is a
// top-level argument, or a block and the name of its element, with an argument
// of it behind a dot: `memory_mib`, `nic "lan".network`.
type Problem struct {
	Field    string
	Happened string
	Expected string
	Todo     string
	Err      error // the cause; may be nil
}

// Error implements error.
func (p *Problem) Error() string {
	s := p.Happened
	if p.Field != "" {
		s = p.Field + ": " + s
	}
	return s
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }
