package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/musterlab/terraform-provider-muster/internal/testguest/report"
)

// collect describes the machine as it is now.
func (a *agent) collect() report.Report {
	r := report.Report{InstanceID: a.seed.instanceID, Cmdline: readText("/proc/cmdline"), CPUs: onlineCPUs(), MemoryKiB: memoryKiB()}
	r.Hostname, _ = os.Hostname()
	if a.seed.instanceID != "" {
		sum := sha256.Sum256([]byte(a.seed.userData))
		r.UserDataSHA256 = hex.EncodeToString(sum[:])
	}
	links, _ := netlink.LinkList()
	for _, l := range links {
		if l.Attrs().Flags&net.FlagLoopback == 0 {
			r.Links = append(r.Links, describeLink(l))
		}
	}
	for _, name := range blockDevices() {
		dir := "/sys/block/" + name
		sectors, _ := strconv.ParseInt(readText(dir+"/size"), 10, 64)
		r.Disks = append(r.Disks, report.Disk{Name: name, Serial: readText(dir + "/serial"), Bytes: sectors * 512, ReadOnly: readText(dir+"/ro") == "1"})
	}
	return r
}

func describeLink(l netlink.Link) report.Link {
	at := l.Attrs()
	d := report.Link{Name: at.Name, MAC: at.HardwareAddr.String(), MTU: at.MTU, Carrier: at.RawFlags&unix.IFF_LOWER_UP != 0}
	addresses, _ := netlink.AddrList(l, netlink.FAMILY_ALL)
	for _, addr := range addresses {
		d.Addresses = append(d.Addresses, addr.IPNet.String())
	}
	return d
}

func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func memoryKiB() int64 {
	for line := range strings.Lines(readText("/proc/meminfo")) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

func onlineCPUs() (n int) {
	cpus, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	for _, c := range cpus {
		if online := readText(c + "/online"); online == "" || online == "1" {
			n++
		}
	}
	return n
}

// agentInterfaces is guest-network-get-interfaces.
func agentInterfaces() (any, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, l := range links {
		at := l.Attrs()
		one := map[string]any{"name": at.Name}
		if len(at.HardwareAddr) > 0 {
			one["hardware-address"] = at.HardwareAddr.String()
		} else {
			one["hardware-address"] = "00:00:00:00:00:00"
		}
		addresses, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		if err != nil {
			return nil, err
		}
		ips := []map[string]any{}
		for _, addr := range addresses {
			kind := "ipv4"
			if addr.IP.To4() == nil {
				kind = "ipv6"
			}
			prefix, _ := addr.Mask.Size()
			ips = append(ips, map[string]any{"ip-address": addr.IP.String(), "ip-address-type": kind, "prefix": prefix})
		}
		one["ip-addresses"] = ips
		list = append(list, one)
	}
	return list, nil
}
