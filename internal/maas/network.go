package maas

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// VLAN is one layer-2 segment of a fabric.
type VLAN struct {
	ID            int
	VID           int
	Name          string
	FabricID      int
	Fabric        string
	MTU           int
	DHCP          bool // MAAS serves it
	ExternalDHCP  string
	RelayVLAN     int // id of the VLAN whose DHCP is relayed here; 0: none
	PrimaryRack   string
	SecondaryRack string
	Space         string
}

// VLANs lists the segments of all fabrics. One request.
func (c *Client) VLANs(ctx context.Context) ([]VLAN, error) {
	var vlans []VLAN
	err := c.viaLibrary(ctx, &operation{name: "maas: list VLANs"}, func(lib *client.Client) error {
		fabrics, err := lib.Fabrics.Get()
		for _, f := range fabrics {
			for _, v := range f.VLANs {
				vlans = append(vlans, plainVLAN(v))
			}
		}
		return err
	})
	return vlans, err
}

func plainVLAN(v entity.VLAN) VLAN {
	p := VLAN{
		ID: v.ID, VID: v.VID, Name: v.Name, FabricID: v.FabricID, Fabric: v.Fabric, MTU: v.MTU, DHCP: v.DHCPOn,
		ExternalDHCP: v.ExternalDHCP, PrimaryRack: v.PrimaryRack, SecondaryRack: v.SecondaryRack, Space: v.Space,
	}
	if v.RelayVLAN != nil {
		p.RelayVLAN = v.RelayVLAN.ID
	}
	return p
}

// Subnet is a range of addresses on a VLAN.
type Subnet struct {
	ID         int
	Name       string
	CIDR       string
	GatewayIP  string
	DNSServers []string // empty: the racks answer, and the name of the region is used
	AllowDNS   bool
	Managed    bool
	// DisabledBootArches are the boot methods that DHCP does not serve here.
	DisabledBootArches []string
	VLAN               VLAN
}

// Subnets lists the region's subnets.
func (c *Client) Subnets(ctx context.Context) ([]Subnet, error) {
	var subnets []Subnet
	err := c.viaLibrary(ctx, &operation{name: "maas: list subnets"}, func(lib *client.Client) error {
		all, err := lib.Subnets.Get()
		for _, s := range all {
			p := Subnet{
				ID: s.ID, Name: s.Name, CIDR: s.CIDR, GatewayIP: ipText(s.GatewayIP), AllowDNS: s.AllowDNS, Managed: s.Managed,
				DisabledBootArches: s.DisabledBootArchitectures, VLAN: plainVLAN(s.VLAN),
			}
			for _, ip := range s.DNSServers {
				p.DNSServers = append(p.DNSServers, ipText(ip))
			}
			subnets = append(subnets, p)
		}
		return err
	})
	return subnets, err
}

// SetSubnetDNS sets the DNS servers that DHCP hands out on a subnet, and
// nothing else: gomaasclient would reset every flag that it does not know.
func (c *Client) SetSubnetDNS(ctx context.Context, id int, servers []string) error {
	form := url.Values{"dns_servers": {""}}
	if len(servers) > 0 {
		form["dns_servers"] = servers
	}
	return c.call(ctx, request{
		op: "maas: set DNS servers of subnet", subject: strconv.Itoa(id), class: writing, method: http.MethodPut,
		path: "subnets/" + strconv.Itoa(id) + "/", form: form,
	}, nil)
}

// SubnetAddress is an address in use on a subnet.
type SubnetAddress struct {
	IP        string
	AllocType int    // 6 is a lease that was only seen
	Node      string // system id; empty: nobody's that MAAS knows
	Hostname  string
	Interface string
}

// Seen reports whether the address is a lease that DHCP handed out.
func (a SubnetAddress) Seen() bool { return a.AllocType == 6 }

// SubnetAddresses lists the addresses in use. A lease without a node belongs to
// a MAC that MAAS does not know.
func (c *Client) SubnetAddresses(ctx context.Context, id int) ([]SubnetAddress, error) {
	var addresses []SubnetAddress
	o := &operation{name: "maas: list addresses of subnet", subject: strconv.Itoa(id)}
	err := c.viaLibrary(ctx, o, func(lib *client.Client) error {
		all, err := lib.Subnet.GetIPAddresses(id)
		for _, a := range all {
			addresses = append(addresses, SubnetAddress{
				IP: ipText(a.IP), AllocType: a.AllocType, Node: a.NodeSummary.SystemID,
				Hostname: a.NodeSummary.Hostname, Interface: a.NodeSummary.Via,
			})
		}
		return err
	})
	return addresses, err
}

// IPRange is a reserved or dynamic range; machines boot from a dynamic one.
type IPRange struct {
	ID       int
	SubnetID int
	Dynamic  bool
	Start    string
	End      string
}

// IPRanges lists the ranges of all subnets.
func (c *Client) IPRanges(ctx context.Context) ([]IPRange, error) {
	var ranges []IPRange
	err := c.viaLibrary(ctx, &operation{name: "maas: list IP ranges"}, func(lib *client.Client) error {
		all, err := lib.IPRanges.Get()
		for _, r := range all {
			ranges = append(ranges, IPRange{
				ID: r.ID, SubnetID: r.Subnet.ID, Dynamic: r.Type == "dynamic", Start: ipText(r.StartIP), End: ipText(r.EndIP),
			})
		}
		return err
	})
	return ranges, err
}

func ipText(ip net.IP) string {
	if len(ip) == 0 {
		return ""
	}
	return ip.String()
}
