package testguest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/kdomanski/iso9660"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
	"github.com/musterlab/terraform-provider-muster/internal/testguest"
	"github.com/musterlab/terraform-provider-muster/internal/testguest/report"
)

// bootLimit is what a boot may take on two busy cores without KVM; eight
// seconds are usual there.
const bootLimit = 3 * time.Minute

const labNetwork = `<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>lab</name>
  <bridge name='labbr0' stp='off' delay='0'/>
  <ip address='10.99.0.1' netmask='255.255.255.0'><dhcp><range start='10.99.0.50' end='10.99.0.250'/></dhcp></ip>
  <dnsmasq:options><dnsmasq:option value='no-ping'/></dnsmasq:options>
</network>`

// machine is a VM of these tests.
type machine struct {
	t    *testing.T
	host *libvirttest.Host

	Name, Type, Console string
	Kernel, Initrd, Cmd string // direct boot
	Disk, Format, Seed  string
	MTU                 int
}

const firstMAC, secondMAC = "52:54:00:aa:00:01", "52:54:00:aa:00:02"

var domainXML = template.Must(template.New("domain").Parse(`<domain type='{{.Type}}'>
  <name>{{.Name}}</name><memory unit='MiB'>128</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type>
  {{if .Kernel}}<kernel>{{.Kernel}}</kernel><initrd>{{.Initrd}}</initrd><cmdline>{{.Cmd}}</cmdline>{{else}}<boot dev='hd'/>{{end}}</os>
  <features><acpi/><apic/></features><on_reboot>restart</on_reboot>
  <devices>
    {{if .Disk}}<disk type='file' device='disk'><driver name='qemu' type='{{.Format}}'/><source file='{{.Disk}}'/><target dev='vda' bus='virtio'/><serial>root</serial></disk>{{end}}
    {{if .Seed}}<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='{{.Seed}}'/><target dev='vdb' bus='virtio'/><readonly/></disk>{{end}}
    <controller type='usb' model='none'/>
    <interface type='network'><source network='lab'/><mac address='52:54:00:aa:00:01'/><model type='virtio'/>{{if .MTU}}<mtu size='{{.MTU}}'/>{{end}}<rom enabled='no'/></interface>
    <interface type='network'><source network='lab'/><mac address='52:54:00:aa:00:02'/><model type='virtio'/><rom enabled='no'/></interface>
    <serial type='pty'><log file='{{.Console}}' append='on'/><target port='0'/></serial>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
  </devices>
</domain>`))

// build is shared by the tests of this package.
func build(t *testing.T) testguest.Files {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	files, err := testguest.Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func newHost(t *testing.T, opts ...libvirttest.Option) *libvirttest.Host {
	t.Helper()
	h := libvirttest.Start(t, opts...)
	h.Virsh("net-create", write(t, "net.xml", labNetwork))
	return h
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// direct is a machine that boots kernel and initramfs without a boot loader.
func direct(t *testing.T, h *libvirttest.Host) *machine {
	files := build(t)
	return &machine{t: t, host: h, Name: "guest", Type: h.DomainType(), Kernel: files.Vmlinux, Initrd: files.Initrd, Cmd: testguest.Cmdline}
}

func (m *machine) start() {
	m.t.Helper()
	m.Console = filepath.Join(m.host.Dir, m.Name+".log")
	var xml bytes.Buffer
	if err := domainXML.Execute(&xml, m); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Logf("console of %s:\n%s", m.Name, m.console())
		}
	})
	m.host.Virsh("create", write(m.t, "domain.xml", xml.String()))
}

func (m *machine) console() string {
	b, err := os.ReadFile(m.Console)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// await waits until cond holds and fails the test, saying what was awaited.
func (m *machine) await(what string, cond func() bool) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), bootLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			m.t.Fatalf("no %s within %v", what, bootLimit)
		}
	}
}

func (m *machine) awaitConsole(mark string) {
	m.t.Helper()
	m.await("console line "+mark, func() bool { return strings.Contains(m.console(), mark) })
}

// agent sends one command once the agent is connected.
func (m *machine) agent(command string) json.RawMessage {
	m.t.Helper()
	var reply struct {
		Return json.RawMessage `json:"return"`
	}
	m.await("agent", func() bool {
		out, err := m.host.TryVirsh("qemu-agent-command", m.Name, command)
		return err == nil && json.Unmarshal([]byte(out), &reply) == nil
	})
	return reply.Return
}

type execStatus struct {
	Exited   bool   `json:"exited"`
	ExitCode int    `json:"exitcode"`
	Out      string `json:"out-data"`
}

func (m *machine) exec(path string, args ...string) (string, int) {
	m.t.Helper()
	command, err := json.Marshal(map[string]any{
		"execute": "guest-exec", "arguments": map[string]any{"path": path, "arg": args, "capture-output": true},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	var begun struct{ PID int }
	if err := json.Unmarshal(m.agent(string(command)), &begun); err != nil {
		m.t.Fatal(err)
	}
	var status execStatus
	m.await("end of "+path, func() bool {
		reply := m.agent(fmt.Sprintf(`{"execute":"guest-exec-status","arguments":{"pid":%d}}`, begun.PID))
		return json.Unmarshal(reply, &status) == nil && status.Exited
	})
	out, err := base64.StdEncoding.DecodeString(status.Out)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(out), status.ExitCode
}

func (m *machine) report() (r report.Report) {
	m.t.Helper()
	out, _ := m.exec("collect")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	return r
}

// seedISO writes a NoCloud disk.
func seedISO(t *testing.T, metaData, userData, networkConfig string) string {
	t.Helper()
	w, err := iso9660.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Cleanup() }()
	for name, text := range map[string]string{"meta-data": metaData, "user-data": userData, "network-config": networkConfig} {
		if text == "" {
			continue
		}
		if err := w.AddFile(strings.NewReader(text), name); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "seed.iso")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := w.WriteTo(f, "cidata"); err != nil {
		t.Fatal(err)
	}
	return path
}
