package presence

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// NewOperation returns the record, for an owner mark, of an operation that
// begins now in this process.
func NewOperation(step string, now time.Time) owner.Operation {
	return owner.Operation{ID: NewID(), Step: step, Time: now.UTC().Truncate(time.Second), Host: Here()}
}

// NewID returns 64 random bits in hexadecimal digits: an operation, or an
// incarnation.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}
