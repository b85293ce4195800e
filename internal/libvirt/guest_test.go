package libvirt

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
	"github.com/musterlab/terraform-provider-muster/internal/testguest"
)

const (
	guestMAC = "52:54:00:aa:00:01"
	guestNet = `<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'><name>lab</name><bridge name='lab0' stp='off' delay='0'/>
<ip address='10.99.0.1' netmask='255.255.255.0'><dhcp><range start='10.99.0.50' end='10.99.0.99'/></dhcp></ip>
<dnsmasq:options><dnsmasq:option value='no-ping'/></dnsmasq:options></network>`
	guestXML = `<domain type='%s'><name>guest</name><memory unit='MiB'>128</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os>
<features><acpi/><apic/></features><devices><controller type='usb' model='none'/>
<interface type='network'><source network='lab'/><mac address='` + guestMAC + `'/><model type='virtio'/><rom enabled='no'/></interface>
<serial type='pty'><log file='%s' append='on'/><target port='0'/></serial>
<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng></devices></domain>`
)

// A real guest: its agent, its addresses by lease and agent, its console read
// from afar, and its end by the agent.
func TestGuest_agentAddressesConsoleShutdown(t *testing.T) {
	files, err := testguest.Build(t.Context())
	must(t, err)
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	_, err = h.DefineNetwork(ctx, guestNet)
	must(t, err)
	must(t, h.StartNetwork(ctx, "lab"))
	kind, err := h.DomainType(ctx)
	must(t, err)
	pool, err := h.EnsureDirPool(ctx, PoolSpec{Name: "console", Path: filepath.Join(lh.Dir, "console"), Mode: 0o711, Owner: -1, Group: -1})
	must(t, err)
	d, err := h.DefineDomain(ctx, fmt.Sprintf(guestXML, kind, files.Vmlinux, files.Initrd, testguest.Cmdline, filepath.Join(pool.Path, "guest.log")))
	must(t, err)
	must(t, h.StartDomain(ctx, d.UUID, StartOptions{}))

	awaitGuest(t, "the agent", func() error {
		_, err := h.Agent(ctx, d.UUID, `{"execute":"guest-ping"}`, time.Second)
		if err != nil && !fault.Is(err, fault.Busy) {
			t.Fatalf("an agent that is not there yet is no %s: %v", fault.KindOf(err), err)
		}
		return err
	})
	reply, err := h.Agent(ctx, d.UUID, `{"execute":"guest-info"}`, time.Second)
	must(t, err)
	if !strings.Contains(reply, "guest-exec") {
		t.Errorf("guest-info: %s", reply)
	}
	_, err = h.Agent(ctx, d.UUID, `{"execute":"guest-nonsense"}`, time.Second)
	wantKind(t, err, fault.Invalid, "guest-nonsense")
	for _, source := range []AddressSource{AddressLease, AddressAgent} {
		awaitGuest(t, "an address by "+string(source), func() error {
			list, err := h.Addresses(ctx, d.UUID, source)
			for _, a := range list {
				if a.MAC == guestMAC && strings.HasPrefix(a.IP, "10.99.0.") && a.Prefix == 24 {
					return nil
				}
			}
			return fmt.Errorf("%+v, %w", list, err)
		})
	}
	leases, err := h.Leases(ctx, "lab")
	must(t, err)
	if len(leases) != 1 || leases[0].MAC != guestMAC || leases[0].Prefix != 24 || !leases[0].Expires.After(time.Now()) {
		t.Errorf("leases %+v", leases)
	}

	must(t, h.RefreshPool(ctx, "console"))
	var console bytes.Buffer
	var n int64
	awaitGuest(t, "the login prompt", func() error {
		console.Reset()
		n, err = h.Download(ctx, "console", "guest.log", 0, 0, &console)
		must(t, err)
		if !strings.Contains(console.String(), "login:") {
			return fmt.Errorf("console: %q", console.String())
		}
		return nil
	})
	must(t, h.ShutdownDomain(ctx, d.UUID))
	awaitGuest(t, "the power-off", func() error {
		state, why, err := h.DomainState(ctx, d.UUID)
		if state != StateShutoff {
			return fmt.Errorf("state %s (%s), %w", state, why, err)
		}
		return nil
	})
	wantState(t, h, d.UUID, StateShutoff, "shutdown")
	console.Reset()
	_, err = h.Download(ctx, "console", "guest.log", uint64(n), 0, &console)
	must(t, err)
	if console.Len() == 0 || strings.Contains(console.String(), "login:") {
		t.Errorf("what the console has said since: %q", console.String())
	}
}

// awaitGuest polls a guest, which may boot slowly where its processor is
// emulated.
func awaitGuest(t *testing.T, what string, ready func() error) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s: %v", what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
