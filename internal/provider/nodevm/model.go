package nodevm

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

// Model is the resource as Terraform sees it.
type Model struct {
	Name            types.String   `tfsdk:"name"`
	URI             types.String   `tfsdk:"uri"`
	MemoryMiB       types.Int64    `tfsdk:"memory_mib"`
	VCPUs           types.Int64    `tfsdk:"vcpus"`
	Power           types.String   `tfsdk:"power"`
	OnChange        types.String   `tfsdk:"on_change"`
	Autostart       types.Bool     `tfsdk:"autostart"`
	AdoptExisting   types.Bool     `tfsdk:"adopt_existing"`
	ShutdownTimeout types.String   `tfsdk:"shutdown_timeout"`
	ID              types.String   `tfsdk:"id"`
	MACs            types.Map      `tfsdk:"macs"`
	Incarnation     types.String   `tfsdk:"incarnation"`
	Addresses       types.Map      `tfsdk:"addresses"`
	PendingRestart  types.List     `tfsdk:"pending_restart"`
	Unmanaged       types.List     `tfsdk:"unmanaged"`
	ConsoleLog      types.String   `tfsdk:"console_log"`
	CPU             types.List     `tfsdk:"cpu"`
	Firmware        types.List     `tfsdk:"firmware"`
	Boot            types.List     `tfsdk:"boot"`
	Disks           types.List     `tfsdk:"disk"`
	NICs            types.List     `tfsdk:"nic"`
	Console         types.List     `tfsdk:"console"`
	CloudInit       types.List     `tfsdk:"cloud_init"`
	Ready           types.List     `tfsdk:"ready"`
	Capture         types.List     `tfsdk:"capture"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
}

type cpuModel struct {
	Mode  types.String `tfsdk:"mode"`
	Model types.String `tfsdk:"model"`
}

type firmwareModel struct {
	Type       types.String `tfsdk:"type"`
	SecureBoot types.Bool   `tfsdk:"secure_boot"`
	TPM        types.Bool   `tfsdk:"tpm"`
	Machine    types.String `tfsdk:"machine"`
}

type bootModel struct {
	Order   types.List   `tfsdk:"order"`
	Kernel  types.String `tfsdk:"kernel"`
	Initrd  types.String `tfsdk:"initrd"`
	Cmdline types.String `tfsdk:"cmdline"`
}

type diskModel struct {
	Name    types.String `tfsdk:"name"`
	Image   types.String `tfsdk:"image"`
	SizeMiB types.Int64  `tfsdk:"size_mib"`
	Pool    types.String `tfsdk:"pool"`
	Bus     types.String `tfsdk:"bus"`
}

type nicModel struct {
	Name        types.String `tfsdk:"name"`
	Network     types.String `tfsdk:"network"`
	Bridge      types.String `tfsdk:"bridge"`
	MAC         tfconv.MAC   `tfsdk:"mac"`
	Model       types.String `tfsdk:"model"`
	MTU         types.Int64  `tfsdk:"mtu"`
	BootOrder   types.Int64  `tfsdk:"boot_order"`
	Link        types.String `tfsdk:"link"`
	Addresses   types.List   `tfsdk:"addresses"`
	Gateway     types.String `tfsdk:"gateway"`
	Nameservers types.List   `tfsdk:"nameservers"`
}

type consoleModel struct {
	Enabled types.Bool `tfsdk:"enabled"`
}

type cloudInitModel struct {
	UserData          types.String `tfsdk:"user_data"`
	UserDataWO        types.String `tfsdk:"user_data_wo"`
	UserDataWOVersion types.Int64  `tfsdk:"user_data_wo_version"`
	MetaData          types.String `tfsdk:"meta_data"`
	NetworkConfig     types.String `tfsdk:"network_config"`
	Pool              types.String `tfsdk:"pool"`
}

type readyModel struct {
	Lease   types.Bool   `tfsdk:"lease"`
	Agent   types.Bool   `tfsdk:"agent"`
	Units   types.List   `tfsdk:"units"`
	Timeout types.String `tfsdk:"timeout"`
}

type captureModel struct {
	Enabled types.Bool  `tfsdk:"enabled"`
	Keep    types.Int64 `tfsdk:"keep"`
}

// identityModel is the resource identity: unlike the name, it never changes.
type identityModel struct {
	URI  types.String `tfsdk:"uri"`
	UUID types.String `tfsdk:"uuid"`
}

// The settings' values and defaults.
const (
	onChangeDefer   = "defer"
	onChangeRestart = "restart"
	defaultPool     = "default"
	defaultShutdown = "60s"
	defaultReady    = "5m"
	defaultKeep     = 3
)
