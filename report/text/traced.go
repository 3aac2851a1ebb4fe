package text

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// beside prints what a trace of the same run adds to its verdict.
func (p *page) beside(v diagnose.Verdict) section {
	s := section{title: "the trace of it"}
	t := v.Traced
	if t == nil {
		return s
	}
	if t.HostOnly {
		s.add(important, func(p *page) {
			p.printWrapped("  ", "  ", "no work of a device was recorded: operators on the CPU alone")
		})
		return s
	}
	says := fmt.Sprintf("%s, %s of rank %d", t.Class, quantity.Many(t.Steps, "step"), t.Rank)
	if len(t.Contradictions) > 0 {
		says += ", which contradicts the run (see notes)"
	}
	s.add(important, func(p *page) {
		p.printWrapped("  ", "  ", says)
		p.writeRow("device", fmt.Sprintf("kernels %s, copies alone %s, communication alone %s, idle %s",
			quantity.Percent(t.Shares.Kernel), quantity.Percent(t.Shares.Copy),
			quantity.Percent(t.Shares.Communication), quantity.Percent(t.Shares.Idle)))
		if words := causeWords(v.Causes); words != "" {
			p.writeRow("idle", words)
		}
	})
	for _, e := range t.Evidence {
		s.add(detail, func(p *page) { p.printWrapped("  - ", "    ", report.Shorten(e.Text, 600)) })
	}
	return s
}

// causeWords names the leading causes of idle time.
func causeWords(causes []diagnose.Cause) string {
	var parts []string
	for i, c := range causes {
		if i == 4 || c.Share < 0.001 {
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", c.Cause, quantity.Percent(c.Share)))
	}
	return strings.Join(parts, ", ")
}

// WriteCapture prints how much a trace slowed down the run.
func WriteCapture(w io.Writer, c recording.Capture, d judge.Slowdown) error {
	text := fmt.Sprintf("the trace of rank %d: from the request to the file %s", c.Rank,
		quantity.AboutSeconds(c.To-c.From))
	switch {
	case math.IsNaN(d.During) && d.Steps == 0:
		text += ", no steps of this process are known, so neither is what it cost"
	case math.IsNaN(d.During):
		text += fmt.Sprintf(", too few steps were seen before it (%d) to say what it cost", d.Base)
	default:
		text += fmt.Sprintf(". In it %s took %s in the mean and at most %s, before it %s (%s): %+.0f %%, %s in all",
			quantity.Many(d.Steps, "step"), quantity.AboutSeconds(d.During), quantity.AboutSeconds(d.Worst),
			quantity.AboutSeconds(d.Before), quantity.Many(d.Base, "step"), 100*(d.During/d.Before-1),
			report.FormatDifference(d.Extra))
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
