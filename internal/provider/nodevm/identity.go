package nodevm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
)

// born is the identity that a VM was declared with. It lies in the resource's
// private state, so that neither a drifted definition nor a replacement loses
// it.
type born struct {
	UUID    string            `json:"uuid"`
	MACs    map[string]string `json:"macs"`              // by NIC name
	NICs    []string          `json:"nics"`              // their order
	Targets map[string]string `json:"targets"`           // device by disk name
	Unnamed bool              `json:"unnamed,omitempty"` // names were given by position, at an import or move
}

const bornKey = "identity"

// privateReader and privateWriter are the framework's private state, which has
// no exported type.
type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readBorn returns the recorded identity, or nil.
func readBorn(ctx context.Context, p privateReader) (*born, diag.Diagnostics) {
	raw, diags := p.GetKey(ctx, bornKey)
	if len(raw) == 0 || diags.HasError() {
		return nil, diags
	}
	var b born
	if err := json.Unmarshal(raw, &b); err != nil {
		diags.AddWarning("Private state of a muster_node_vm is not readable", "It is taken from the host again. Cause: "+err.Error())
		return nil, diags
	}
	return &b, diags
}

// departed returns the identity of a VM of that name which this process has
// destroyed, or nil.
func departed(raw []byte) *born {
	var b born
	if len(raw) == 0 || json.Unmarshal(raw, &b) != nil {
		return nil
	}
	return &b
}

func (b born) write(ctx context.Context, p privateWriter) diag.Diagnostics {
	raw, err := json.Marshal(b)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Unable to record the identity", err.Error())}
	}
	return p.SetKey(ctx, bornKey, raw)
}

// known returns whose devices are whose in a definition that has no owner mark.
func (b *born) known() domxml.Names {
	if b == nil {
		return domxml.Names{}
	}
	n := domxml.Names{NIC: map[string]string{}, Disk: map[string]string{}, Order: b.NICs}
	for name, mac := range b.MACs {
		n.NIC[mac] = name
	}
	for name, target := range b.Targets {
		n.Disk[target] = name
	}
	return n
}

// bornOf records the identity of a definition.
func bornOf(d domxml.Definition, unnamed bool) born {
	b := born{UUID: d.UUID, MACs: map[string]string{}, Targets: map[string]string{}, Unnamed: unnamed}
	for _, n := range d.NICs {
		b.MACs[n.Name] = n.MAC
		b.NICs = append(b.NICs, n.Name)
	}
	for _, disk := range d.Disks {
		b.Targets[disk.Name] = disk.Target
	}
	return b
}

// wantedNIC is a declared NIC as far as identity goes. An explicit address is
// in lower case; unknown says that it depends on something not created yet.
type wantedNIC struct {
	name     string
	explicit string
	unknown  bool
}

// identitySources are where an address can come from, first choice first.
type identitySources struct {
	recorded  map[string]string // the VM's own, by NIC name
	namespace string
	nameKnown bool // VM name and namespace are known
	vm        string
	prefix    hwaddr.Prefix
}

// planMACs gives each declared NIC its address: the explicit one, else the one
// that this NIC of this VM has, else a derived one. "" stands for unknown. Two
// NICs with one address are an error.
func planMACs(nics []wantedNIC, s identitySources) (map[string]string, error) {
	out := make(map[string]string, len(nics))
	owner := map[string]string{}
	for _, n := range nics {
		mac := n.explicit
		if mac == "" && !n.unknown {
			mac = s.recorded[n.name]
		}
		if mac == "" && !n.unknown && s.nameKnown {
			mac = hwaddr.DeriveMAC(s.prefix, s.namespace, s.vm, n.name).String()
		}
		if other, twice := owner[mac]; twice && mac != "" {
			return nil, fmt.Errorf("the nics %q and %q would both have the MAC %s", other, n.name, mac)
		}
		owner[mac] = n.name
		out[n.name] = mac
	}
	return out, nil
}
