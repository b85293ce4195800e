package cloudinit

import (
	"encoding/binary"
	"math"
)

// The writer below covers the part of ECMA-119 (ISO 9660) that one flat folder
// of a few files needs, with Rock Ridge names (IEEE P1282), because plain ISO
// names have no lower case and no hyphen. Sizes are in bytes, places in
// sectors.
const (
	sectorSize = 2048

	volumeSector     = 16 // sectors 0 to 15 belong to the system and stay empty
	terminatorSector = 17
	littlePathSector = 18
	bigPathSector    = 19
	rootSector       = 20
	firstFileSector  = 21

	pathTableSize = 10 // the root alone
)

// isoFile is one file of the image. Files are given sorted by their ISO name,
// as the standard wants them in the folder.
type isoFile struct {
	iso  string // name for readers without Rock Ridge
	name string // name for all others
	data string
}

// buildISO returns the image of a volume with the files in its root.
func buildISO(label string, files []isoFile) ([]byte, error) {
	root, sectors, err := rootFolder(files)
	if err != nil {
		return nil, err
	}
	img := make([]byte, int(sectors)*sectorSize)
	at := func(sector int) []byte { return img[sector*sectorSize:] }
	copy(at(volumeSector), volumeDescriptor(label, sectors))
	copy(at(terminatorSector), "\xffCD001\x01")
	copy(at(littlePathSector), pathTable(binary.LittleEndian))
	copy(at(bigPathSector), pathTable(binary.BigEndian))
	copy(at(rootSector), root)
	next := firstFileSector
	for _, f := range files {
		copy(at(next), f.data)
		next += int(sectorsOf(len(f.data)))
	}
	return img, nil
}

// rootFolder returns the root's directory records and the sectors of the whole
// image.
func rootFolder(files []isoFile) (root []byte, sectors uint32, err error) {
	dot := append(suspEntry(), posixEntry(0o040555, 2)...)
	dot = append(dot, extensionEntry()...)
	root = append(root, directoryRecord("\x00", rootSector, sectorSize, flagFolder, dot)...)
	root = append(root, directoryRecord("\x01", rootSector, sectorSize, flagFolder, posixEntry(0o040555, 2))...)
	next := int64(firstFileSector)
	for _, f := range files {
		use := append(posixEntry(0o100444, 1), nameEntry(f.name)...)
		root = append(root, directoryRecord(f.iso, uint32(next), uint32(len(f.data)), 0, use)...)
		next += sectorsOf(len(f.data))
		if next > math.MaxUint32/sectorSize {
			return nil, 0, problem("the parts of the seed together are larger than 4 GiB")
		}
	}
	return root, uint32(next), nil
}

func sectorsOf(size int) int64 { return (int64(size) + sectorSize - 1) / sectorSize }

// volumeDescriptor returns the primary volume descriptor (ECMA-119, 8.4).
func volumeDescriptor(label string, sectors uint32) []byte {
	b := append([]byte(nil), "\x01CD001\x01\x00"...)
	b = append(b, padded("LINUX", 32)...)
	b = append(b, padded(label, 32)...)
	b = append(b, make([]byte, 8)...)
	b = both32(b, sectors)
	b = append(b, make([]byte, 32)...)
	b = both16(b, 1) // volumes in the set
	b = both16(b, 1) // number of this one
	b = both16(b, sectorSize)
	b = both32(b, pathTableSize)
	b = binary.LittleEndian.AppendUint32(b, littlePathSector)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, bigPathSector)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = append(b, directoryRecord("\x00", rootSector, sectorSize, flagFolder, nil)...)
	for _, size := range []int{128, 128, 128, 128, 37, 37, 37} { // set, publisher, preparer, application, three files
		b = append(b, padded("", size)...)
	}
	b = append(b, descriptorDate...) // created
	b = append(b, descriptorDate...) // modified
	b = append(b, noDate...)         // expires
	b = append(b, noDate...)         // effective
	return append(b, 1)              // file structure version
}

// pathTable returns the table of all folders: the root alone.
func pathTable(order binary.AppendByteOrder) []byte {
	b := order.AppendUint32([]byte{1, 0}, rootSector)
	b = order.AppendUint16(b, 1) // the root's parent is itself
	return append(b, 0, 0)
}
