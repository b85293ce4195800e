package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// network is a network whose odd generations have another fixed address, which
// changes in place, and another domain, for which it restarts.
var network = subject{
	resource: "muster_network",
	config: func(name string, generation int) tfcore.Values {
		host := tfcore.Values{"mac": "52:54:00:00:00:01", "ip": "10.77.0.11"}
		if generation%2 == 1 {
			host = tfcore.Values{"mac": "52:54:00:00:00:02", "ip": "10.77.0.12"}
		}
		return tfcore.Values{
			"name": name, "mode": "isolated", "address": "10.77.0.1/24", "on_change": "restart",
			"domain": fmt.Sprintf("g%d.test", generation%2),
			"dhcp": []tfcore.Values{{
				"range": []tfcore.Values{{"start": "10.77.0.100", "end": "10.77.0.199"}},
				"host":  []tfcore.Values{host},
			}},
		}
	},
	reached: networkReached,
	gone: func(t *testing.T, l *lab) {
		t.Helper()
		if got := l.lines("net-list", "--all", "--name"); len(got) > 0 {
			t.Fatalf("networks left: %q", got)
		}
	},
}

func networkReached(t *testing.T, l *lab, name string, generation int) {
	t.Helper()
	got := l.ask("net-list --all --name", "net-list --autostart --name")
	if only := []string{name}; !slices.Equal(got[0], only) || !slices.Equal(got[1], only) {
		t.Fatalf("networks on the host: %q, active ones that start with it: %q", got[0], got[1])
	}
	for _, kind := range []string{"", "--inactive"} {
		xml := l.host.Virsh(slices.DeleteFunc([]string{"net-dumpxml", kind, name}, func(s string) bool { return s == "" })...)
		for _, want := range []string{
			"<uuid>" + hwaddr.DeriveUUID(namespace, "muster_network/"+name),
			"<mac address='" + hwaddr.DeriveMAC(hwaddr.Prefix{}, namespace, "muster_network/"+name, "bridge").String(),
			fmt.Sprintf("<domain name='g%d.test'", generation%2),
			fmt.Sprintf("<host mac='52:54:00:00:00:0%d' ip='10.77.0.1%d'/>", 1+generation%2, 1+generation%2),
		} {
			if strings.Count(xml, want) != 1 {
				t.Errorf("%s is not there once:\n%s", want, xml)
			}
		}
		if strings.Count(xml, "<host ") != 1 {
			t.Errorf("more than one fixed address:\n%s", xml)
		}
	}
}

func TestSweep_network(t *testing.T) {
	for _, f := range []fault{killAfter, loseReply} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			l := &lab{host: libvirttest.Start(t)}
			l.proxy = libvirttest.NewProxy(t, l.host.Socket)
			newEngine := func() engine { return &protocol{tb: t, provider: l.provider(), resource: network.resource} }
			whole := everyCall
			if f == loseReply {
				whole = sometimes(2)
			}
			network.creates(t, l, f, whole, newEngine)
			network.updates(t, l, f, sometimes(1), newEngine)
			network.deletes(t, l, f, whole, newEngine)
		})
	}
}
