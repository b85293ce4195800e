package providerdata

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/owner"
)

// NewIncarnation returns a fresh incarnation: 64 random bits.
func NewIncarnation() string { return randomID() }

// NewOperation returns the record, for an owner mark, of an operation that
// begins now in this process.
func NewOperation(step string) owner.Operation {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return owner.Operation{
		ID: randomID(), Step: step, Time: time.Now().UTC().Truncate(time.Second),
		Host: fmt.Sprintf("%s/%d", host, os.Getpid()),
	}
}

func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}
