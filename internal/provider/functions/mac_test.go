package functions_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/musterlab/terraform-provider-muster/internal/acctest"
	"github.com/musterlab/terraform-provider-muster/internal/hwaddr"
)

func TestMain(m *testing.M) { acctest.Main(m) }

func output(call string) string { return fmt.Sprintf("output \"it\" {\n  value = %s\n}\n", call) }

func TestAccFunctionMAC(t *testing.T) {
	prefix, err := hwaddr.ParsePrefix("52:54:00")
	if err != nil {
		t.Fatal(err)
	}
	gives := func(call string, want hwaddr.MAC) resource.TestStep {
		return resource.TestStep{
			Config:            output(call),
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("it", knownvalue.StringExact(want.String()))},
		}
	}
	refused := func(call, why string) resource.TestStep {
		return resource.TestStep{Config: output(call), ExpectError: regexp.MustCompile(why)}
	}
	resource.Test(t, acctest.Case(
		gives(`provider::muster::mac("lab-a", "n1", "lan")`, hwaddr.DeriveMAC(hwaddr.Prefix{}, "lab-a", "n1", "lan")),
		gives(`provider::muster::mac("lab-a", "n1", "lan", "52:54:00")`, hwaddr.DeriveMAC(prefix, "lab-a", "n1", "lan")),
		refused(`provider::muster::mac("lab-a", "", "lan")`, `must\s+not\s+be\s+empty`),
		refused(`provider::muster::mac("lab-a", "n1", "lan", "53:54:00")`, `locally\s+administered`),
		refused(`provider::muster::mac("lab-a", "n1", "lan", "02", "06")`, `At\s+most\s+one\s+prefix`),
	))
}
