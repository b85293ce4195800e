package fault

import (
	"errors"
	"fmt"
)

// Kind says what sort of failure an error is.
type Kind uint8

// The kinds. Unknown is what an unclassified error has.
const (
	Unknown     Kind = iota
	NotFound         // the object is certainly not there
	Conflict         // another object holds the name, address or slot
	Busy             // the object is there and occupied; later may succeed
	Invalid          // the other side refused what was asked
	Denied           // credentials, host keys or permissions
	Unavailable      // no answer could be had; nothing was changed
	Ambiguous        // a write may or may not have taken effect
	Unsupported      // the other side does not know the call or its flags
	Exhausted        // disk, memory or quota is used up
)

var kindNames = [...]string{
	Unknown: "unknown", NotFound: "not found", Conflict: "conflict", Busy: "busy",
	Invalid: "invalid", Denied: "denied", Unavailable: "unavailable",
	Ambiguous: "ambiguous", Unsupported: "unsupported", Exhausted: "exhausted",
}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Retryable reports whether the same call, sent again later, may succeed
// without anybody changing anything. An ambiguous write is not retryable: its
// outcome has to be read first.
func (k Kind) Retryable() bool {
	return k == Busy || k == Unavailable
}

// Error is a classified failure of one operation on one subject.
type Error struct {
	Kind    Kind
	Op      string // what was tried, for example "libvirt: define domain"
	Subject string // the remote object's name; may be empty
	Err     error  // the cause; never carries a secret
}

// New returns a classified error with a formatted cause.
func New(kind Kind, op, subject, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Subject: subject, Err: fmt.Errorf(format, args...)}
}

// Error implements error: operation, subject, cause.
func (e *Error) Error() string {
	s := e.Op
	if e.Subject != "" {
		s += " " + e.Subject
	}
	if e.Err == nil {
		return s + ": " + e.Kind.String()
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost classified error in err's chain, or
// Unknown.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unknown
}

// Is reports whether err is classified as kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }
