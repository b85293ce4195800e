package tfconv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/musterlab/terraform-provider-muster/internal/fault"
	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

func TestMAC_caseDoesNotMatter(t *testing.T) {
	upper, lower, other := MACString("52:54:00:AB:CD:EF"), MACString("52:54:00:ab:cd:ef"), MACString("52:54:00:ab:cd:ee")
	if same, _ := upper.StringSemanticEquals(t.Context(), lower); !same {
		t.Error("two spellings of one address differ")
	}
	if same, _ := upper.StringSemanticEquals(t.Context(), other); same {
		t.Error("two addresses are the same")
	}
	if upper.Equal(lower) {
		t.Error("a plan could change the spelling")
	}
	if upper.Canonical() != "52:54:00:ab:cd:ef" || NewMAC(hwaddr.MAC{2, 0, 0, 0, 0, 1}).ValueString() != "02:00:00:00:00:01" {
		t.Error("canonical form")
	}
}

func TestMAC_validates(t *testing.T) {
	for value, ok := range map[string]bool{
		"52:54:00:ab:cd:ef": true, "52-54-00-ab-cd-ef": false, "01:00:5e:00:00:01": false, "00:00:00:00:00:00": false, "52:54": false,
	} {
		var resp xattr.ValidateAttributeResponse
		MACString(value).ValidateAttribute(t.Context(), xattr.ValidateAttributeRequest{Path: path.Root("mac")}, &resp)
		if resp.Diagnostics.HasError() == ok {
			t.Errorf("%s: %v", value, resp.Diagnostics)
		}
	}
	var resp xattr.ValidateAttributeResponse
	MACUnknown().ValidateAttribute(t.Context(), xattr.ValidateAttributeRequest{}, &resp)
	MACNull().ValidateAttribute(t.Context(), xattr.ValidateAttributeRequest{}, &resp)
	if resp.Diagnostics.HasError() {
		t.Error(resp.Diagnostics)
	}
}

func TestParseImportID(t *testing.T) {
	const uuid = "0F1E2D3C-0000-8000-8000-00000000000a"
	for in, want := range map[string]ImportID{
		"lab":                         {Name: "lab"},
		"a@b":                         {Name: "a@b"},
		uuid:                          {UUID: strings.ToLower(uuid)},
		"lab @ qemu+ssh://h/system":   {Name: "lab", URI: "qemu+ssh://h/system"},
		uuid + " @ qemu:///system":    {UUID: strings.ToLower(uuid), URI: "qemu:///system"},
		"default/base.raw @ rack2":    {Name: "default/base.raw", URI: "rack2"},
		" lab  @  qemu+unix:///x?a=b": {Name: "lab", URI: "qemu+unix:///x?a=b"},
	} {
		if got, err := ParseImportID(in); err != nil || got != want {
			t.Errorf("%q: %+v %v", in, got, err)
		}
	}
	for _, in := range []string{"", " @ qemu:///system", "lab @ "} {
		if got, err := ParseImportID(in); err == nil {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func TestDuration_short(t *testing.T) {
	for d, want := range map[time.Duration]string{
		90 * time.Second: "1m30s", 30 * time.Minute: "30m", time.Hour: "1h", 90 * time.Minute: "1h30m", 20 * time.Second: "20s", 10 * time.Minute: "10m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestTimeouts_defaultsAndNull(t *testing.T) {
	limits := Timeouts{Create: time.Hour, Delete: time.Minute}
	null := limits.Null()
	if !null.IsNull() || len(null.AttributeTypes(t.Context())) != 2 {
		t.Error(null)
	}
	ctx, cancel, diags := limits.WithDelete(t.Context(), null)
	defer cancel()
	deadline, ok := ctx.Deadline()
	if left := time.Until(deadline); diags.HasError() || !ok || left > time.Minute || left < 50*time.Second {
		t.Error(left, diags)
	}
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		"the file is empty":         "The file is empty.",
		"libvirt: define domain":    "libvirt: define domain.",
		"mac_prefix is wrong.":      "mac_prefix is wrong.",
		"/tmp/x is not there":       "/tmp/x is not there.",
		`"x" is not a name: want y`: `"x" is not a name: want y.`,
		"":                          "",
		"über alles":                "Über alles.",
	} {
		if got := Sentence(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Whatever went wrong, a user is told one thing to do.
func TestFaultParts_everyKindHasAdvice(t *testing.T) {
	seen := map[string]fault.Kind{}
	for k := fault.Unknown; k <= fault.Exhausted; k++ {
		happened, todo := FaultParts(fault.New(k, "libvirt: define network", "lab", "cause"), "qemu:///system")
		if !strings.Contains(happened, "cause") || !strings.Contains(happened, "qemu:///system") || todo == "" {
			t.Errorf("%s: %q %q", k, happened, todo)
		}
		if other, twice := seen[todo]; twice {
			t.Errorf("%s and %s give the same advice", k, other)
		}
		seen[todo] = k
	}
	if _, todo := FaultParts(fmt.Errorf("x: %w", context.DeadlineExceeded), ""); !strings.Contains(todo, "timeouts") {
		t.Error(todo)
	}
	if happened, todo := FaultParts(fmt.Errorf("x: %w", context.Canceled), ""); !strings.Contains(happened, "interrupted") || !strings.Contains(todo, "apply") {
		t.Error(happened, todo)
	}
}

func TestElements_nullAndUnknownAreNone(t *testing.T) {
	for _, l := range []types.List{types.ListNull(types.StringType), types.ListUnknown(types.StringType)} {
		if got, diags := Strings(t.Context(), l); got != nil || diags.HasError() {
			t.Error(got, diags)
		}
	}
	if got, _ := Strings(t.Context(), StringList([]string{"a", "b"})); len(got) != 2 || got[1] != "b" {
		t.Error(got)
	}
	if l := StringList(nil); l.IsNull() || len(l.Elements()) != 0 {
		t.Error("a computed list is never null")
	}
}

func TestProblem_saysThreeThings(t *testing.T) {
	p := Problem{Verb: "create", Type: "muster_network", Name: "lab", Happened: "the name is taken", Expected: "it is free", Todo: "choose another"}
	if p.Summary() != `Unable to create muster_network "lab"` || p.Detail() != "The name is taken.\nIt is free.\nChoose another." {
		t.Errorf("%s\n%s", p.Summary(), p.Detail())
	}
	if errors.New(p.Detail()) == nil || p.Error().Severity() == p.Warning().Severity() {
		t.Error("severity")
	}
}
