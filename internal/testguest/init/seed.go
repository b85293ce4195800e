package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"
)

// seed is what a NoCloud disk holds; all of it is empty without one.
type seed struct {
	userData      string
	instanceID    string
	hostname      string
	networkConfig []byte
}

// slowDisks is how long SCSI and ATA disks may take to show up. Virtio disks
// are there when their module is.
const slowDisks = 3 * time.Second

// findSeed looks for a file system labelled cidata, as cloud-init does.
func findSeed(con *console) seed {
	deadline := time.Now().Add(slowDisks)
	for {
		for _, name := range blockDevices() {
			if strings.EqualFold(isoLabel("/dev/"+name), "cidata") {
				s, err := readSeed("/dev/" + name)
				if err != nil {
					con.say("seed on %s: %v", name, err)
				}
				return s
			}
		}
		hosts, _ := filepath.Glob("/sys/class/scsi_host/*")
		if len(hosts) == 0 || time.Now().After(deadline) {
			return seed{}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func blockDevices() []string {
	entries, err := os.ReadDir("/sys/block")
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// isoLabel reads the volume label of an ISO 9660 file system, empty if it is
// none. The primary volume descriptor is the seventeenth sector of 2048 bytes.
func isoLabel(device string) string {
	f, err := os.Open(device)
	if err != nil {
		return ""
	}
	defer f.Close()
	var sector [2048]byte
	if _, err := f.ReadAt(sector[:], 16*2048); err != nil || string(sector[1:6]) != "CD001" {
		return ""
	}
	return strings.Trim(string(sector[40:72]), " \x00")
}

func readSeed(device string) (s seed, err error) {
	const at = "/run/seed"
	if err := os.MkdirAll(at, 0o755); err != nil {
		return s, err
	}
	if err := unix.Mount(device, at, "iso9660", unix.MS_RDONLY, ""); err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, unix.Unmount(at, 0)) }()
	metaData, err := os.ReadFile(at + "/meta-data")
	if err != nil {
		return s, err
	}
	userData, err := os.ReadFile(at + "/user-data")
	if err != nil {
		return s, err
	}
	s.networkConfig, err = os.ReadFile(at + "/network-config")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.userData = string(userData)
	return s, s.readMetaData(metaData)
}

func (s *seed) readMetaData(b []byte) error {
	var meta struct {
		InstanceID    string `yaml:"instance-id"`
		LocalHostname string `yaml:"local-hostname"`
		Hostname      string `yaml:"hostname"`
	}
	err := yaml.Unmarshal(b, &meta)
	s.instanceID, s.hostname = meta.InstanceID, meta.LocalHostname
	if s.hostname == "" {
		s.hostname = meta.Hostname
	}
	return err
}

// apply names the machine and says what the seed held.
func (s seed) apply(con *console) {
	name := s.hostname
	if name == "" {
		name = "guest"
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		con.say("hostname: %v", err)
	}
	con.say("seed: instance %q, hostname %q, %d bytes of user-data, %d of network-config",
		s.instanceID, name, len(s.userData), len(s.networkConfig))
}
