package maas

import (
	"encoding/json"
	"strings"
)

// Machine is a node of the region as one read has seen it. A device or a
// controller has the type that NodeType tells and no status.
type Machine struct {
	SystemID    string
	NodeType    NodeType
	Hostname    string
	FQDN        string
	Description string

	Status        Status
	StatusMessage string // newest event of level INFO and above
	ErrorText     string // error_description; regions before 3.5 do not show it
	PowerState    string // "on", "off", "unknown" or "error"; lags by up to 5 minutes
	PowerType     string
	Owner         string // set while commissioning, too
	Locked        bool

	Architecture string
	Domain       string
	Pool         string
	Zone         string
	Tags         []string

	OSystem      string
	DistroSeries string
	HWEKernel    string
	MinHWEKernel string
	HardwareUUID string // SMBIOS; from the first commissioning on
	BootMethod   string // "uefi", "pxe"; empty before the first boot
	Netboot      bool
	CPUs         int
	MemoryMiB    int64

	Interfaces  []Interface
	BootMAC     string // lower case
	IPAddresses []string

	// The result sets that belong to now; 0 is none.
	CommissioningSet int64
	TestingSet       int64
	InstallationSet  int64

	CommissioningStatus ScriptStatus
	TestingStatus       ScriptStatus
}

// NodeType tells machines from what else holds MACs.
type NodeType int

// The node types.
const (
	MachineNode NodeType = iota
	DeviceNode
	RackNode
	RegionNode
	RegionAndRackNode
)

// Interface is one NIC of a node.
type Interface struct {
	ID      int
	Name    string
	Type    string // "physical", "bond", "bridge", "vlan"
	MAC     string // lower case
	Enabled bool
	VLANID  int // 0 when it is on none; VLANs count from 1
	VID     int
	MTU     int // effective_mtu
	Vendor  string
	Links   []Link
	// Discovered are addresses that DHCP was seen to hand out.
	Discovered []string
}

// Link is an address or a mode that a NIC has on a subnet.
type Link struct {
	ID   int
	Mode string // "auto", "dhcp", "static", "link_up"
	IP   string
	CIDR string
}

// MACs returns the addresses of the node's physical NICs, lower case, in the
// region's order.
func (m *Machine) MACs() []string {
	var macs []string
	for _, i := range m.Interfaces {
		if i.Type == "physical" && i.MAC != "" {
			macs = append(macs, i.MAC)
		}
	}
	return macs
}

// InterfaceByMAC returns the NIC with that address, in any case of letters.
func (m *Machine) InterfaceByMAC(mac string) (Interface, bool) {
	for _, i := range m.Interfaces {
		if strings.EqualFold(i.MAC, mac) {
			return i, true
		}
	}
	return Interface{}, false
}

type named struct {
	Name string `json:"name"`
}

// wireMachine is the part of the API's JSON that is read.
type wireMachine struct {
	SystemID     string          `json:"system_id"`
	NodeType     NodeType        `json:"node_type"`
	Hostname     string          `json:"hostname"`
	FQDN         string          `json:"fqdn"`
	Description  string          `json:"description"`
	Status       *Status         `json:"status"`
	Message      string          `json:"status_message"`
	ErrorText    string          `json:"error_description"`
	PowerState   string          `json:"power_state"`
	PowerType    string          `json:"power_type"`
	Owner        string          `json:"owner"`
	Locked       bool            `json:"locked"`
	Architecture string          `json:"architecture"`
	Domain       named           `json:"domain"`
	Pool         named           `json:"pool"`
	Zone         named           `json:"zone"`
	Tags         []string        `json:"tag_names"`
	OSystem      string          `json:"osystem"`
	DistroSeries string          `json:"distro_series"`
	HWEKernel    string          `json:"hwe_kernel"`
	MinHWEKernel string          `json:"min_hwe_kernel"`
	HardwareUUID string          `json:"hardware_uuid"`
	BootMethod   string          `json:"bios_boot_method"`
	Netboot      bool            `json:"netboot"`
	CPUs         int             `json:"cpu_count"`
	Memory       int64           `json:"memory"`
	Interfaces   []wireInterface `json:"interface_set"`
	Boot         *wireInterface  `json:"boot_interface"`
	IPs          []string        `json:"ip_addresses"`
	CommSet      int64           `json:"current_commissioning_result_id"`
	TestSet      int64           `json:"current_testing_result_id"`
	InstSet      int64           `json:"current_installation_result_id"`
	CommStatus   *ScriptStatus   `json:"commissioning_status"`
	TestStatus   *ScriptStatus   `json:"testing_status"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Machine) UnmarshalJSON(data []byte) error {
	var w wireMachine
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*m = Machine{
		SystemID: w.SystemID, NodeType: w.NodeType, Hostname: w.Hostname, FQDN: w.FQDN, Description: w.Description,
		StatusMessage: w.Message, ErrorText: w.ErrorText, PowerState: w.PowerState, PowerType: w.PowerType,
		Owner: w.Owner, Locked: w.Locked, Architecture: w.Architecture,
		Domain: w.Domain.Name, Pool: w.Pool.Name, Zone: w.Zone.Name, Tags: w.Tags,
		OSystem: w.OSystem, DistroSeries: w.DistroSeries, HWEKernel: w.HWEKernel, MinHWEKernel: w.MinHWEKernel,
		HardwareUUID: w.HardwareUUID, BootMethod: w.BootMethod, Netboot: w.Netboot, CPUs: w.CPUs, MemoryMiB: w.Memory,
		IPAddresses: w.IPs, CommissioningSet: w.CommSet, TestingSet: w.TestSet, InstallationSet: w.InstSet,
		Status: -1, CommissioningStatus: ScriptsNone, TestingStatus: ScriptsNone,
	}
	if w.Status != nil {
		m.Status = *w.Status
	}
	if w.CommStatus != nil {
		m.CommissioningStatus = *w.CommStatus
	}
	if w.TestStatus != nil {
		m.TestingStatus = *w.TestStatus
	}
	if w.Boot != nil {
		m.BootMAC = strings.ToLower(w.Boot.MAC)
	}
	for _, i := range w.Interfaces {
		m.Interfaces = append(m.Interfaces, i.plain())
	}
	return nil
}

type wireInterface struct {
	ID         int        `json:"id"`
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	MAC        string     `json:"mac_address"`
	Enabled    bool       `json:"enabled"`
	VLAN       *wireVLAN  `json:"vlan"`
	MTU        int        `json:"effective_mtu"`
	Vendor     string     `json:"vendor"`
	Links      []wireLink `json:"links"`
	Discovered []struct {
		IP string `json:"ip_address"`
	} `json:"discovered"`
}

type wireVLAN struct {
	ID  int `json:"id"`
	VID int `json:"vid"`
}

type wireLink struct {
	ID     int    `json:"id"`
	Mode   string `json:"mode"`
	IP     string `json:"ip_address"`
	Subnet *struct {
		CIDR string `json:"cidr"`
	} `json:"subnet"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *Interface) UnmarshalJSON(data []byte) error {
	var w wireInterface
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*i = w.plain()
	return nil
}

func (w wireInterface) plain() Interface {
	i := Interface{
		ID: w.ID, Name: w.Name, Type: w.Type, MAC: strings.ToLower(w.MAC), Enabled: w.Enabled, MTU: w.MTU, Vendor: w.Vendor,
	}
	if w.VLAN != nil {
		i.VLANID, i.VID = w.VLAN.ID, w.VLAN.VID
	}
	for _, l := range w.Links {
		link := Link{ID: l.ID, Mode: l.Mode, IP: l.IP}
		if l.Subnet != nil {
			link.CIDR = l.Subnet.CIDR
		}
		i.Links = append(i.Links, link)
	}
	for _, d := range w.Discovered {
		if d.IP != "" {
			i.Discovered = append(i.Discovered, d.IP)
		}
	}
	return i
}
