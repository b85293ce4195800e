package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

var kinds = []fault.Kind{
	fault.Unknown, fault.NotFound, fault.Conflict, fault.Busy, fault.Invalid, fault.Denied,
	fault.Unavailable, fault.Ambiguous, fault.Unsupported, fault.Exhausted,
}

func TestKind_namesAreDistinct(t *testing.T) {
	seen := map[string]fault.Kind{}
	for _, k := range kinds {
		name := k.String()
		if name == "" {
			t.Errorf("kind %d has no name", k)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("kinds %d and %d are both called %q", other, k, name)
		}
		seen[name] = k
	}
	if got := fault.Kind(200).String(); got != "kind(200)" {
		t.Errorf("a kind that does not exist is called %q, want kind(200)", got)
	}
}

// Only what may pass by itself is sent again: above all never a write whose
// outcome is open.
func TestKind_retryable(t *testing.T) {
	for _, k := range kinds {
		want := k == fault.Busy || k == fault.Unavailable
		if got := k.Retryable(); got != want {
			t.Errorf("%v: Retryable is %v, want %v", k, got, want)
		}
	}
}

func TestError_text(t *testing.T) {
	tests := []struct {
		err  *fault.Error
		want string
	}{
		{fault.New(fault.NotFound, "libvirt: look up domain", "node-a", "code %d", 42), "libvirt: look up domain node-a: code 42"},
		{&fault.Error{Kind: fault.Busy, Op: "libvirt: start domain"}, "libvirt: start domain: busy"},
		{&fault.Error{Kind: fault.Denied, Op: "libvirt: connect", Subject: "h1"}, "libvirt: connect h1: denied"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestKindOf_throughWrapping(t *testing.T) {
	inner := fault.New(fault.Exhausted, "libvirt: create volume", "a", "no space left on device")
	wrapped := fmt.Errorf("stock image: %w", fmt.Errorf("upload: %w", inner))
	if got := fault.KindOf(wrapped); got != fault.Exhausted {
		t.Errorf("kind of a wrapped error is %v, want %v", got, fault.Exhausted)
	}
	if !fault.Is(wrapped, fault.Exhausted) || fault.Is(wrapped, fault.Busy) {
		t.Error("Is does not agree with KindOf")
	}
}

// The adapter nearest to the caller knows best: a not-found inside an
// operation that it classified as ambiguous stays ambiguous.
func TestKindOf_outermostWins(t *testing.T) {
	inner := fault.New(fault.NotFound, "libvirt: read volume", "a", "gone")
	outer := &fault.Error{Kind: fault.Ambiguous, Op: "libvirt: delete volume", Subject: "a", Err: inner}
	if got := fault.KindOf(outer); got != fault.Ambiguous {
		t.Errorf("got %v, want %v", got, fault.Ambiguous)
	}
}

func TestKindOf_unclassified(t *testing.T) {
	if got := fault.KindOf(errors.New("plain")); got != fault.Unknown {
		t.Errorf("kind of a plain error is %v", got)
	}
	if fault.KindOf(nil) != fault.Unknown {
		t.Error("nil has a kind")
	}
	if fault.Is(nil, fault.Unknown) {
		t.Error("nil is no failure, not even an unknown one")
	}
}

// Classifying an error must not hide what callers ask the chain for.
func TestError_keepsTheChain(t *testing.T) {
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, fs.ErrNotExist} {
		err := fmt.Errorf("outer: %w", &fault.Error{Kind: fault.Unavailable, Op: "libvirt: ping", Err: cause})
		if !errors.Is(err, cause) {
			t.Errorf("errors.Is no longer finds %v", cause)
		}
	}
	formatted := fault.New(fault.Unavailable, "op", "s", "while waiting: %w", context.Canceled)
	if !errors.Is(formatted, context.Canceled) {
		t.Error("New drops a cause given with the wrapping verb")
	}
}
