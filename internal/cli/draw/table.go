package draw

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/musterlab/terraform-provider-muster/internal/progress"
	"github.com/musterlab/terraform-provider-muster/internal/store"
)

// Summary is the table that `run` ends with: what took how long.
func Summary(all []store.Operation, now time.Time) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tTOOK\tENDED\tSTEPS")
	for _, o := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", Title(o), progress.Span(progress.Took(o, now)), progress.StateOf(o), stepTimes(o, now))
	}
	_ = w.Flush()
	for _, o := range all {
		for _, left := range o.Left {
			fmt.Fprintf(&b, "left by %s: %s %s\n", Title(o), left.What, left.Where)
		}
	}
	return trimLines(b.String())
}

// stepTimes lists the steps with what each took.
func stepTimes(o store.Operation, now time.Time) string {
	parts := make([]string, len(o.Steps))
	for i, s := range o.Steps {
		end := s.Ended
		if end.IsZero() {
			end = o.Begun.Add(progress.Took(o, now))
		}
		parts[i] = s.Name + " " + progress.Span(end.Sub(s.Begun))
	}
	return strings.Join(parts, ", ")
}

// List is the table of `receipts`.
func List(all []store.Operation, now time.Time) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tBEGAN\tTOOK\tSTATE\tWHAT\tHOST\tLAST STEP")
	for _, o := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.ID, o.Begun.Local().Format("2006-01-02 15:04:05"),
			progress.Span(progress.Took(o, now)), progress.StateOf(o), Title(o), o.Host, cut(progress.StepText(o.Current(), o.Moved), 60))
	}
	_ = w.Flush()
	return trimLines(b.String())
}

// Receipt writes one operation in full.
func Receipt(o store.Operation, now time.Time) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, oneLine(value))
		}
	}
	moment := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Local().Format("2006-01-02 15:04:05 -07:00")
	}
	row("operation", o.ID)
	row("what", Title(o))
	row("host", o.Host)
	row("object", o.Object)
	row("process", o.Process)
	row("state", fmt.Sprintf("%s after %s", progress.StateOf(o), progress.Span(progress.Took(o, now))))
	row("reason", o.Reason)
	row("began", moment(o.Begun))
	row("last progress", moment(o.Moved))
	row("last heartbeat", moment(o.Heartbeat))
	row("ended", moment(o.Ended))
	for _, l := range o.Limits {
		row("limit "+l.Name, progress.Span(l.After))
	}
	for i, s := range o.Steps {
		end := s.Ended
		if end.IsZero() {
			end = o.Begun.Add(progress.Took(o, now))
		}
		row(fmt.Sprintf("step %d", i+1), fmt.Sprintf("%s, took %s", progress.StepText(s, s.Moved), progress.Span(end.Sub(s.Begun))))
	}
	for _, left := range o.Left {
		row("left", left.What+" "+left.Where)
	}
	_ = w.Flush()
	return trimLines(b.String())
}

// trimLines drops the blanks that a table leaves at the ends of lines.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
