package libvirt

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

const (
	defaultAgentTimeout = 10 * time.Second
	agentGrace          = 5 * time.Second // what the daemon may take beyond the guest's own time
)

// Agent sends one JSON command to the guest agent and returns its JSON reply.
// The timeout, whole seconds and at least one, is the guest's; 0 means 10 s.
// fault.Busy means that no agent is connected (yet).
func (h *Host) Agent(ctx context.Context, uuid, command string, timeout time.Duration) (string, error) {
	dom, err := domainRef(uuid)
	if err != nil {
		return "", err
	}
	if timeout <= 0 {
		timeout = defaultAgentTimeout
	}
	seconds := int32((timeout + time.Second - 1) / time.Second)
	r := request{op: "agent command of domain", subject: uuid, class: write, guest: true, timeout: timeout + agentGrace}
	reply, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.OptString, error) {
		return l.QEMUDomainAgentCommand(dom, command, seconds, 0)
	})
	if err != nil {
		return "", err
	}
	return strings.Join(reply, ""), nil
}

// Monitor sends one QMP command and returns QEMU's reply. An "error" in the
// reply is an error: fault.Invalid.
func (h *Host) Monitor(ctx context.Context, uuid, command string) (string, error) {
	dom, err := domainRef(uuid)
	if err != nil {
		return "", err
	}
	r := request{op: "monitor command of domain", subject: uuid, class: write, guest: true}
	reply, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (string, error) {
		return l.QEMUDomainMonitorCommand(dom, command, 0)
	})
	if err != nil {
		return "", err
	}
	var failure struct {
		Error *struct {
			Class string `json:"class"`
			Desc  string `json:"desc"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(reply), &failure); err != nil {
		return "", fault.New(fault.Unknown, "libvirt: "+r.op, uuid, "the reply is not JSON: %w", err)
	}
	if failure.Error != nil {
		return "", fault.New(fault.Invalid, "libvirt: "+r.op, uuid, "%s: %s", failure.Error.Class, failure.Error.Desc)
	}
	return reply, nil
}

// AddressSource is who is asked for a guest's addresses.
type AddressSource string

// The sources.
const (
	AddressLease AddressSource = "lease" // libvirt's own DHCP servers
	AddressAgent AddressSource = "agent" // the guest agent
	AddressARP   AddressSource = "arp"   // the host's neighbour table; libvirt 9.0 cannot read that of new kernels
)

var addressSources = map[AddressSource]golibvirt.DomainInterfaceAddressesSource{
	AddressLease: golibvirt.DomainInterfaceAddressesSrcLease,
	AddressAgent: golibvirt.DomainInterfaceAddressesSrcAgent,
	AddressARP:   golibvirt.DomainInterfaceAddressesSrcArp,
}

// Address is one address of a guest's interface. MAC is lower case.
type Address struct {
	MAC, IP string
	Prefix  int
}

// Addresses returns the addresses that source knows. Interfaces without a
// hardware address (the guest's loopback) are left out. fault.Busy means that
// no agent is connected.
func (h *Host) Addresses(ctx context.Context, uuid string, source AddressSource) ([]Address, error) {
	dom, err := domainRef(uuid)
	if err != nil {
		return nil, err
	}
	src, ok := addressSources[source]
	if !ok {
		return nil, fault.New(fault.Invalid, "libvirt: read addresses of domain", uuid, "unknown source %q", source)
	}
	r := request{op: "read addresses of domain", subject: uuid, class: slow}
	r.guest = source == AddressAgent
	ifaces, err := call(ctx, h, r, func(l *golibvirt.Libvirt) ([]golibvirt.DomainInterface, error) {
		return l.DomainInterfaceAddresses(dom, uint32(src), 0)
	})
	if err != nil {
		return nil, err
	}
	var found []Address
	for _, i := range ifaces {
		mac := strings.ToLower(strings.Join(i.Hwaddr, ""))
		if mac == "" || mac == "00:00:00:00:00:00" {
			continue
		}
		for _, a := range i.Addrs {
			found = append(found, Address{MAC: mac, IP: a.Addr, Prefix: int(a.Prefix)})
		}
	}
	return found, nil
}
