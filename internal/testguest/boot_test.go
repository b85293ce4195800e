package testguest_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
	"github.com/musterlab/terraform-provider-muster/internal/testguest/report"
)

func TestGuest_bootsDirectlyWithLeaseAndAgent(t *testing.T) {
	h := newHost(t)
	m := direct(t, h)
	m.MTU = 1400
	begun := time.Now()
	m.start()
	m.awaitConsole(report.Ready)
	t.Logf("%s: ready after %.1f s", m.Type, time.Since(begun).Seconds())
	m.awaitConsole("guest login: ")
	r := m.report()
	first, _ := r.Link(firstMAC)
	second, _ := r.Link(secondMAC)
	if first.MTU != 1400 || second.MTU != 1500 || !first.Carrier || len(first.Addresses) == 0 || len(second.Addresses) == 0 {
		t.Errorf("links: %+v", r.Links)
	}
	for _, source := range []string{"lease", "agent"} {
		if out := h.Virsh("domifaddr", m.Name, "--source", source); !strings.Contains(out, "10.99.0.") || !strings.Contains(out, firstMAC) {
			t.Errorf("addresses by %s: %s", source, out)
		}
	}
	if r.Hostname != "guest" || r.CPUs != 1 || r.MemoryKiB < 64<<10 {
		t.Errorf("report: %+v", r)
	}
	h.Virsh("shutdown", m.Name, "--mode", "acpi")
	m.await("power-off", func() bool { out, err := h.TryVirsh("domstate", m.Name); return err != nil || out == "shut off" })
	m.awaitConsole(report.Off)
}

// TestGuest_bootsFromDisk boots the image through an overlay that is larger, as
// a VM of an image does.
func TestGuest_bootsFromDisk(t *testing.T) {
	for _, format := range []string{"raw", "qcow2"} {
		t.Run(format, func(t *testing.T) {
			h := newHost(t)
			files, err := build(t).Install(filepath.Join(h.Dir, "images"))
			if err != nil {
				t.Fatal(err)
			}
			h.Virsh("pool-refresh", "default")
			image := filepath.Base(map[string]string{"raw": files.Image, "qcow2": files.ImageQCOW2}[format])
			h.Virsh("vol-create-as", "default", "overlay", "64M", "--format", "qcow2", "--backing-vol", image, "--backing-vol-format", format)
			m := &machine{t: t, host: h, Name: "disk", Type: h.DomainType(), Disk: h.Virsh("vol-path", "--pool", "default", "overlay"), Format: "qcow2"}
			begun := time.Now()
			m.start()
			m.awaitConsole(report.Ready)
			t.Logf("%s from %s: ready after %.1f s", m.Type, format, time.Since(begun).Seconds())
			r := m.report()
			if len(r.Disks) != 1 || r.Disks[0].Serial != "root" || r.Disks[0].Bytes != 64<<20 {
				t.Errorf("disks: %+v", r.Disks)
			}
			h.Virsh("blockresize", "disk", "vda", "96M")
			m.await("larger disk", func() bool { return m.report().Disks[0].Bytes == 96<<20 })
		})
	}
}

const staticConfig = `version: 2
ethernets:
  lan:
    match: {macaddress: "52:54:00:AA:00:02"}
    set-name: lan0
    addresses: [10.99.0.20/24]
    routes: [{to: default, via: 10.99.0.1}]
`

func TestGuest_obeysItsSeed(t *testing.T) {
	h := newHost(t)
	m := direct(t, h)
	m.Seed = seedISO(t, "instance-id: i-1\nlocal-hostname: node-1\n", `#cloud-config
# unit app.service activating 1s active
# unit broken.service failed
# link lan0 configuring
# ignore-acpi
packages: [nothing]
`, staticConfig)
	m.start()
	m.awaitConsole("node-1 login: ")
	r := m.report()
	lan, _ := r.Link(secondMAC)
	other, _ := r.Link(firstMAC)
	if r.Hostname != "node-1" || r.InstanceID != "i-1" || lan.Name != "lan0" || len(lan.Addresses) == 0 || lan.Addresses[0] != "10.99.0.20/24" {
		t.Errorf("report: %+v", r)
	}
	if len(other.Addresses) != 0 {
		t.Errorf("a link that the configuration does not name has %v", other.Addresses)
	}
	m.await("active app.service", func() bool {
		out, code := m.exec("systemctl", "is-active", "app.service")
		return out == "active\n" && code == 0
	})
	if out, code := m.exec("/usr/bin/systemctl", "is-active", "broken.service"); out != "failed\n" || code != 3 {
		t.Errorf("is-active of a failed unit: %q, %d", out, code)
	}
	if out, _ := m.exec("systemctl", "list-jobs", "--no-legend"); !strings.Contains(out, "systemd-networkd-wait-online.service start running") {
		t.Errorf("jobs: %s", out)
	}
	if out, _ := m.exec("networkctl", "list", "--no-legend"); !strings.Contains(out, "lan0 ether routable configuring") {
		t.Errorf("links: %s", out)
	}
	h.Virsh("shutdown", m.Name, "--mode", "acpi")
	m.awaitConsole(report.Ignored)
	if out := h.Virsh("domstate", m.Name); out != "running" {
		t.Errorf("a guest that ignores its power button is %s", out)
	}
}

func TestGuest_configuresPluggedLinks(t *testing.T) {
	h := newHost(t)
	m := direct(t, h)
	m.start()
	m.awaitConsole(report.Ready)
	const mac = "52:54:00:aa:00:03"
	h.Virsh("attach-interface", m.Name, "network", "lab", "--model", "virtio", "--mac", mac, "--live")
	addressed := func() bool { l, ok := m.report().Link(mac); return ok && len(l.Addresses) > 0 }
	m.await("address of a plugged link", addressed)
	h.Virsh("domif-setlink", m.Name, mac, "down")
	m.await("lost carrier", func() bool { l, _ := m.report().Link(mac); return !l.Carrier })
	h.Virsh("domif-setlink", m.Name, mac, "up")
	m.await("address after the carrier came back", addressed)
	h.Virsh("detach-interface", m.Name, "network", "--mac", mac, "--live")
	m.await("unplugged link", func() bool { _, ok := m.report().Link(mac); return !ok })
}

func TestGuest_bootsUnprivileged(t *testing.T) {
	h := newHost(t, libvirttest.WithUnprivilegedQEMU())
	m := direct(t, h)
	files, err := build(t).Install(filepath.Join(h.Dir, "guest"))
	if err != nil {
		t.Fatal(err)
	}
	m.Kernel, m.Initrd = files.Vmlinux, files.Initrd
	m.start()
	m.awaitConsole(report.Ready)
	m.exec("say", "said", "by", "agent")
	m.awaitConsole("said by agent")
	h.Virsh("shutdown", m.Name, "--mode", "agent")
	m.await("power-off", func() bool { out, err := h.TryVirsh("domstate", m.Name); return err != nil || out == "shut off" })
}
