package libvirt

import (
	"context"
	"encoding/xml"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// BridgeMTU returns the live MTU in bytes of a bridge, or any other interface,
// of the host. Known is false where libvirt cannot tell: it has no interface
// driver, or there is no such interface.
func (h *Host) BridgeMTU(ctx context.Context, bridge string) (mtu int, known bool, err error) {
	r := request{op: "read interface", subject: bridge}
	iface, err := call(ctx, h, r, func(l *golibvirt.Libvirt) (golibvirt.Interface, error) {
		return l.InterfaceLookupByName(bridge)
	})
	if err == nil {
		var doc string
		doc, err = call(ctx, h, r, func(l *golibvirt.Libvirt) (string, error) { return l.InterfaceGetXMLDesc(iface, 0) })
		if err == nil {
			mtu = parseMTU(doc)
			return mtu, mtu > 0, nil
		}
	}
	if fault.Is(err, fault.Unsupported) || fault.Is(err, fault.NotFound) {
		return 0, false, nil
	}
	return 0, false, err
}

func parseMTU(doc string) int {
	var x struct {
		MTU struct {
			Size int `xml:"size,attr"`
		} `xml:"mtu"`
	}
	if err := xml.Unmarshal([]byte(doc), &x); err != nil {
		return 0
	}
	return x.MTU.Size
}
