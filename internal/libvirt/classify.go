package libvirt

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// connectionLostError: the connection ended while a call was under way.
type connectionLostError struct {
	unsent bool // go-libvirt refused before it wrote a byte
	cause  error
}

// Error implements error.
func (e *connectionLostError) Error() string { return "the connection was lost: " + e.cause.Error() }

// Unwrap returns the cause.
func (e *connectionLostError) Unwrap() error { return e.cause }

// lostError tells a lost connection from an answer.
func lostError(lk *link, err error) error {
	switch {
	case err == nil, isLibvirtError(err):
		return err
	case errors.Is(err, syscall.EINVAL):
		return &connectionLostError{unsent: true, cause: lk.cause(err)}
	case errors.Is(err, golibvirt.ErrInterrupted), isNetError(err), lk.w.lost() != nil:
		return &connectionLostError{cause: lk.cause(err)}
	default:
		return err
	}
}

func (l *link) cause(err error) error {
	if lost := l.w.lost(); lost != nil {
		return lost
	}
	return err
}

func isNetError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// isLibvirtError reports whether the daemon itself answered with err.
func isLibvirtError(err error) bool {
	var e golibvirt.Error
	return errors.As(err, &e) || errors.Is(err, golibvirt.ErrUnsupported)
}

// kinds sorts libvirt's error codes (virterror.h). What is not here is
// fault.Unknown, unless its text tells more.
var kinds = map[golibvirt.ErrorNumber]fault.Kind{
	golibvirt.ErrNoDomain:           fault.NotFound,
	golibvirt.ErrNoNetwork:          fault.NotFound,
	golibvirt.ErrNoStoragePool:      fault.NotFound,
	golibvirt.ErrNoStorageVol:       fault.NotFound,
	golibvirt.ErrNoInterface:        fault.NotFound,
	golibvirt.ErrNoNodeDevice:       fault.NotFound,
	golibvirt.ErrNoDomainMetadata:   fault.NotFound,
	golibvirt.ErrNoNetworkMetadata:  fault.NotFound,
	golibvirt.ErrNoDomainSnapshot:   fault.NotFound,
	golibvirt.ErrNoDomainCheckpoint: fault.NotFound,
	golibvirt.ErrDeviceMissing:      fault.NotFound, // of the device, not of its domain

	golibvirt.ErrDomExist:         fault.Conflict,
	golibvirt.ErrNetworkExist:     fault.Conflict,
	golibvirt.ErrStorageVolExist:  fault.Conflict,
	golibvirt.ErrNetworkPortExist: fault.Conflict,
	golibvirt.ErrStoragePoolBuilt: fault.Conflict,

	golibvirt.ErrResourceBusy:      fault.Busy,
	golibvirt.ErrOperationTimeout:  fault.Busy, // the state change lock
	golibvirt.ErrBlockCopyActive:   fault.Busy,
	golibvirt.ErrAgentUnresponsive: fault.Busy,
	golibvirt.ErrAgentUnsynced:     fault.Busy,

	golibvirt.ErrAgentCommandTimeout: fault.Ambiguous,

	golibvirt.ErrOperationDenied: fault.Denied,
	golibvirt.ErrAuthFailed:      fault.Denied,
	golibvirt.ErrAuthCancelled:   fault.Denied,
	golibvirt.ErrAuthUnavailable: fault.Denied,
	golibvirt.ErrAccessDenied:    fault.Denied,

	golibvirt.ErrNoMemory: fault.Exhausted,

	golibvirt.ErrNoSupport:            fault.Unsupported,
	golibvirt.ErrArgumentUnsupported:  fault.Unsupported,
	golibvirt.ErrOperationUnsupported: fault.Unsupported,

	golibvirt.ErrInvalidArg:         fault.Invalid,
	golibvirt.ErrInvalidDomain:      fault.Invalid,
	golibvirt.ErrInvalidNetwork:     fault.Invalid,
	golibvirt.ErrInvalidStoragePool: fault.Invalid,
	golibvirt.ErrInvalidStorageVol:  fault.Invalid,
	golibvirt.ErrInvalidMac:         fault.Invalid,
	golibvirt.ErrXMLError:           fault.Invalid,
	golibvirt.ErrXMLDetail:          fault.Invalid,
	golibvirt.ErrXMLInvalidSchema:   fault.Invalid,
	golibvirt.ErrParseFailed:        fault.Invalid,
	golibvirt.ErrNoName:             fault.Invalid,
	golibvirt.ErrNoSource:           fault.Invalid,
	golibvirt.ErrNoTarget:           fault.Invalid,
	golibvirt.ErrNoOs:               fault.Invalid,
	golibvirt.ErrNoDevice:           fault.Invalid,
	golibvirt.ErrOsType:             fault.Invalid,
	golibvirt.ErrConfSyntax:         fault.Invalid,
	golibvirt.ErrConfigUnsupported:  fault.Invalid,
	golibvirt.ErrCPUIncompatible:    fault.Invalid,
	golibvirt.ErrOverflow:           fault.Invalid,
	golibvirt.ErrOperationInvalid:   fault.Invalid,
	golibvirt.ErrAgentCommandFailed: fault.Invalid,
	golibvirt.ErrMultipleDomains:    fault.Invalid,

	golibvirt.ErrRPC:         fault.Unavailable,
	golibvirt.ErrGnutlsError: fault.Unavailable,
	golibvirt.ErrNoConnect:   fault.Unavailable,
	golibvirt.ErrInvalidConn: fault.Unavailable,
}

// texts tells what a code leaves open: libvirt reports a name that is taken
// as "operation failed", a full disk and a missing permission as "system
// error", an unknown flag as "invalid argument".
var texts = []struct {
	codes []golibvirt.ErrorNumber // nil: any
	part  string
	kind  fault.Kind
}{
	{nil, "No space left on device", fault.Exhausted},
	{nil, "Disk quota exceeded", fault.Exhausted},
	{nil, "Cannot allocate memory", fault.Exhausted},
	{[]golibvirt.ErrorNumber{golibvirt.ErrOperationFailed}, "already exists", fault.Conflict},
	{[]golibvirt.ErrorNumber{golibvirt.ErrOperationFailed}, "already defined", fault.Conflict},
	{[]golibvirt.ErrorNumber{golibvirt.ErrOperationFailed}, "source conflict", fault.Conflict},
	{[]golibvirt.ErrorNumber{golibvirt.ErrOperationInvalid}, "there is an existing", fault.Conflict},
	{[]golibvirt.ErrorNumber{golibvirt.ErrInternalError}, "unable to execute QEMU agent command", fault.Invalid},
	{[]golibvirt.ErrorNumber{golibvirt.ErrInvalidArg}, "unsupported flags", fault.Unsupported},
	{[]golibvirt.ErrorNumber{golibvirt.ErrSystemError, golibvirt.ErrOperationFailed}, "Permission denied", fault.Denied},
	{[]golibvirt.ErrorNumber{golibvirt.ErrSystemError, golibvirt.ErrOperationFailed}, "Operation not permitted", fault.Denied},
}

// kindOf sorts an error that the daemon answered with.
func kindOf(err error) fault.Kind {
	if k := fault.KindOf(err); k != fault.Unknown {
		return k
	}
	if errors.Is(err, golibvirt.ErrUnsupported) {
		return fault.Unsupported
	}
	var e golibvirt.Error
	if !errors.As(err, &e) {
		return fault.Unknown
	}
	code := golibvirt.ErrorNumber(e.Code)
	for _, t := range texts {
		if strings.Contains(e.Message, t.part) && (t.codes == nil || hasCode(t.codes, code)) {
			return t.kind
		}
	}
	return kinds[code]
}

func hasCode(codes []golibvirt.ErrorNumber, code golibvirt.ErrorNumber) bool {
	for _, c := range codes {
		if c == code {
			return true
		}
	}
	return false
}

// isCode reports whether the daemon answered err with that code.
func isCode(err error, code golibvirt.ErrorNumber) bool {
	var e golibvirt.Error
	return errors.As(err, &e) && e.Code == uint32(code)
}

// dialKind sorts an error of connecting.
func dialKind(err error) fault.Kind {
	var refused *hostRefusedError
	switch {
	case errors.As(err, &refused), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fault.Denied
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.Unavailable
	}
	if k := kindOf(err); k != fault.Unknown {
		return k
	}
	return fault.Unavailable
}
