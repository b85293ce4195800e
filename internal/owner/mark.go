package owner

import "time"

// Mark is what an object of ours says about itself.
type Mark struct {
	Namespace   string
	Type        string // Terraform type, for example "muster_node_vm"
	Name        string
	Incarnation string // random, fresh at every create
	Complete    bool   // false from the first write until the create has ended
	NICs        []NIC
	Disks       []Disk
	Op          Operation
}

// NIC is the declared identity of one network interface.
type NIC struct {
	Name string
	MAC  string // lower case
}

// Disk is one declared disk. Created says that the volume was made for this
// object and goes with it.
type Disk struct {
	Name    string
	Target  string // device name in the domain, for example "vda"
	Pool    string
	Volume  string
	Created bool
	Doomed  bool // detached; its volume is still to be deleted
}

// Operation is the newest thing done to the object.
type Operation struct {
	ID   string
	Step string
	Time time.Time
	Host string // where it ran: hostname/pid
}

// Verdict is what Judge decides about an object that is already there.
type Verdict uint8

// The verdicts.
const (
	Continue Verdict = iota + 1 // ours and incomplete: go on with the create
	Adopt                       // complete or unmarked, and adoption was asked for
	Finished                    // ours and complete, in no state known here
	Other                       // marked by another namespace
	Unmarked                    // made by somebody else
)

// Claim is what a create knows when it meets an object of its name.
type Claim struct {
	Namespace string
	Type      string
	Name      string
	TakeOver  []string // other namespaces whose objects may be managed
	Adopt     bool     // adopt_existing
}

// Judge decides what a create may do with an object that bears mark; a nil
// mark is an object without one.
func Judge(mark *Mark, c Claim) Verdict {
	switch {
	case mark == nil && c.Adopt:
		return Adopt
	case mark == nil:
		return Unmarked
	case mark.Type != c.Type || mark.Name != c.Name || !c.manages(mark.Namespace):
		return Other
	case !mark.Complete:
		return Continue
	case c.Adopt:
		return Adopt
	default:
		return Finished
	}
}

func (c Claim) manages(namespace string) bool {
	if namespace == c.Namespace {
		return true
	}
	for _, t := range c.TakeOver {
		if t == namespace {
			return true
		}
	}
	return false
}

// Superseded reports whether a newer create than the one with the given
// incarnation owns the object. An object without a mark, or a caller without
// an incarnation (imported, moved), is not superseded.
func (m *Mark) Superseded(incarnation string) bool {
	return m != nil && incarnation != "" && m.Incarnation != "" && m.Incarnation != incarnation
}

// MACOf returns the declared address of the NIC of that name, or "".
func (m *Mark) MACOf(nic string) string {
	if m == nil {
		return ""
	}
	for _, n := range m.NICs {
		if n.Name == nic {
			return n.MAC
		}
	}
	return ""
}

// NICOf returns the declared name of the NIC with that address, or "".
func (m *Mark) NICOf(mac string) string {
	if m == nil {
		return ""
	}
	for _, n := range m.NICs {
		if n.MAC == mac {
			return n.Name
		}
	}
	return ""
}
