package tfconv

import (
	"fmt"
	"strings"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

// ImportID is a parsed import identifier: exactly one of Name and UUID, and
// the host's URI when it was given.
type ImportID struct {
	Name string
	UUID string // lower case
	URI  string // "" is the provider's default host
}

// Key returns the UUID if there is one, else the name.
func (id ImportID) Key() string {
	if id.UUID != "" {
		return id.UUID
	}
	return id.Name
}

// ParseImportID reads "NAME", "UUID", or either followed by " @ URI".
func ParseImportID(s string) (ImportID, error) {
	key, uri, hasURI := strings.Cut(s, " @ ")
	key, uri = strings.TrimSpace(key), strings.TrimSpace(uri)
	if key == "" || hasURI && uri == "" {
		return ImportID{}, fmt.Errorf("%q is not an import id: want NAME or UUID, either may be followed by \" @ URI\" (spaces around the @) for a host other than the provider's", s)
	}
	id := ImportID{URI: uri}
	if u, err := hwaddr.ParseUUID(key); err == nil {
		id.UUID = u
	} else {
		id.Name = key
	}
	return id, nil
}
