package image

import (
	"context"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt"
)

const (
	// usersGrace is how long a destroy waits for volumes and domains that are
	// being removed as well.
	usersGrace = time.Minute
	usersPoll  = 2 * time.Second
)

// users names what would lose its data with the file at path: volumes backed
// by it, in any pool of the host, and domains whose definition names it.
func users(ctx context.Context, host *libvirt.Host, path string) ([]string, error) {
	volumes, err := overlays(ctx, host, path)
	if err != nil {
		return nil, err
	}
	domains, err := domainsOf(ctx, host, path)
	if err != nil {
		return nil, err
	}
	found := append(volumes, domains...)
	slices.Sort(found)
	return slices.Compact(found), nil
}

func overlays(ctx context.Context, host *libvirt.Host, path string) ([]string, error) {
	pools, err := host.Pools(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, p := range pools {
		if !p.Active {
			continue
		}
		names, err := host.Volumes(ctx, p.Name)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
			continue // removed or stopped since it was listed
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, _, isMarker := splitMarker(name); isMarker {
				continue
			}
			v, err := host.Volume(ctx, p.Name, name)
			if fault.Is(err, fault.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if v.BackingPath == path {
				found = append(found, fmt.Sprintf("volume %s/%s", p.Name, name))
			}
		}
	}
	return found, nil
}

func domainsOf(ctx context.Context, host *libvirt.Host, path string) ([]string, error) {
	inv, err := host.Inventory(ctx, 0)
	if err != nil {
		return nil, err
	}
	needle := quoted(path)
	var found []string
	for _, d := range inv.All() {
		for _, kind := range []libvirt.XMLKind{libvirt.Live, libvirt.Persistent} {
			doc, err := host.DomainXML(ctx, d.UUID, kind)
			if fault.Is(err, fault.NotFound) || kind == libvirt.Persistent && fault.Is(err, fault.Invalid) {
				continue // gone, or transient
			}
			if err != nil {
				return nil, err
			}
			if strings.Contains(doc, needle) {
				found = append(found, "domain "+d.Name)
				break
			}
		}
	}
	return found, nil
}

// quoted returns path as libvirt writes it in an attribute.
func quoted(path string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(path)) // a strings.Builder never fails
	return "'" + b.String() + "'"
}

// awaitUnused waits a minute, or until ctx ends, for the users of path to go.
// It returns those that are left.
func awaitUnused(ctx context.Context, host *libvirt.Host, path string, log func(users []string)) ([]string, error) {
	deadline := time.Now().Add(usersGrace)
	for {
		left, err := users(ctx, host, path)
		if err != nil || len(left) == 0 || !time.Now().Before(deadline) {
			return left, err
		}
		log(left)
		select {
		case <-time.After(usersPoll):
		case <-ctx.Done():
			return left, nil
		}
	}
}
