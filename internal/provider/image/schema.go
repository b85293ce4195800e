package image

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// limits are the default timeouts.
var limits = tfconv.Timeouts{Create: time.Hour, Read: 2 * time.Minute, Update: 5 * time.Minute, Delete: 5 * time.Minute}

// maxName leaves room in a file name of 255 bytes for the hash, the format and
// the marker's ending.
const maxName = 180

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Schema implements resource.Resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Stocks a libvirt host with an image that disks are made from.\n\n" +
			"The volume is named `NAME-HASH.FORMAT`, where the hash is of its content: the same content is stocked once in a pool, also under another name, " +
			"and a changed source is a new volume. A companion volume (`....muster-INCARNATION`) is written when the upload was verified; " +
			"without one an upload counts as interrupted and is done again. Destroying removes the volume with its last owner, and refuses " +
			"(after a minute's wait) while a volume or domain of the host uses it.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed: true, PlanModifiers: keep,
				MarkdownDescription: "`POOL/VOLUME`; what the `image` of a disk names.",
			},
			"name": schema.StringAttribute{
				Required: true, PlanModifiers: replace,
				MarkdownDescription: "Name of the image: letters, digits, dots, underscores, hyphens.",
				Validators: []validator.String{
					stringvalidator.LengthBetween(1, maxName),
					stringvalidator.RegexMatches(namePattern, "must be letters, digits, dots, underscores and hyphens, beginning with a letter or digit"),
					tfconv.Check("image name", func(s string) error {
						if strings.Contains(s, markerInfix) {
							return fmt.Errorf("%q marks companion volumes and may not be part of a name", markerInfix)
						}
						return nil
					}),
				},
			},
			"pool": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString("default"), PlanModifiers: replace,
				Validators: []validator.String{tfconv.Check("pool name", func(s string) error {
					if s == "" || strings.Contains(s, "/") {
						return errors.New("a pool name is not empty and has no slash")
					}
					return nil
				})},
				MarkdownDescription: "Storage pool (of files: `dir`, `netfs`, `fs`). One that is defined but not active is started, and waited for up to two minutes. Default: `default`.",
			},
			"uri": schema.StringAttribute{
				Optional: true, PlanModifiers: replace,
				MarkdownDescription: "Libvirt URI, or name of a `host` block, of the host. Default: the provider's.",
			},
			"source": schema.StringAttribute{
				Required: true, Validators: []validator.String{tfconv.Check("source", checkSource)},
				MarkdownDescription: "Path of a file on this machine, or an http(s) URL, which is fetched through a file in the temporary folder that has no name. " +
					"A file is looked at in every plan, so that a change of it is seen; its absence later changes nothing. " +
					"What a URL gives is fixed when it is stocked: give `sha256` to follow it.",
			},
			"sha256": schema.StringAttribute{
				Optional: true, Computed: true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
				Validators:    []validator.String{stringvalidator.RegexMatches(hashPattern, "must be 64 lower-case hexadecimal digits")},
				MarkdownDescription: "SHA-256 of the source, checked before anything is stocked. With it, and an image that the host has already, nothing is downloaded. " +
					"Computed where it is not given.",
			},
			"format": schema.StringAttribute{
				Optional: true, Computed: true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
				Validators:    []validator.String{stringvalidator.OneOf(formatRaw, formatQCOW2)},
				MarkdownDescription: "`raw` or `qcow2`, told by the file's first bytes; one that contradicts them is an error. " +
					"Compressed files and overlays are refused.",
			},
			"volume": schema.StringAttribute{Computed: true, PlanModifiers: keep, MarkdownDescription: "Name of the volume in the pool."},
			"path":   schema.StringAttribute{Computed: true, PlanModifiers: keep, MarkdownDescription: "Path of the volume on the host."},
			"size_bytes": schema.Int64Attribute{
				Computed: true, PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
				MarkdownDescription: "Size of the disk that a guest sees, in bytes.",
			},
			"incarnation": schema.StringAttribute{
				Computed: true, PlanModifiers: keep,
				MarkdownDescription: "Random, fresh at every create; tells this image's marker from a newer one's.",
			},
		},
		Blocks: map[string]schema.Block{"timeouts": limits.Block(ctx)},
	}
}

// IdentitySchema implements resource.ResourceWithIdentity.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"uri": identityschema.StringAttribute{OptionalForImport: true, Description: "Canonical URI of the host; default: the provider's."},
		"key": identityschema.StringAttribute{RequiredForImport: true, Description: "POOL/VOLUME."},
	}}
}
