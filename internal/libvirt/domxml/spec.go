package domxml

import "github.com/musterlab/terraform-provider-muster/internal/owner"

// Spec is the part of a domain that we declare. Reading a definition gives a
// Spec too, so that the two can be compared field by field.
type Spec struct {
	Name       string
	UUID       string // lower case
	Type       string // virtualisation: "kvm", "qemu" or "test"
	Arch       string // "x86_64"; empty: the host's
	Emulator   string // empty: libvirt chooses
	MemoryMiB  int64
	VCPUs      int64
	CPU        CPU
	Firmware   Firmware
	Boot       Boot
	Disks      []Disk
	NICs       []NIC
	Seed       string // path of the NoCloud seed; empty: none
	ConsoleLog string // path of the console's log; empty: no console
	Capture    []Tap
	Mark       owner.Mark
}

// CPU is the guest CPU. The zero value is the default for the domain's type:
// host-passthrough with KVM, maximum without.
type CPU struct {
	Mode  string // "host-passthrough", "host-model", "maximum" or "custom"
	Model string // with "custom"
}

// Firmware is how the machine starts.
type Firmware struct {
	UEFI       bool
	SecureBoot bool
	TPM        bool   // an emulated TPM 2.0
	Machine    string // machine type; empty: "q35"
}

// Boot classes, in Boot.Order.
const (
	BootDisk    = "disk"
	BootNetwork = "network"
)

// Boot is what the machine starts from.
type Boot struct {
	Order   []string // classes, first choice first; empty: disk, network
	Kernel  string   // path on the host; empty: firmware boot
	Initrd  string
	Cmdline string
}

// Disk is one declared disk. Its serial number in the guest is its name.
type Disk struct {
	Name   string
	Target string // for example "vda"; empty: chosen when added
	Path   string // on the host
	Format string // "qcow2" or "raw"
	Bus    string // "virtio", "scsi" or "sata"
}

// NIC is one declared network interface.
type NIC struct {
	Name      string
	MAC       string // lower case
	Network   string // a libvirt network, or
	Bridge    string // a bridge of the host
	Model     string // "virtio", "e1000e", ...
	MTU       int64  // bytes; 0: none written
	BootOrder int64  // 0: after those that have one
	LinkDown  bool
}

// Tap is a packet capture of one NIC by QEMU's filter-dump object.
type Tap struct {
	NIC  string // name
	File string // path on the host
}

// DefaultOrder is the boot order of a domain that declares none.
var DefaultOrder = []string{BootDisk, BootNetwork}

// DefaultCPU returns the CPU of a domain that declares none, by its
// virtualisation type.
func DefaultCPU(domainType string) CPU {
	if domainType == "kvm" {
		return CPU{Mode: "host-passthrough"}
	}
	return CPU{Mode: "maximum"}
}
