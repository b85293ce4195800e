package maas

import (
	"context"
	"strconv"
	"strings"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
)

// Image is a boot resource of the region: what machines boot and install.
type Image struct {
	ID           int
	Name         string   // "ubuntu/jammy"
	Architecture string   // "amd64/ga-22.04"
	Subarches    []string // what else it serves
	Type         string   // "Synced", "Uploaded", "Generated"
}

// Arch returns the architecture without its kernel part.
func (i Image) Arch() string {
	arch, _, _ := strings.Cut(i.Architecture, "/")
	return arch
}

// Images lists the boot resources.
func (c *Client) Images(ctx context.Context) ([]Image, error) {
	var images []Image
	err := c.viaLibrary(ctx, &operation{name: "maas: list boot resources"}, func(lib *client.Client) error {
		all, err := lib.BootResources.Get(&entity.BootResourcesReadParams{})
		for _, r := range all {
			images = append(images, Image{
				ID: r.ID, Name: r.Name, Architecture: r.Architecture, Type: r.Type,
				Subarches: strings.Split(r.Subarches, ","),
			})
		}
		return err
	})
	return images, err
}

// ImageComplete reports whether the newest set of an image has all its files.
// An image that is gone is not complete.
func (c *Client) ImageComplete(ctx context.Context, id int) (bool, error) {
	complete := false
	o := &operation{name: "maas: read boot resource", subject: strconv.Itoa(id)}
	err := c.viaLibrary(ctx, o, func(lib *client.Client) error {
		r, err := lib.BootResource.Get(id)
		if err != nil {
			return err
		}
		newest := ""
		for version, set := range r.Sets {
			if version > newest {
				newest, complete = version, set.Complete
			}
		}
		return nil
	})
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return complete, err
}

// Importing reports whether the region is fetching images.
func (c *Client) Importing(ctx context.Context) (bool, error) {
	importing := false
	err := c.viaLibrary(ctx, &operation{name: "maas: read image import"}, func(lib *client.Client) error {
		var err error
		importing, err = lib.BootResources.IsImporting()
		return err
	})
	return importing, err
}
