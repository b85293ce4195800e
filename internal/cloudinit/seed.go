package cloudinit

import (
	"crypto/sha256"
	"encoding/hex"
)

// Seed is what a guest's cloud-init finds on its NoCloud disk. Empty
// NetworkConfig and VendorData are left out of the image; user-data and
// meta-data are always there, since cloud-init takes a disk without them for
// something else.
type Seed struct {
	InstanceID    string // cloud-init runs its first-boot work again when this changes
	Hostname      string
	UserData      string // any bytes
	MetaData      string // YAML mapping; its keys win over InstanceID and Hostname
	NetworkConfig string // network configuration version 1 or 2
	VendorData    string
}

// Image is a finished seed.
type Image struct {
	Data   []byte // ISO 9660 with Rock Ridge names, a multiple of 2048 bytes
	Digest string // SHA-256 of Data, 64 hexadecimal digits
}

// Build writes the seed's image. It fails with a *Problem when MetaData is not
// a YAML mapping, or when the parts do not fit an ISO image (4 GiB).
func Build(s Seed) (Image, error) {
	meta, err := metaData(s)
	if err != nil {
		return Image{}, err
	}
	files := []isoFile{{iso: "METADATA.;1", name: "meta-data", data: meta}}
	if s.NetworkConfig != "" {
		files = append(files, isoFile{iso: "NETCONF.;1", name: "network-config", data: s.NetworkConfig})
	}
	files = append(files, isoFile{iso: "USERDATA.;1", name: "user-data", data: s.UserData})
	if s.VendorData != "" {
		files = append(files, isoFile{iso: "VENDATA.;1", name: "vendor-data", data: s.VendorData})
	}
	data, err := buildISO("cidata", files)
	if err != nil {
		return Image{}, err
	}
	sum := sha256.Sum256(data)
	return Image{Data: data, Digest: hex.EncodeToString(sum[:])}, nil
}
