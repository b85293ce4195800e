package nodevm

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/libvirt/domxml"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

var (
	nameForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	elementForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,30}$`)
)

func elementName(of string) schema.StringAttribute {
	return schema.StringAttribute{
		Required:    true,
		Description: "Name of the " + of + ", unique in the VM. It is the " + of + "'s identity.",
		Validators:  []validator.String{stringvalidator.RegexMatches(elementForm, "must be 1 to 31 letters, digits, '_' or '-', the first a letter")},
	}
}

func cpuAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"mode": schema.StringAttribute{
			Required: true, Description: "host-passthrough, host-model, maximum or custom.",
			Validators: []validator.String{stringvalidator.OneOf("host-passthrough", "host-model", "maximum", "custom")},
		},
		"model": schema.StringAttribute{Optional: true, Description: "CPU model, with mode custom only."},
	}
}

func firmwareAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"type": schema.StringAttribute{
			Required: true, Description: "bios or uefi.", Validators: []validator.String{stringvalidator.OneOf("bios", "uefi")},
		},
		"secure_boot": schema.BoolAttribute{Optional: true, Description: "Secure boot with enrolled keys, with uefi only. Default: false."},
		"tpm":         schema.BoolAttribute{Optional: true, Description: "Emulated TPM 2.0; the host needs swtpm. Default: false."},
		"machine":     schema.StringAttribute{Optional: true, Description: "Machine type. Default: q35. An alias is resolved once and stays pinned."},
	}
}

func bootAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"order": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			Description: "Classes of devices, first choice first: disk, network. Default: disk, network.",
			Validators: []validator.List{
				listvalidator.SizeBetween(1, 2), listvalidator.UniqueValues(),
				listvalidator.ValueStringsAre(stringvalidator.OneOf(domxml.BootDisk, domxml.BootNetwork)),
			},
		},
		"kernel":  schema.StringAttribute{Optional: true, Description: "Absolute path on the host of a kernel to boot directly."},
		"initrd":  schema.StringAttribute{Optional: true, Description: "Absolute path on the host of its initial RAM disk."},
		"cmdline": schema.StringAttribute{Optional: true, Description: "The kernel's command line."},
	}
}

func diskAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name":  elementName("disk"),
		"image": schema.StringAttribute{Optional: true, Description: "Image that the disk starts from: the id of a muster_image, POOL/VOLUME, or an absolute path on the host. A change replaces the VM."},
		"size_mib": schema.Int64Attribute{
			Optional: true, Description: "Size in MiB. Default: the image's. A disk grows in place, running or not, and never shrinks.",
			Validators: []validator.Int64{int64validator.Between(1, 64<<20)},
		},
		"pool": schema.StringAttribute{Optional: true, Description: "Storage pool of the disk. Default: default. A change replaces the VM."},
		"bus": schema.StringAttribute{
			Optional: true, Description: "virtio, scsi or sata. Default: virtio. Changes at the next power cycle.",
			Validators: []validator.String{stringvalidator.OneOf("virtio", "scsi", "sata")},
		},
	}
}

func nicAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name":    elementName("NIC"),
		"network": schema.StringAttribute{Optional: true, Description: "Libvirt network to be on. Exactly one of network and bridge. Changes live, with a bounce of the link."},
		"bridge":  schema.StringAttribute{Optional: true, Description: "Bridge of the host to be on. Changes live, with a bounce of the link."},
		"mac": schema.StringAttribute{
			Optional: true, CustomType: tfconv.MACType{},
			Description: "MAC address. Default: the one that the NIC has, or when it is born one derived from namespace, VM name and NIC name. A change is warned of at plan and takes effect at the next power cycle.",
		},
		"model":      schema.StringAttribute{Optional: true, Description: "Device model, for example virtio or e1000e. Default: virtio. Changes at the next power cycle."},
		"mtu":        schema.Int64Attribute{Optional: true, Description: "MTU in bytes that the guest sees, 68 to 65535; at most that of the network or bridge. Changes at the next power cycle.", Validators: []validator.Int64{int64validator.Between(68, 65535)}},
		"boot_order": schema.Int64Attribute{Optional: true, Description: "Place among the NICs when the VM boots from the network; those without one come after.", Validators: []validator.Int64{int64validator.AtLeast(1)}},
		"link":       schema.StringAttribute{Optional: true, Description: "up or down. Default: up. Changes live.", Validators: []validator.String{stringvalidator.OneOf("up", "down")}},
		"addresses":  schema.ListAttribute{Optional: true, ElementType: types.StringType, Description: "Static addresses with prefix length, written to the NoCloud seed. Default: DHCP where the network has a DHCP server."},
		"gateway":    schema.StringAttribute{Optional: true, Description: "Default gateway, with addresses only."},
		"nameservers": schema.ListAttribute{
			Optional: true, ElementType: types.StringType, Description: "DNS servers, with addresses only.",
		},
	}
}

func consoleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{"enabled": schema.BoolAttribute{Required: true, Description: "Whether there is a console."}}
}

func cloudInitAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"user_data":            schema.StringAttribute{Optional: true, Sensitive: true, Description: "User data. It lies in Terraform's state, marked sensitive."},
		"user_data_wo":         schema.StringAttribute{Optional: true, Sensitive: true, WriteOnly: true, Description: "User data that is written to the seed and kept nowhere else. Give user_data_wo_version with it."},
		"user_data_wo_version": schema.Int64Attribute{Optional: true, Description: "Raise it to write a changed user_data_wo."},
		"meta_data":            schema.StringAttribute{Optional: true, Description: "Meta data in YAML. instance-id and local-hostname default to the VM's UUID and name."},
		"network_config":       schema.StringAttribute{Optional: true, Description: "Network configuration in YAML, version 1 or 2. Default: complete configuration of every NIC, matched by MAC, so that no link keeps the boot waiting."},
		"pool":                 schema.StringAttribute{Optional: true, Description: "Storage pool of the seed. Default: that of the first disk, else default."},
	}
}

func readyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"lease":   schema.BoolAttribute{Optional: true, Description: "Every NIC on a libvirt network with DHCP has a lease."},
		"agent":   schema.BoolAttribute{Optional: true, Description: "The guest agent answers."},
		"units":   schema.ListAttribute{Optional: true, ElementType: types.StringType, Description: "These systemd units are active, asked through the guest agent.", Validators: []validator.List{listvalidator.ValueStringsAre(stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9@:._\\-]+$`), "must be the name of a systemd unit"))}},
		"timeout": schema.StringAttribute{Optional: true, Description: "How long to wait. Default: 5m. The VM stays when it runs out.", Validators: []validator.String{durationValidator{}}},
	}
}

func captureAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"enabled": schema.BoolAttribute{Required: true, Description: "Whether packets are captured."},
		"keep":    schema.Int64Attribute{Optional: true, Description: "Files kept for each NIC; the oldest go first. Default: 3.", Validators: []validator.Int64{int64validator.Between(1, 100)}},
	}
}
