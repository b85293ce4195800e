package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/providerdata"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// stock makes sure that the host has the image. A nil diagnostic is success;
// with one, what is returned is what may be left on the host.
func (r *Resource) stock(ctx context.Context, host *libvirt.Host, m model) (stocked, diag.Diagnostic) {
	unable := func(err error) diag.Diagnostic {
		return tfconv.UnableFault("create", typeName, m.Name.ValueString(), host.URI(), err)
	}
	if d := r.needsNamespace(m); d != nil {
		return stocked{}, d
	}
	waiting := func(why error) {
		tflog.Info(ctx, "image: waiting for the pool", map[string]any{"pool": m.Pool.ValueString(), "why": why.Error()})
	}
	if _, err := readyPool(ctx, host, m.Pool.ValueString(), waiting); err != nil {
		return stocked{}, unable(err)
	}
	s := r.stocker(ctx, host, m)
	if st, done, err := r.reuse(ctx, s, m); err != nil || done {
		if err != nil {
			return stocked{}, unable(err)
		}
		return st, nil
	}
	src, err := openSource(ctx, m.Source.ValueString(), s.report)
	if err != nil {
		return stocked{}, sourceProblem(m, err)
	}
	defer func() { _ = src.file.Close() }()
	if d := contradiction(m, src.content); d != nil {
		return stocked{}, d
	}
	st, err := r.ensure(ctx, s, r.newMarker(m, src.content), src.file)
	if err != nil {
		return st, unable(err)
	}
	return st, nil
}

// reuse shares an image that the pool has already, where its hash is known:
// nothing is read or downloaded then.
func (r *Resource) reuse(ctx context.Context, s *stocker, m model) (stocked, bool, error) {
	if !tfconv.Known(m.SHA256) {
		return stocked{}, false, nil
	}
	release, err := r.data.Lock(ctx, lockKey(s.host, s.pool, m.SHA256.ValueString()))
	if err != nil {
		return stocked{}, false, err
	}
	defer release()
	for _, format := range []string{formatQCOW2, formatRaw} {
		if f := m.Format; tfconv.Known(f) && f.ValueString() != format {
			continue
		}
		have, err := s.find(ctx, m.SHA256.ValueString(), format)
		if err != nil {
			return stocked{}, false, err
		}
		if have == nil {
			continue
		}
		st, err := s.ensure(ctx, r.newMarker(m, have.marker.content()), nothing{})
		if errors.Is(err, errNothing) {
			return stocked{}, false, nil // removed in this moment
		}
		return st, err == nil, err
	}
	return stocked{}, false, nil
}

func (r *Resource) ensure(ctx context.Context, s *stocker, mk marker, src io.ReadSeeker) (stocked, error) {
	release, err := r.data.Lock(ctx, lockKey(s.host, s.pool, mk.SHA256))
	if err != nil {
		return stocked{}, err
	}
	defer release()
	return s.ensure(ctx, mk, src)
}

// errNothing is what the source gives that must not be needed.
var errNothing = errors.New("there is no source to upload from")

// nothing is a source for what is stocked already.
type nothing struct{}

// Read implements io.Reader.
func (nothing) Read([]byte) (int, error) { return 0, errNothing }

// Seek implements io.Seeker.
func (nothing) Seek(int64, int) (int64, error) { return 0, errNothing }

func (r *Resource) newMarker(m model, c content) marker {
	mk := marker{
		Namespace: r.data.Identity.Namespace, Type: typeName, Name: m.Name.ValueString(),
		Incarnation: providerdata.NewIncarnation(), SHA256: c.SHA256, Format: c.Format,
		FileSize: c.FileSize, VirtualSize: c.VirtualSize, Op: providerdata.NewOperation("create"),
	}
	if src := m.Source.ValueString(); shown(src) == src {
		mk.Source = src // a URL with credentials is nobody else's business
	}
	return mk
}

func (r *Resource) needsNamespace(m model) diag.Diagnostic {
	if r.data.Identity.Namespace != "" {
		return nil
	}
	return tfconv.Unable("create", typeName, m.Name.ValueString(),
		"The provider has no namespace, which is part of every owner mark.", "",
		"Set `identity { namespace = \"...\" }` in the provider configuration, or the environment variable MUSTER_NAMESPACE.")
}

// contradiction compares what was configured or planned with the content.
func contradiction(m model, c content) diag.Diagnostic {
	name := m.Name.ValueString()
	if tfconv.Known(m.SHA256) && m.SHA256.ValueString() != c.SHA256 {
		return tfconv.UnableAt(path.Root("sha256"), "create", typeName, name,
			fmt.Sprintf("The content of %s has the SHA-256 %s.", shown(m.Source.ValueString()), c.SHA256),
			fmt.Sprintf("Expected %s.", m.SHA256.ValueString()),
			"Correct sha256 if the new content is wanted; otherwise find out who changed the source. Plan again if it changed since the plan.")
	}
	if tfconv.Known(m.Format) && m.Format.ValueString() != c.Format {
		return tfconv.UnableAt(path.Root("format"), "create", typeName, name,
			fmt.Sprintf("The content of %s is a %s image.", shown(m.Source.ValueString()), c.Format),
			fmt.Sprintf("Expected %s.", m.Format.ValueString()),
			"Correct format, or leave it out.")
	}
	return nil
}

func sourceProblem(m model, err error) diag.Diagnostic {
	todo := "Correct source, or make the file readable."
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		todo = "Raise `timeouts { create }`, or put the image nearer."
	case errors.Is(err, context.Canceled):
		todo = "Run `terraform apply` again."
	case remote(m.Source.ValueString()):
		todo = "Check the URL and the way to it, then apply again."
	}
	return tfconv.UnableAt(path.Root("source"), "create", typeName, m.Name.ValueString(), err.Error(), "", todo)
}

// refresh reads the image's standing into the state, or removes it. An image
// that nothing says is whole has no incarnation in its state.
func (r *Resource) refresh(ctx context.Context, host *libvirt.Host, m *model, resp *resource.ReadResponse) error {
	s := r.stocker(ctx, host, *m)
	st, err := s.look(ctx, m.Volume.ValueString(), m.owned(r.data.Identity.Namespace))
	switch {
	case fault.Is(err, fault.NotFound):
		tflog.Info(ctx, "image: gone from the host", map[string]any{"id": m.ID.ValueString(), "why": err.Error()})
		resp.State.RemoveResource(ctx)
		return nil
	case err != nil:
		return err
	}
	if !st.Whole {
		// A destroy that was cut short, or somebody, has removed the marker. The
		// volume is still ours to remove, or to upload again.
		m.Incarnation = types.StringValue("")
	}
	m.take(stocked{volume: st.Volume, marker: marker{
		Incarnation: m.Incarnation.ValueString(), SHA256: m.SHA256.ValueString(),
		Format: m.Format.ValueString(), VirtualSize: m.SizeBytes.ValueInt64(),
	}})
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	return nil
}

// unread says why a refresh could not be done. The prior state is kept.
func (r *Resource) unread(ctx context.Context, m model, err error, resp *resource.ReadResponse) {
	if keep, warning := r.data.KeepsState(m.URI.ValueString(), err); keep {
		if warning != nil {
			resp.Diagnostics.Append(warning)
		}
		return
	}
	if pool, perr := r.inactivePool(ctx, m); perr == nil && pool {
		resp.Diagnostics.Append(tfconv.Problem{
			Verb: "refresh", Type: typeName, Name: m.Name.ValueString(),
			Happened: fmt.Sprintf("The pool %s is not active.", m.Pool.ValueString()),
			Expected: "What the state says was kept.",
			Todo:     fmt.Sprintf("Start it: `virsh pool-start %s`.", m.Pool.ValueString()),
		}.Warning())
		return
	}
	resp.Diagnostics.Append(tfconv.UnableFault("refresh", typeName, m.Name.ValueString(), m.URI.ValueString(), err))
}

func (r *Resource) inactivePool(ctx context.Context, m model) (bool, error) {
	host, err := r.host(m)
	if err != nil {
		return false, err
	}
	p, err := host.Pool(ctx, m.Pool.ValueString())
	return err == nil && !p.Active, err
}

// destroy removes what is the image's own.
func (r *Resource) destroy(ctx context.Context, host *libvirt.Host, m model) (diags diag.Diagnostics) {
	name := m.Name.ValueString()
	s := r.stocker(ctx, host, m)
	release, err := r.data.Lock(ctx, lockKey(host, s.pool, m.SHA256.ValueString()))
	if err == nil {
		defer release()
		out, rerr := s.remove(ctx, m.Volume.ValueString(), m.owned(r.data.Identity.Namespace), func(left []string) {
			tflog.Info(ctx, "image: still used, waiting", map[string]any{"volume": m.ID.ValueString(), "by": left})
		})
		if rerr == nil {
			rerr = out.refusal(s.pool, m.Volume.ValueString())
		}
		if err = rerr; err == nil && out.Newer != nil {
			diags.Append(superseded("destroy", m, *out.Newer).Warning())
		}
	}
	switch {
	case err == nil, fault.Is(err, fault.NotFound): // the pool is gone, and the volume with it
		return diags
	case fault.Is(err, fault.Unavailable) && r.data.Abandoned(m.URI.ValueString()):
		diags.Append(tfconv.Problem{
			Verb: "reach the host of", Type: typeName, Name: name,
			Happened: fmt.Sprintf("The image %s on %s was forgotten without being removed, as %s asks.", m.ID.ValueString(), host.URI(), providerdata.AbandonEnv),
			Todo:     "If the host comes back, remove the volume there.",
		}.Warning())
		return diags
	default:
		diags.Append(tfconv.UnableFault("destroy", typeName, name, host.URI(), err))
		return diags
	}
}

// superseded says that a newer create of the same image owns it.
func superseded(verb string, m model, newer marker) tfconv.Problem {
	return tfconv.Problem{
		Verb: verb, Type: typeName, Name: m.Name.ValueString(),
		Happened: fmt.Sprintf("volume %s belongs to a newer create of the same image in namespace %q, done on %s at %s",
			m.ID.ValueString(), newer.Namespace, newer.Op.Host, newer.Op.Time.Format(time.RFC3339)),
		Expected: "An image of one name is in one state only; the volume was left as it is.",
		Todo:     "Take the image out of one of the two configurations (`removed` block or `terraform state rm`), or give it another name.",
	}
}
