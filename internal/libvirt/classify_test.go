package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		code golibvirt.ErrorNumber
		text string
		want fault.Kind
	}{
		{golibvirt.ErrNoDomain, "Domain not found", fault.NotFound},
		{golibvirt.ErrNoNetwork, "Network not found", fault.NotFound},
		{golibvirt.ErrNoStoragePool, "Storage pool not found", fault.NotFound},
		{golibvirt.ErrNoStorageVol, "Storage volume not found", fault.NotFound},
		{golibvirt.ErrNoDomainMetadata, "metadata not found", fault.NotFound},
		{golibvirt.ErrOperationFailed, "operation failed: domain 'a' already exists with uuid 1", fault.Conflict},
		{golibvirt.ErrOperationFailed, "operation failed: domain 'a' is already defined with uuid 1", fault.Conflict},
		{golibvirt.ErrOperationFailed, "operation failed: Storage source conflict with pool: 'a'", fault.Conflict},
		{golibvirt.ErrOperationInvalid, "there is an existing dhcp host entry in network", fault.Conflict},
		{golibvirt.ErrStorageVolExist, "storage volume 'a' exists already", fault.Conflict},
		{golibvirt.ErrOperationTimeout, "cannot acquire state change lock", fault.Busy},
		{golibvirt.ErrResourceBusy, "busy", fault.Busy},
		{golibvirt.ErrAgentUnresponsive, "QEMU guest agent is not connected", fault.Busy},
		{golibvirt.ErrSystemError, "cannot extend file: No space left on device", fault.Exhausted},
		{golibvirt.ErrInternalError, "internal error: cannot set up guest memory: Cannot allocate memory", fault.Exhausted},
		{golibvirt.ErrSystemError, "Cannot access storage file '/x': Permission denied", fault.Denied},
		{golibvirt.ErrSystemError, "Unable to read from monitor: Connection reset by peer", fault.Unknown},
		{golibvirt.ErrAuthFailed, "authentication failed", fault.Denied},
		{golibvirt.ErrAccessDenied, "access denied", fault.Denied},
		{golibvirt.ErrNoSupport, "not supported by the connection driver", fault.Unsupported},
		{golibvirt.ErrInvalidArg, "invalid argument: unsupported flags (0x20) in function f", fault.Unsupported},
		{golibvirt.ErrInvalidArg, "invalid argument", fault.Invalid},
		{golibvirt.ErrXMLInvalidSchema, "XML document failed to validate", fault.Invalid},
		{golibvirt.ErrConfigUnsupported, "unsupported configuration", fault.Invalid},
		{golibvirt.ErrOperationInvalid, "domain is not running", fault.Invalid},
		{golibvirt.ErrInternalError, "internal error", fault.Unknown},
	} {
		err := fmt.Errorf("wrapped: %w", golibvirt.Error{Code: uint32(c.code), Message: c.text})
		if got := kindOf(err); got != c.want {
			t.Errorf("%d %q: %s, want %s", c.code, c.text, got, c.want)
		}
	}
	if got := kindOf(golibvirt.ErrUnsupported); got != fault.Unsupported {
		t.Errorf("unknown procedure: %s", got)
	}
}

func TestClassify(t *testing.T) {
	h, err := Open(Config{URI: "test:///default"})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	dial := &ConnectError{URI: "u", Kind: fault.Denied, Err: io.EOF}
	for _, c := range []struct {
		name        string
		err         error
		read, write fault.Kind
	}{
		{"never sent", &unsentError{errClosed}, fault.Unavailable, fault.Unavailable},
		{"host refuses", &unsentError{dial}, fault.Denied, fault.Denied},
		{"cancelled before it was sent", &unsentError{context.Canceled}, fault.Unavailable, fault.Unavailable},
		{"cancelled", context.Canceled, fault.Unavailable, fault.Ambiguous},
		{"silent", &silentError{1}, fault.Unavailable, fault.Ambiguous},
		{"lost", &connectionLostError{cause: io.EOF}, fault.Unavailable, fault.Ambiguous},
		{"answered", golibvirt.Error{Code: uint32(golibvirt.ErrNoDomain)}, fault.NotFound, fault.NotFound},
	} {
		for class, want := range map[class]fault.Kind{read: c.read, write: c.write} {
			got := h.classify(c.err, request{op: "do it", subject: "x", class: class}, class == write)
			if !fault.Is(got, want) {
				t.Errorf("%s, class %d: %s, want %s", c.name, class, fault.KindOf(got), want)
			}
			if errors.Is(c.err, context.Canceled) && !errors.Is(got, context.Canceled) {
				t.Errorf("%s: the cancellation is lost in %v", c.name, got)
			}
		}
	}
}

func TestLostError_tellsLossFromAnswer(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	lk := &link{w: newWire(here)}
	answer := golibvirt.Error{Code: 42}
	if err := lostError(lk, answer); !isCode(err, golibvirt.ErrNoDomain) {
		t.Errorf("an answer became %v", err)
	}
	for _, c := range []struct {
		err    error
		unsent bool
	}{
		{golibvirt.ErrInterrupted, false},
		{&net.OpError{Op: "write", Err: syscall.EPIPE}, false},
		{syscall.EINVAL, true},
	} {
		var lost *connectionLostError
		if err := lostError(lk, c.err); !errors.As(err, &lost) || lost.unsent != c.unsent {
			t.Errorf("%v: %#v", c.err, err)
		}
		if again(lostError(lk, c.err), true) != c.unsent {
			t.Errorf("%v: a write that may have been received is sent again", c.err)
		}
		if !again(lostError(lk, c.err), false) {
			t.Errorf("%v: a read is not sent again", c.err)
		}
	}
}
