package providerdata

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

func newData(t *testing.T, hosts ...Host) *Data {
	t.Helper()
	d, err := New(Config{Default: Host{URI: "qemu:///system"}, Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func open(t *testing.T, d *Data, uri string) *libvirt.Host {
	t.Helper()
	h, err := d.Host(uri)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestData_oneHostPerURI(t *testing.T) {
	d := newData(t, Host{Name: "rack2", URI: "qemu+ssh://ops@rack2.example.org/system"})
	def := open(t, d, "")
	for _, same := range []string{"qemu:///system", def.URI(), "qemu+unix:///system"} {
		if open(t, d, same) != def {
			t.Errorf("%s is another host", same)
		}
		if !d.IsDefault(same) {
			t.Errorf("%s is not the default", same)
		}
	}
	rack2 := open(t, d, "rack2")
	if open(t, d, "qemu+ssh://ops@rack2.example.org/system") != rack2 || rack2 == def || d.IsDefault("rack2") {
		t.Error("a block's name and its URI are two hosts")
	}
	if hosts := d.OpenHosts(); len(hosts) != 2 {
		t.Errorf("%d hosts are open", len(hosts))
	}
	if _, err := d.Host("rack3"); err == nil {
		t.Error("a name without a block is a host")
	}
}

func TestData_unknownHosts(t *testing.T) {
	d, err := New(Config{Default: Host{Unknown: true}, Hosts: []Host{{Name: "later", Unknown: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"", "later"} {
		if _, err := d.Host(uri); !errors.Is(err, ErrHostUnknown) {
			t.Errorf("%q: %v", uri, err)
		}
	}
	open(t, d, "qemu:///system")
}

func TestData_keepsStateOfSilentHostsWithOneWarning(t *testing.T) {
	d := newData(t)
	silent := fault.New(fault.Unavailable, "libvirt: connect", "", "no answer")
	keep, warning := d.KeepsState("", silent)
	if !keep || warning == nil {
		t.Error("the first refresh does not warn")
	}
	if keep, warning = d.KeepsState("qemu:///system", silent); !keep || warning != nil {
		t.Error("the second refresh of the same host warns again")
	}
	for _, err := range []error{
		fault.New(fault.NotFound, "x", "", "gone"), fault.New(fault.Denied, "x", "", "key"), context.Canceled, errors.New("x"),
	} {
		if keep, _ := d.KeepsState("", err); keep {
			t.Errorf("%v keeps the state", err)
		}
	}
}

func TestData_abandoned(t *testing.T) {
	d := newData(t, Host{Name: "rack2", URI: "qemu+ssh://ops@rack2.example.org/system"})
	if d.Abandoned("rack2") {
		t.Error("abandoned unasked")
	}
	t.Setenv(AbandonEnv, "rack9, rack2")
	if !d.Abandoned("rack2") || !d.Abandoned("qemu+ssh://ops@rack2.example.org/system") || d.Abandoned("") {
		t.Error("by name")
	}
	t.Setenv(AbandonEnv, open(t, d, "").URI())
	if !d.Abandoned("") || d.Abandoned("rack2") {
		t.Error("by URI")
	}
}

func TestClaims_secondOwnerIsRefused(t *testing.T) {
	c := newData(t).Claims()
	for _, owner := range []string{"a", "a"} {
		if _, ok := c.Claim("mac", "02:00", owner); !ok {
			t.Error("the owner is refused")
		}
	}
	if other, ok := c.Claim("mac", "02:00", "b"); ok || other != "a" {
		t.Error(other, ok)
	}
	if _, ok := c.Claim("vm", "02:00", "b"); !ok {
		t.Error("kinds are one")
	}
	c.Release("mac", "02:00", "b")
	if _, ok := c.Claim("mac", "02:00", "b"); ok {
		t.Error("another's claim was released")
	}
	c.Release("mac", "02:00", "a")
	if _, ok := c.Claim("mac", "02:00", "b"); !ok {
		t.Error("a released claim is held")
	}
}

func TestLock_waitsAndEndsWithItsContext(t *testing.T) {
	d := newData(t)
	release, err := d.Lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.Lock(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	other, err := d.Lock(t.Context(), "y")
	if err != nil {
		t.Fatal(err)
	}
	other()
	got := make(chan error, 1)
	go func() {
		again, err := d.Lock(t.Context(), "x")
		if err == nil {
			again()
		}
		got <- err
	}()
	release()
	if err := <-got; err != nil {
		t.Error(err)
	}
}
