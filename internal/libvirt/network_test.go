package libvirt

import (
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

const labNet = `<network><name>lab</name><bridge name='lab0'/><mac address='52:54:00:aa:bb:cc'/><mtu size='1400'/>
<dns><host ip='10.77.0.5'><hostname>five</hostname></host></dns>
<ip address='10.77.0.1' netmask='255.255.255.0'><dhcp><range start='10.77.0.10' end='10.77.0.20'/></dhcp></ip></network>`

func TestNetwork_life(t *testing.T) {
	onBothDrivers(t, func(t *testing.T, h *Host) {
		ctx := t.Context()
		n, err := h.DefineNetwork(ctx, labNet)
		must(t, err)
		if n.Name != "lab" || len(n.UUID) != 36 || n.Bridge != "lab0" || n.Active || !n.Persistent || n.Autostart {
			t.Errorf("defined: %+v", n)
		}
		must(t, h.StartNetwork(ctx, "lab"))
		if err := h.StartNetwork(ctx, "lab"); err != nil {
			t.Errorf("started twice: %v", err)
		}
		must(t, h.SetNetworkAutostart(ctx, "lab", true))
		got, err := h.Network(ctx, "lab")
		must(t, err)
		if !got.Active || !got.Autostart || got.UUID != n.UUID {
			t.Errorf("started: %+v", got)
		}
		all, err := h.Networks(ctx)
		must(t, err)
		found := false
		for _, a := range all {
			found = found || a == got
		}
		if !found {
			t.Errorf("%+v is not among %+v", got, all)
		}
		xml, err := h.NetworkXML(ctx, "lab", Persistent)
		must(t, err)
		if !strings.Contains(xml, "52:54:00:aa:bb:cc") {
			t.Errorf("XML: %s", xml)
		}
		must(t, h.DestroyNetwork(ctx, "lab"))
		must(t, h.DestroyNetwork(ctx, "lab"))
		must(t, h.UndefineNetwork(ctx, "lab"))
		_, err = h.Network(ctx, "lab")
		wantKind(t, err, fault.NotFound, "network lab", h.URI(), "there")
		wantKind(t, h.StartNetwork(ctx, "lab"), fault.NotFound)
		wantKind(t, h.DestroyNetwork(ctx, "lab"), fault.NotFound)
	})
}

func TestNetwork_refusedDefinition(t *testing.T) {
	onBothDrivers(t, func(t *testing.T, h *Host) {
		_, err := h.DefineNetwork(t.Context(), labNet)
		must(t, err)
		_, err = h.DefineNetwork(t.Context(), labNet) // without its UUID: another of that name
		wantKind(t, err, fault.Conflict, "define network lab", "already exists")
		_, err = h.DefineNetwork(t.Context(), strings.Replace(labNet, "10.77.0.10", "nonsense", 1))
		wantKind(t, err, fault.Invalid)
		must(t, h.UndefineNetwork(t.Context(), "lab"))
	})
}

func TestNetwork_updateInPlace(t *testing.T) {
	onBothDrivers(t, func(t *testing.T, h *Host) {
		ctx := t.Context()
		_, err := h.DefineNetwork(ctx, labNet)
		must(t, err)
		host := NetworkUpdate{Command: NetworkAdd, Section: SectionDHCPHost, Parent: -1, XML: `<host mac='52:54:00:00:00:01' name='one' ip='10.77.0.11'/>`}
		must(t, h.UpdateNetwork(ctx, "lab", host))
		must(t, h.StartNetwork(ctx, "lab"))
		wantKind(t, h.UpdateNetwork(ctx, "lab", host), fault.Conflict, "lab")
		host.Command, host.XML = NetworkModify, strings.Replace(host.XML, ".11", ".12", 1)
		must(t, h.UpdateNetwork(ctx, "lab", host))
		must(t, h.UpdateNetwork(ctx, "lab", NetworkUpdate{
			Command: NetworkAdd, Section: SectionDNSHost, Parent: -1, XML: `<host ip='10.77.0.6'><hostname>six</hostname></host>`,
		}))
		for _, kind := range []XMLKind{Live, Persistent} {
			xml, err := h.NetworkXML(ctx, "lab", kind)
			must(t, err)
			if !strings.Contains(xml, "10.77.0.12") || strings.Contains(xml, "10.77.0.11") || !strings.Contains(xml, "<hostname>six<") {
				t.Errorf("kind %d: %s", kind, xml)
			}
		}
		host.Command = NetworkDelete
		must(t, h.UpdateNetwork(ctx, "lab", host))
		err = h.UpdateNetwork(ctx, "lab", NetworkUpdate{Command: NetworkAdd, Section: "bridge", Parent: -1})
		wantKind(t, err, fault.Invalid, "bridge")
		must(t, h.DestroyNetwork(ctx, "lab"))
		must(t, h.UndefineNetwork(ctx, "lab"))
	})
}

func TestNetwork_leasesAndMTU(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	ctx := t.Context()
	_, err := h.DefineNetwork(ctx, labNet)
	must(t, err)
	if _, known, err := h.BridgeMTU(ctx, "lab0"); known || err != nil {
		t.Errorf("a bridge that is not there: %v, %v", known, err)
	}
	must(t, h.StartNetwork(ctx, "lab"))
	mtu, known, err := h.BridgeMTU(ctx, "lab0")
	if mtu != 1400 || !known || err != nil {
		t.Errorf("MTU %d, %v, %v", mtu, known, err)
	}
	leases, err := h.Leases(ctx, "lab")
	if len(leases) != 0 || err != nil {
		t.Errorf("leases: %+v, %v", leases, err)
	}
	_, err = h.Leases(ctx, "none")
	wantKind(t, err, fault.NotFound, "there is only lab")
	must(t, h.DestroyNetwork(ctx, "lab"))
}
