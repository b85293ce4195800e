package providerdata

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// KeepsState reports whether a refresh that met err keeps the prior state
// because nothing could be learned: the host is unknown, does not answer, or
// answered too late. The warning is given once per host and process; it is nil
// afterwards.
func (d *Data) KeepsState(uri string, err error) (keep bool, warning diag.Diagnostic) {
	silent := errors.Is(err, ErrHostUnknown) || fault.Is(err, fault.Unavailable) || errors.Is(err, context.DeadlineExceeded)
	if !silent || errors.Is(err, context.Canceled) {
		return false, nil
	}
	name := d.display(uri)
	if !d.WarnOnce("unreachable\x00" + name) {
		return true, nil
	}
	return true, tfconv.Problem{
		Verb: "refresh host", Name: name,
		Happened: err.Error(),
		Expected: "What the state says about objects on this host was kept and may be out of date; changes of them will fail.",
		Todo:     "Bring the host or the way to it back, or correct the uri, then plan again.",
	}.Warning()
}

// display returns the canonical URI where there is one.
func (d *Data) display(uri string) string {
	if h, err := d.Host(uri); err == nil {
		return h.URI()
	}
	if uri == "" {
		return d.cfg.Default.URI
	}
	return uri
}
