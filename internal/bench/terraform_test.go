package bench

import (
	"fmt"
	"testing"

	"github.com/musterlab/terraform-provider-muster/internal/acctest/tfcli"
	"github.com/musterlab/terraform-provider-muster/internal/libvirt/libvirttest"
)

const mib = 1 << 20

// BenchmarkVMs runs the real terraform over N VMs: create, a plan without
// changes, destroy. CPU-s and MiB are of terraform and the provider together;
// rpcs/vm are calls to libvirt counted at its socket.
func BenchmarkVMs(b *testing.B) {
	for _, n := range []int{50, 200} {
		p := newHost(b)
		c := tfcli.New(b, vms(p.URI(), n))
		measure(b, fmt.Sprintf("create/%d", n), n, p, func() *tfcli.Result { return c.Apply().OK(b) })
		state := c.State().Size
		measure(b, fmt.Sprintf("plan/%d", n), n, p, func() *tfcli.Result {
			r := c.Plan()
			if r.Code != 0 {
				b.Fatalf("the plan is not empty:\n%s", r.Output)
			}
			b.ReportMetric(float64(state)/float64(n), "state-B/vm")
			return r
		})
		measure(b, fmt.Sprintf("destroy/%d", n), n, p, func() *tfcli.Result { return c.Destroy().OK(b) })
	}
}

// measure runs one command once, for each says something only in that order.
func measure(b *testing.B, name string, n int, p *libvirttest.Proxy, run func() *tfcli.Result) {
	b.Run(name, func(b *testing.B) {
		p.Reset()
		r := run()
		b.ReportMetric(r.Terraform.CPU.Seconds(), "terraform-CPU-s")
		b.ReportMetric(r.Provider.CPU.Seconds(), "provider-CPU-s")
		b.ReportMetric((r.Terraform.CPU + r.Provider.CPU).Seconds(), "CPU-s")
		b.ReportMetric(float64(r.Terraform.PeakRSS)/mib, "terraform-MiB")
		b.ReportMetric(float64(r.Provider.PeakSum)/mib, "provider-MiB")
		b.ReportMetric(float64(r.PeakTogether)/mib, "MiB")
		b.ReportMetric(float64(len(p.Calls()))/float64(n), "rpcs/vm")
	})
}
