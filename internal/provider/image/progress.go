package image

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// report is how far one stage of stocking an image got.
type report struct {
	Stage     string // "read", "download", "upload"
	Done      int64  // bytes
	Total     int64  // bytes; 0: not known
	Rate      float64
	Remaining time.Duration // 0: not known
}

// reportFunc is called from one goroutine at a time.
type reportFunc func(report)

// reportEvery is the pause between two reports of a stage.
const reportEvery = 5 * time.Second

// meter returns a function to be told the bytes done so far, which passes on a
// report with rate and remaining time every few seconds, and at the end.
func meter(to reportFunc, stage string, total int64) func(done int64) {
	if to == nil {
		return func(int64) {}
	}
	var mu sync.Mutex
	began := time.Now()
	last := began
	return func(done int64) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if now.Sub(last) < reportEvery && (done != total || total == 0) {
			return
		}
		last = now
		r := report{Stage: stage, Done: done, Total: total}
		if spent := now.Sub(began).Seconds(); spent > 0 {
			r.Rate = float64(done) / spent
		}
		if r.Rate > 0 && total > done {
			r.Remaining = time.Duration(float64(total-done) / r.Rate * float64(time.Second)).Round(time.Second)
		}
		to(r)
	}
}

// logReports writes the reports of one image to Terraform's log.
func logReports(ctx context.Context, name, uri string) reportFunc {
	return func(r report) {
		tflog.Info(ctx, "image: "+r.Stage, map[string]any{
			"name": name, "uri": uri, "bytes": r.Done, "total": r.Total,
			"mib_per_s": int64(r.Rate) >> 20, "remaining": r.Remaining.String(),
		})
	}
}
