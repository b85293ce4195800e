package archtest

import "strings"

// module is the path under which the house's own packages are imported.
const module = "github.com/musterlab/terraform-provider-muster"

// floor is where a package stands. A package imports those below it.
type floor uint8

const (
	ground   floor = iota + 1 // values and decisions
	adapters                  // one technology each
	useCases                  // what is done with them
	shells                    // Terraform and the command line
	entrance                  // main.go
	beside                    // tests' own packages and examples
)

var floorNames = map[floor]string{
	ground: "the ground floor", adapters: "the adapters", useCases: "the use cases",
	shells: "the shells", entrance: "main.go", beside: "the packages beside the house",
}

// rooms are the folders below internal that the house has. A package in none
// of them is a violation: the plan is changed here first, on purpose.
var rooms = map[string]floor{
	"fleet": ground, "placement": ground, "lifecycle": ground, "diagnosis": ground,
	"hwaddr": ground, "fault": ground, "owner": ground,

	"store": adapters, "libvirt": adapters, "maas": adapters,
	"cloudinit": adapters, "pcap": adapters, "beszel": adapters, "presence": adapters,

	"progress": useCases, "commission": useCases, "mission": useCases, "reconciler": useCases, "vm": useCases,

	"provider": shells, "cli": shells, "statuspage": shells,

	"acctest": beside, "simulation": beside, "archtest": beside, "testguest": beside, "bench": beside,
}

// besideInside are the tests' own packages that live next to what they test.
var besideInside = []string{"internal/libvirt/libvirttest", "internal/maas/maassim", "internal/store/storetest"}

// place says where a package stands and in which room. Packages of one room
// know each other.
type place struct {
	floor floor
	room  string
}

// placeOf returns the place of the package in the folder dir, relative to the
// module's root.
func placeOf(dir string) (place, bool) {
	if dir == "." {
		return place{entrance, "main"}, true
	}
	for _, b := range besideInside {
		if within(dir, b) {
			return place{beside, b}, true
		}
	}
	first, rest, _ := strings.Cut(dir, "/")
	if first != "internal" {
		return place{beside, first}, true
	}
	room, _, _ := strings.Cut(rest, "/")
	f, ok := rooms[room]
	return place{f, room}, ok
}

// within reports whether path is root or below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}
