package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

var _ function.Function = (*MAC)(nil)

// MAC is the function mac.
type MAC struct{}

// NewMAC returns the function mac.
func NewMAC() function.Function { return &MAC{} }

// Metadata implements function.Function.
func (f *MAC) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "mac"
}

// Definition implements function.Function.
func (f *MAC) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The MAC address that a new NIC is given",
		MarkdownDescription: "Returns, in lower case, the address that `muster_node_vm` derives for a NIC that has no `mac` of its own: " +
			"the prefix, then a hash over namespace, VM name and NIC name. The same names give the same address on every machine. " +
			"A VM that exists keeps the address it was born with, which its attribute `macs` tells.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "namespace", MarkdownDescription: "The provider's `identity.namespace`."},
			function.StringParameter{Name: "vm", MarkdownDescription: "Name of the VM."},
			function.StringParameter{Name: "nic", MarkdownDescription: "Name of the NIC."},
		},
		VariadicParameter: function.StringParameter{
			Name: "prefix", MarkdownDescription: "At most one: the provider's `identity.mac_prefix`. Without it: `02`.",
		},
		Return: function.StringReturn{CustomType: tfconv.MACType{}},
	}
}

// prefixPosition is the index of the variadic parameter.
const prefixPosition = 3

// Run implements function.Function.
func (f *MAC) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var names [prefixPosition]string
	var prefixes []string
	resp.Error = req.Arguments.Get(ctx, &names[0], &names[1], &names[2], &prefixes)
	if resp.Error != nil {
		return
	}
	for i, what := range []string{"namespace", "vm", "nic"} {
		if names[i] == "" {
			resp.Error = function.NewArgumentFuncError(int64(i), what+" must not be empty.")
			return
		}
	}
	if len(prefixes) > 1 {
		resp.Error = function.NewArgumentFuncError(prefixPosition+1, "At most one prefix is accepted.")
		return
	}
	var prefix hwaddr.Prefix
	if len(prefixes) == 1 {
		p, err := hwaddr.ParsePrefix(prefixes[0])
		if err != nil {
			resp.Error = function.NewArgumentFuncError(prefixPosition, tfconv.Sentence(err.Error()))
			return
		}
		prefix = p
	}
	resp.Error = resp.Result.Set(ctx, tfconv.NewMAC(hwaddr.DeriveMAC(prefix, names[0], names[1], names[2])))
}
