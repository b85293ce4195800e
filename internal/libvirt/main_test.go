package libvirt

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// open returns a host that is closed when the test ends, and then checks that
// nothing of it is left running.
func open(t *testing.T, cfg Config) *Host {
	t.Helper()
	h, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		began := time.Now()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("Close took %s", took)
		}
		noLeak(t)
	})
	return h
}

// noLeak waits until no goroutine runs this package's code or go-libvirt's but
// the tests' own.
func noLeak(t *testing.T) {
	t.Helper()
	left := ""
	await(t, "goroutines to end", func() bool {
		left = leaked()
		return left == ""
	}, func() string { return left })
}

func leaked() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var found []string
	for _, g := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(g, "testing.tRunner") || strings.Contains(g, "testing.(*T).Run") {
			continue
		}
		if strings.Contains(g, "digitalocean/go-libvirt") || strings.Contains(g, "golang.org/x/crypto/ssh.") ||
			strings.Contains(g, "internal/libvirt.(*") {
			found = append(found, g)
		}
	}
	return strings.Join(found, "\n\n")
}

// await polls until done, for ten seconds at most.
func await(t *testing.T, what string, done func() bool, more ...func() string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			for _, m := range more {
				what += "\n" + m()
			}
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// within fails the test when fn takes longer than limit.
func within(t *testing.T, limit time.Duration, what string, fn func()) {
	t.Helper()
	began := time.Now()
	fn()
	if took := time.Since(began); took > limit {
		t.Errorf("%s took %s, at most %s is allowed", what, took.Round(time.Millisecond), limit)
	}
}

func wantKind(t *testing.T, err error, kind fault.Kind, says ...string) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Fatalf("error is %s, want %s: %v", fault.KindOf(err), kind, err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error does not say %q: %v", s, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// emptyVM is the XML of a domain without anything, which starts in no time.
func emptyVM(t *testing.T, h *Host, name string) string {
	t.Helper()
	kind, err := h.DomainType(context.Background())
	must(t, err)
	return fmt.Sprintf(`<domain type='%s'><name>%s</name><memory unit='MiB'>64</memory><vcpu>1</vcpu>
<os><type>hvm</type></os><features><acpi/></features>
<devices><controller type='usb' model='none'/><memballoon model='none'/></devices></domain>`, kind, name)
}

func define(t *testing.T, h *Host, name string) Domain {
	t.Helper()
	d, err := h.DefineDomain(t.Context(), emptyVM(t, h, name))
	must(t, err)
	return d
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}
