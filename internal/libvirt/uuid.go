package libvirt

import (
	"encoding/hex"
	"fmt"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// parseUUID reads a UUID with or without dashes.
func parseUUID(s string) (golibvirt.UUID, error) {
	var u golibvirt.UUID
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != len(u) {
		return u, fault.New(fault.Invalid, "libvirt: uuid", s, "not a UUID")
	}
	copy(u[:], b)
	return u, nil
}

func formatUUID(u golibvirt.UUID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// domainRef makes the reference that an RPC wants. The daemon looks a domain
// up by its UUID alone.
func domainRef(uuid string) (golibvirt.Domain, error) {
	u, err := parseUUID(uuid)
	return golibvirt.Domain{UUID: u, ID: -1}, err
}
