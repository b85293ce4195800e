package libvirt

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

// behindProxy returns a host of the test driver behind a fault proxy.
func behindProxy(t *testing.T, cfg Config) (*Host, *libvirttest.Proxy) {
	t.Helper()
	lh := libvirttest.Start(t)
	lh.TestURI() // keeps the driver's state between connections
	proxy := libvirttest.NewProxy(t, lh.Socket)
	cfg.URI = proxy.TestURI()
	return open(t, cfg), proxy
}

func TestFault_lostReplies(t *testing.T) {
	h, proxy := behindProxy(t, Config{})
	ctx := t.Context()
	d := define(t, h, "known")
	for _, action := range []libvirttest.Action{libvirttest.Drop, libvirttest.LoseReply, libvirttest.HalfReply, libvirttest.HalfCall} {
		proxy.SetRules(libvirttest.Rule{Proc: "DomainGetXMLDesc", Nth: 1, Action: action})
		proxy.Reset()
		if _, err := h.DomainXML(ctx, d.UUID, Live); err != nil {
			t.Errorf("action %d: a read did not survive: %v", action, err)
		}
		if n := proxy.Counts()["DomainGetXMLDesc"]; n != 2 {
			t.Errorf("action %d: the read was sent %d times, want 2", action, n)
		}

		proxy.SetRules(libvirttest.Rule{Proc: "DomainSetAutostart", Nth: 1, Action: action})
		proxy.Reset()
		err := h.SetAutostart(ctx, d.UUID, true)
		wantKind(t, err, fault.Ambiguous, "set autostart", d.UUID, "lost")
		if n := proxy.Counts()["DomainSetAutostart"]; n != 1 {
			t.Errorf("action %d: the write was sent %d times, want 1", action, n)
		}
	}
	proxy.SetRules(libvirttest.Rule{Proc: "DomainGetXMLDesc", Action: libvirttest.Drop})
	proxy.Reset()
	_, err := h.DomainXML(ctx, d.UUID, Live)
	wantKind(t, err, fault.Unavailable, "lost")
	if n := proxy.Counts()["DomainGetXMLDesc"]; n != 2 {
		t.Errorf("a read that is lost each time was sent %d times, want 2", n)
	}
}

func TestFault_appliedButReplyLost(t *testing.T) {
	h, proxy := behindProxy(t, Config{})
	xml := emptyVM(t, h, "made")
	proxy.SetRules(libvirttest.Rule{Proc: "DomainDefineXMLFlags", Action: libvirttest.LoseReply})
	_, err := h.DefineDomain(t.Context(), xml)
	wantKind(t, err, fault.Ambiguous)
	if _, err := h.DomainByName(t.Context(), "made"); err != nil {
		t.Errorf("the domain is there and cannot be read: %v", err)
	}
}

func TestFault_silence(t *testing.T) {
	h, proxy := behindProxy(t, Config{ReadTimeout: 300 * time.Millisecond, WriteTimeout: 300 * time.Millisecond})
	h.remember = 3 * time.Second
	ctx := t.Context()
	d := define(t, h, "known")

	proxy.SetRules(libvirttest.Rule{Proc: "DomainSetAutostart", Nth: 1, Action: libvirttest.Silence})
	within(t, time.Second, "a write without an answer", func() {
		wantKind(t, h.SetAutostart(ctx, d.UUID, true), fault.Ambiguous, "no answer within 300ms")
	})
	must(t, h.SetAutostart(ctx, d.UUID, true))

	proxy.SetRules(libvirttest.Rule{Proc: "DomainGetState", Nth: 1, Action: libvirttest.Silence})
	within(t, time.Second, "a read without an answer", func() {
		_, _, err := h.DomainState(ctx, d.UUID)
		wantKind(t, err, fault.Unavailable, "no answer within 300ms", h.URI())
		var connect *ConnectError
		if !errors.As(err, &connect) {
			t.Errorf("not recognised as the host's fault: %v", err)
		}
	})
	within(t, 250*time.Millisecond, "the next read", func() {
		_, _, err := h.DomainState(ctx, d.UUID)
		wantKind(t, err, fault.Unavailable, "no answer within 300ms")
	})
	await(t, "the host to be tried again", func() bool {
		_, _, err := h.DomainState(ctx, d.UUID)
		return err == nil
	})
}

func TestFault_cancelEndsEveryCall(t *testing.T) {
	h, proxy := behindProxy(t, Config{})
	d := define(t, h, "known")
	must(t, h.Ping(t.Context()))
	for _, c := range []struct {
		proc string
		kind fault.Kind
		call func(context.Context) error
	}{
		{"DomainGetXMLDesc", fault.Unavailable, func(ctx context.Context) error {
			_, err := h.DomainXML(ctx, d.UUID, Live)
			return err
		}},
		{"DomainSetAutostart", fault.Ambiguous, func(ctx context.Context) error { return h.SetAutostart(ctx, d.UUID, true) }},
		{"QEMUDomainAgentCommand", fault.Ambiguous, func(ctx context.Context) error {
			_, err := h.Agent(ctx, d.UUID, `{"execute":"guest-ping"}`, time.Minute)
			return err
		}},
		{"ConnectGetAllDomainStats", fault.Unavailable, func(ctx context.Context) error {
			_, err := h.Inventory(ctx, 0)
			return err
		}},
		{"StorageVolDownload", fault.Unavailable, func(ctx context.Context) error {
			_, err := h.Download(ctx, "default-pool", "v", 0, 0, &countWriter{})
			return err
		}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		proxy.SetRules(libvirttest.Rule{Proc: c.proc, Action: libvirttest.Silence})
		proxy.Reset()
		go func() {
			_ = proxy.Await(ctx, c.proc, 1)
			cancel()
		}()
		within(t, time.Second, "the cancelled "+c.proc, func() {
			err := c.call(ctx)
			wantKind(t, err, c.kind)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the cancellation is not in %v", c.proc, err)
			}
		})
		proxy.SetRules()
		if _, err := h.DomainByUUID(t.Context(), d.UUID); err != nil {
			t.Errorf("after a cancelled %s: %v", c.proc, err)
		}
		must(t, h.SetAutostart(t.Context(), d.UUID, false))
	}
	if _, err := h.DomainByName(cancelled(t), "known"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

type countWriter struct{ n int64 }

func (w *countWriter) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return len(p), nil
}

func TestFault_cancelHurtsNobodyElse(t *testing.T) {
	h, proxy := behindProxy(t, Config{})
	d := define(t, h, "known")
	must(t, h.Ping(t.Context()))
	proxy.SetRules(
		libvirttest.Rule{Proc: "DomainGetXMLDesc", Action: libvirttest.Delay, Delay: 400 * time.Millisecond},
		libvirttest.Rule{Proc: "DomainGetState", Action: libvirttest.Silence},
	)
	proxy.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			if _, err := h.DomainXML(t.Context(), d.UUID, Live); err != nil {
				t.Error(err)
			}
		})
	}
	must(t, proxy.Await(t.Context(), "DomainGetXMLDesc", 3))
	go func() {
		_ = proxy.Await(ctx, "DomainGetState", 1)
		cancel()
	}()
	if _, _, err := h.DomainState(ctx, d.UUID); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled read: %v", err)
	}
	others.Wait()
	if n := proxy.Counts()["DomainGetXMLDesc"]; n != 3 {
		t.Errorf("three reads were sent %d times", n)
	}
}

func TestFault_atMostFourInFlight(t *testing.T) {
	h, proxy := behindProxy(t, Config{})
	d := define(t, h, "known")
	proxy.SetRules(libvirttest.Rule{Action: libvirttest.Delay, Delay: 20 * time.Millisecond})
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if _, err := h.DomainXML(t.Context(), d.UUID, Live); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := h.SetAutostart(t.Context(), d.UUID, true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := proxy.MaxInFlight(); n > maxInFlight || n < 2 {
		t.Errorf("%d calls in flight on one connection, at most %d are allowed", n, maxInFlight)
	}
	if open, _ := proxy.Connections(); open > 3 {
		t.Errorf("%d connections, want one for reads and two for writes", open)
	}
}

func TestFault_deadHostIsTriedOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	var mu sync.Mutex
	var accepted []net.Conn
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			accepted = append(accepted, c)
			mu.Unlock()
		}
	}()
	h := open(t, Config{URI: "qemu+tcp://" + listener.Addr().String() + "/system", DialTimeout: 300 * time.Millisecond})
	within(t, 2*time.Second, "200 callers of a silent host", func() {
		var all sync.WaitGroup
		gate := make(chan struct{}, 10)
		for range 200 {
			all.Go(func() {
				gate <- struct{}{}
				defer func() { <-gate }()
				_, err := h.Inventory(t.Context(), time.Minute)
				wantKindIn(t, err, fault.Unavailable)
				_, err = h.DomainByName(t.Context(), "x")
				wantKindIn(t, err, fault.Unavailable)
				wantKindIn(t, h.SetAutostart(t.Context(), "11111111-2222-4333-8444-000000000001", true), fault.Unavailable)
			})
		}
		all.Wait()
	})
	mu.Lock()
	defer mu.Unlock()
	if len(accepted) != 1 {
		t.Errorf("the host was dialed %d times, want once", len(accepted))
	}
	for _, c := range accepted {
		_ = c.Close()
	}
}

func wantKindIn(t *testing.T, err error, kind fault.Kind) {
	if !fault.Is(err, kind) {
		t.Errorf("error is %s, want %s: %v", fault.KindOf(err), kind, err)
	}
}
