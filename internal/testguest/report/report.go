// Package report is what the test guest says of itself: the lines on its
// console that tests wait for, and the answer to the agent command
// guest-exec "collect". The guest and the tests share it.
package report

// Console lines, each the end of a line.
const (
	Booting = "muster-guest: booting"
	Ready   = "muster-guest: ready"
	Off     = "muster-guest: power off"
	Ignored = "muster-guest: power button ignored"
)

// Report is the guest's own view of its machine.
type Report struct {
	Hostname       string `json:"hostname"`
	InstanceID     string `json:"instance_id"`      // from meta-data; empty without a seed
	UserDataSHA256 string `json:"user_data_sha256"` // lower-case hex; empty without a seed
	Cmdline        string `json:"cmdline"`
	MemoryKiB      int64  `json:"memory_kib"` // MemTotal: less than the machine's by what the kernel keeps
	CPUs           int    `json:"cpus"`       // online
	Links          []Link `json:"links"`      // without the loopback
	Disks          []Disk `json:"disks"`
}

// Link is a network interface.
type Link struct {
	Name      string   `json:"name"`
	MAC       string   `json:"mac"` // lower case
	MTU       int      `json:"mtu"`
	Carrier   bool     `json:"carrier"`
	Addresses []string `json:"addresses"` // with prefix length
}

// Disk is a block device.
type Disk struct {
	Name     string `json:"name"`
	Serial   string `json:"serial"`
	Bytes    int64  `json:"bytes"`
	ReadOnly bool   `json:"read_only"`
}

// Link returns the interface with the given MAC address, lower case.
func (r Report) Link(mac string) (Link, bool) {
	for _, l := range r.Links {
		if l.MAC == mac {
			return l, true
		}
	}
	return Link{}, false
}
