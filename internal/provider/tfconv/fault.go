package tfconv

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// UnableFault returns an error diagnostic for an adapter's error on the host
// with the given URI.
func UnableFault(verb, typ, name, uri string, err error) diag.Diagnostic {
	happened, todo := FaultParts(err, uri)
	return Problem{Verb: verb, Type: typ, Name: name, Happened: happened, Todo: todo}.Error()
}

// FaultDetail returns FaultParts as one text.
func FaultDetail(err error, uri string) string {
	happened, todo := FaultParts(err, uri)
	return Problem{Happened: happened, Todo: todo}.Detail()
}

// FaultParts says what an adapter's error means on the host with the given URI
// and the one thing to do about it.
func FaultParts(err error, uri string) (happened, todo string) {
	on := ""
	if uri != "" {
		on = " (host " + uri + ")"
	}
	happened = Sentence(err.Error() + on)
	switch {
	case errors.Is(err, context.Canceled):
		return "The operation was interrupted: " + happened, "Run `terraform apply` again: it goes on where this one stopped."
	case errors.Is(err, context.DeadlineExceeded):
		return happened, "Look at what the host is busy with; if it only needs longer, raise the key of the `timeouts` block that belongs to this operation."
	}
	return happened, advice(fault.KindOf(err), uri)
}

func advice(kind fault.Kind, uri string) string {
	host := "the host"
	if uri != "" {
		host = uri
	}
	switch kind {
	case fault.NotFound:
		return "Create it, or correct the name in the configuration."
	case fault.Conflict:
		return "Choose another name, remove the other object, or import it."
	case fault.Busy:
		return "Wait until what keeps it busy has ended or is removed, then apply again."
	case fault.Invalid:
		return "Correct the argument that the message names; what was there before is unchanged."
	case fault.Denied:
		return fmt.Sprintf("Check the user, key, certificate and known_hosts entry used for %s, and that this user may manage libvirt there.", host)
	case fault.Unavailable:
		return fmt.Sprintf("Check that libvirtd runs and answers (`virsh -c '%s' version`), then apply again.", host)
	case fault.Ambiguous:
		return "The request may or may not have taken effect. Apply again: the object is read first and the work goes on from what is there."
	case fault.Unsupported:
		return "This host's libvirt or driver cannot do it: leave the argument out, or use a newer host."
	case fault.Exhausted:
		return "Free space or memory on the host, or use another pool, then apply again."
	default:
		return "Apply again; if it persists, look at the log of libvirtd on the host."
	}
}
