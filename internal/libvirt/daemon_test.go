package libvirt

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

func TestDaemon_restartIsInvisible(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	d := define(t, h, "vm")
	must(t, h.Ping(t.Context()))

	lh.RestartDaemon()
	if _, err := h.DomainByUUID(t.Context(), d.UUID); err != nil {
		t.Errorf("a read after a restart: %v", err)
	}
	lh.RestartDaemon()
	if err := h.SetAutostart(t.Context(), d.UUID, true); err != nil {
		t.Errorf("a write after a restart: %v", err)
	}

	lh.KillDaemon()
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() {
			if _, err := h.DomainByName(t.Context(), "vm"); err != nil {
				t.Errorf("a read while the daemon is away: %v", err)
			}
		})
	}
	lh.StartDaemon()
	calls.Wait()
	inv, err := h.Inventory(t.Context(), time.Minute)
	must(t, err)
	if got, ok := inv.ByUUID(d.UUID); !ok || !got.Autostart {
		t.Errorf("after all: %+v", got)
	}
}

func TestDaemon_killedInTheMiddle(t *testing.T) {
	lh := libvirttest.Start(t)
	proxy := libvirttest.NewProxy(t, lh.Socket)
	h := open(t, Config{URI: proxy.URI()})
	d := define(t, h, "vm")
	proxy.SetRules(libvirttest.Rule{Proc: "DomainSetAutostart", Nth: 1, Action: libvirttest.Hook, Func: func(libvirttest.Call) { lh.KillDaemon() }})
	err := h.SetAutostart(t.Context(), d.UUID, true)
	wantKind(t, err, fault.Ambiguous)
	lh.StartDaemon()
	if _, err := h.DomainByUUID(t.Context(), d.UUID); err != nil {
		t.Error(err)
	}
}

func TestDaemon_frozen(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI(), ReadTimeout: 400 * time.Millisecond, DialTimeout: 400 * time.Millisecond})
	must(t, h.Ping(t.Context()))
	thaw := lh.FreezeDaemon()
	defer thaw()
	within(t, 2*time.Second, "reads of a frozen daemon", func() {
		for range 20 {
			wantKind(t, h.Ping(t.Context()), fault.Unavailable)
		}
	})
	within(t, time.Second, "Close", func() { must(t, h.Close()) })
}

func TestDaemon_notThere(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none")
	h := open(t, Config{URI: "qemu:///system?socket=" + socket})
	within(t, time.Second, "a missing socket", func() {
		err := h.Ping(t.Context())
		wantKind(t, err, fault.Unavailable, h.URI(), "is libvirtd installed and running?")
		var connect *ConnectError
		if !errors.As(err, &connect) || connect.URI != h.URI() {
			t.Errorf("not recognised as the host's fault: %#v", err)
		}
	})
}

func TestHost_closedHostAnswersAtOnce(t *testing.T) {
	lh := libvirttest.Start(t)
	h := open(t, Config{URI: lh.URI()})
	must(t, h.Ping(t.Context()))
	must(t, h.Close())
	must(t, h.Close())
	wantKind(t, h.Ping(t.Context()), fault.Unavailable, "closed")
	_, err := h.Inventory(t.Context(), 0)
	wantKind(t, err, fault.Unavailable, "closed")
	_, err = h.Download(t.Context(), "default", "x", 0, 0, &countWriter{})
	wantKind(t, err, fault.Unavailable, "closed")
}
