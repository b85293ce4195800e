package netxml

import (
	"fmt"

	"github.com/beevik/etree"
)

// Tap is a NIC of a running domain on a network: its device as it is, as it is
// while parked on another network with its link down, and its MAC.
type Tap struct {
	MAC    string
	Device string // attached to the network
	Parked string // attached to the parking network, link down
}

// Taps returns the NICs of a running domain that are on the network, or still
// parked from an attempt that was cut short.
func Taps(domainXML, network, parking string) ([]Tap, error) {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(domainXML); err != nil {
		return nil, fmt.Errorf("domain definition: %w", err)
	}
	var taps []Tap
	for _, e := range doc.FindElements("/domain/devices/interface[@type='network']") {
		source := attrOf(e, "source", "network")
		if source != network && source != parking {
			continue
		}
		onto := func(name string) *etree.Element {
			c := e.Copy()
			s := c.SelectElement("source")
			s.CreateAttr("network", name)
			// These two belong to the port that the device has now.
			s.RemoveAttr("portid")
			s.RemoveAttr("bridge")
			return c
		}
		parked := onto(parking)
		child(parked, "link").CreateAttr("state", "down")
		back := onto(network)
		if source == parking {
			// It was parked with its link down; what it was before is not known
			// any more, and up is what a NIC is for.
			drop(back, "link")
		}
		taps = append(taps, Tap{MAC: attrOf(e, "mac", "address"), Device: write(back), Parked: write(parked)})
	}
	return taps, nil
}

// Uses reports whether a domain's definition has a NIC on the network.
func Uses(domainXML, network string) bool {
	taps, err := Taps(domainXML, network, network)
	return err == nil && len(taps) > 0
}
