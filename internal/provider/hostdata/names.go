package hostdata

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/provider/tfconv"
)

func sortedNames[T any](all []T, name func(T) string) types.List {
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = name(e)
	}
	slices.Sort(names)
	return tfconv.StringList(names)
}
