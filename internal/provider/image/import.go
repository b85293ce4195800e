package image

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// lookUp finds a stocked image by "POOL/VOLUME", by volume name or by image
// name.
func (r *Resource) lookUp(ctx context.Context, id, uri string) (model, *libvirt.Host, diag.Diagnostic) {
	unable := func(happened, todo string) diag.Diagnostic {
		return tfconv.Unable("import", typeName, id, happened, "", todo)
	}
	host, err := r.data.Host(uri)
	if err != nil {
		return model{}, nil, unable(err.Error(), "Correct the URI after the @.")
	}
	pools, name := []string(nil), id
	if pool, volume, ok := strings.Cut(id, "/"); ok {
		pools, name = []string{pool}, volume
	} else {
		all, err := host.Pools(ctx)
		if err != nil {
			return model{}, nil, tfconv.UnableFault("import", typeName, id, host.URI(), err)
		}
		for _, p := range all {
			if p.Active {
				pools = append(pools, p.Name)
			}
		}
	}
	var found []stocked
	for _, pool := range pools {
		s := &stocker{host: host, pool: pool}
		markers, err := s.markersNamed(ctx, name)
		if err != nil {
			return model{}, nil, tfconv.UnableFault("import", typeName, id, host.URI(), err)
		}
		for volume, mk := range markers {
			v, err := host.Volume(ctx, pool, volume)
			if err != nil {
				return model{}, nil, tfconv.UnableFault("import", typeName, id, host.URI(), err)
			}
			found = append(found, stocked{volume: v, marker: mk})
		}
	}
	switch len(found) {
	case 0:
		return model{}, nil, unable(fmt.Sprintf("no pool of %s has an image of that name that was stocked by %s", host.URI(), typeName),
			"Import as POOL/VOLUME or by the image's name. A volume that was made otherwise is stocked by creating the resource.")
	case 1:
		return r.imported(found[0], uri), host, nil
	default:
		return model{}, nil, unable("it could be any of "+strings.Join(idsOf(found), ", "), "Import one of them by POOL/VOLUME.")
	}
}

func idsOf(found []stocked) []string {
	ids := make([]string, len(found))
	for i, st := range found {
		ids[i] = st.volume.Pool + "/" + st.volume.Name
	}
	sort.Strings(ids)
	return ids
}

func (r *Resource) imported(st stocked, uri string) model {
	m := model{
		Name: types.StringValue(st.marker.Name), Pool: types.StringValue(st.volume.Pool),
		Source: tfconv.StringOrNull(st.marker.Source), SHA256: types.StringValue(st.marker.SHA256), Timeouts: limits.Null(),
	}
	if uri != "" && !r.data.IsDefault(uri) {
		m.URI = types.StringValue(uri)
	}
	m.take(st)
	return m
}
