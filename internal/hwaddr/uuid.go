package hwaddr

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// DeriveUUID returns the system UUID of the VM named vm in namespace, in the
// form of RFC 9562 version 8 (bits of the implementer's choosing). It is the
// same on every machine and in every run.
func DeriveUUID(namespace, vm string) string {
	sum := digest("uuid", namespace, vm)
	var u [16]byte
	copy(u[:], sum[:])
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return formatUUID(u)
}

// ParseUUID reads a UUID in its canonical form, in either case, and returns it
// in lower case.
func ParseUUID(s string) (string, error) {
	compact := strings.ReplaceAll(s, "-", "")
	var u [16]byte
	if len(s) == 36 && len(compact) == 32 {
		if _, err := hex.Decode(u[:], []byte(compact)); err == nil {
			if canonical := formatUUID(u); canonical == strings.ToLower(s) {
				return canonical, nil
			}
		}
	}
	return "", fmt.Errorf("%q is not a UUID: want 8-4-4-4-12 hexadecimal digits", s)
}

func formatUUID(u [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
