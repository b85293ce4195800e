package providerdata

import (
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
	"github.com/musterlab/terraform-provider-muster/internal/presence"
)

// NewIncarnation returns a fresh incarnation: 64 random bits.
func NewIncarnation() string { return presence.NewID() }

// NewOperation returns the record, for an owner mark, of an operation that
// begins now in this process.
func NewOperation(step string) owner.Operation { return presence.NewOperation(step, time.Now()) }
