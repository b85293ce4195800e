package libvirt

import (
	"context"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"sync"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// capabilitiesCache holds what a host says about itself once.
type capabilitiesCache struct {
	mu     sync.Mutex
	read   *capabilities
	facts  *Facts
	params int32 // number of memory statistics
}

func (c *capabilitiesCache) memoryStats() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.params
}

func (c *capabilitiesCache) setMemoryStats(n int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.params = n
}

// capabilities is what we take from the capabilities document.
type capabilities struct {
	hostUUID, arch    string
	emulator, machine string
	types             []string // "kvm" first
	user, group       int
}

type capabilitiesXML struct {
	Host struct {
		UUID     string `xml:"uuid"`
		Arch     string `xml:"cpu>arch"`
		SecModel []struct {
			Model string `xml:"model"`
			Label []struct {
				Type  string `xml:"type,attr"`
				Value string `xml:",chardata"`
			} `xml:"baselabel"`
		} `xml:"secmodel"`
	} `xml:"host"`
	Guest []struct {
		OSType string `xml:"os_type"`
		Arch   struct {
			Name     string `xml:"name,attr"`
			Emulator string `xml:"emulator"`
			Machine  []struct {
				Canonical string `xml:"canonical,attr"`
				Name      string `xml:",chardata"`
			} `xml:"machine"`
			Domain []struct {
				Type string `xml:"type,attr"`
			} `xml:"domain"`
		} `xml:"arch"`
	} `xml:"guest"`
}

func (h *Host) capabilities(ctx context.Context) (capabilities, error) {
	h.caps.mu.Lock()
	cached := h.caps.read
	h.caps.mu.Unlock()
	if cached != nil {
		return *cached, nil
	}
	r := request{op: "read capabilities"}
	doc, err := call(ctx, h, r, (*golibvirt.Libvirt).ConnectGetCapabilities)
	if err != nil {
		return capabilities{}, err
	}
	caps, err := parseCapabilities(doc)
	if err != nil {
		return caps, fault.New(fault.Unknown, "libvirt: "+r.op, h.URI(), "%w", err)
	}
	h.caps.mu.Lock()
	h.caps.read = &caps
	h.caps.mu.Unlock()
	return caps, nil
}

func parseCapabilities(doc string) (capabilities, error) {
	caps := capabilities{user: -1, group: -1}
	var x capabilitiesXML
	if err := xml.Unmarshal([]byte(doc), &x); err != nil {
		return caps, err
	}
	caps.hostUUID, caps.arch = x.Host.UUID, x.Host.Arch
	for _, m := range x.Host.SecModel {
		if m.Model != "dac" {
			continue
		}
		for _, l := range m.Label {
			if l.Type == "kvm" || l.Type == "qemu" {
				caps.user, caps.group = parseDACLabel(l.Value)
			}
		}
	}
	for _, g := range x.Guest {
		// The test driver names no architecture of its host.
		if g.OSType != "hvm" || caps.arch != "" && g.Arch.Name != caps.arch {
			continue
		}
		caps.emulator = g.Arch.Emulator
		for _, d := range g.Arch.Domain {
			caps.types = append(caps.types, d.Type)
		}
		for _, m := range g.Arch.Machine {
			if caps.machine == "" && m.Canonical != "" {
				caps.machine = m.Name
			}
		}
		break
	}
	if i := slices.Index(caps.types, "kvm"); i > 0 {
		caps.types = slices.Insert(slices.Delete(caps.types, i, i+1), 0, "kvm")
	}
	return caps, nil
}

// parseDACLabel reads "+64055:+109".
func parseDACLabel(s string) (user, group int) {
	u, g, _ := strings.Cut(strings.TrimSpace(s), ":")
	return parseID(u), parseID(g)
}

func parseID(s string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "+"))
	if err != nil {
		return -1
	}
	return n
}

// DomainCapabilities returns the XML that says what a machine type offers.
// Empty arguments mean the host's default.
func (h *Host) DomainCapabilities(ctx context.Context, emulator, arch, machine, virtType string) (string, error) {
	r := request{op: "read domain capabilities", subject: strings.TrimSpace(arch + " " + machine), class: slow}
	return call(ctx, h, r, func(l *golibvirt.Libvirt) (string, error) {
		return l.ConnectGetDomainCapabilities(optional(emulator), optional(arch), optional(machine), optional(virtType), 0)
	})
}
