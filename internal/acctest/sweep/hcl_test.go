package sweep

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcore"
)

// hcl writes a block and what is in it.
func hcl(header string, v tfcore.Values) string {
	var b strings.Builder
	b.WriteString(header + " {\n")
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch value := v[name].(type) {
		case tfcore.Values:
			b.WriteString(hcl(name, value))
		case []tfcore.Values:
			for _, e := range value {
				b.WriteString(hcl(name, e))
			}
		default:
			fmt.Fprintf(&b, "%s = %s\n", name, literal(value))
		}
	}
	return b.String() + "}\n"
}

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = fmt.Sprintf("%q", s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return fmt.Sprint(v)
}

func TestHCL(t *testing.T) {
	got := hcl(`resource "x" "it"`, tfcore.Values{
		"name": "a", "size": 3, "on": true, "order": []string{"disk", "network"},
		"console": tfcore.Values{"enabled": false}, "nic": []tfcore.Values{{"name": "lan"}, {"name": "san"}},
	})
	want := `resource "x" "it" {
console {
enabled = false
}
name = "a"
nic {
name = "lan"
}
nic {
name = "san"
}
on = true
order = ["disk", "network"]
size = 3
}
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
