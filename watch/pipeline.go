package watch

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/strip"
)

// partNames holds short names of the resources that do the parts of a step.
var partNames = map[stoker.Resource]string{
	stoker.Storage: "storage", stoker.CPU: "cores", stoker.Worker: "workers", stoker.MainThread: "main thread",
	stoker.Link: "link", stoker.GPU: "GPU", stoker.Network: "exchange",
}

// partsOf returns the known parts, in the order in which a batch passes them.
func partsOf(setup predict.Setup) []part {
	answer, err := setup.Solve()
	if err != nil {
		return nil
	}
	batch, samples := setup.Batch, true
	if !(batch > 0) {
		batch, samples = 1, false
	}
	var parts []part
	for _, stage := range answer.Stages {
		if stage.Time.Known() && stage.Time.Point > 0 {
			parts = append(parts, part{stage.Resource, batch / stage.Time.Point, samples})
		}
	}
	return parts
}

// negligible is the multiple of the limit's rate from which a part is not displayed.
const negligible = 1000

// beyond is the multiple of the limit's rate that corresponds to the widest bar: the
// interesting part is the narrow one.
const beyond = 4

// pipeline draws the most narrow parts, at most that many, as bars with a width proportional to
// their rate, and marks the narrowest.
func (d *drawing) pipeline(s State, most int) []string {
	var rates []float64
	for _, p := range s.parts {
		rates = append(rates, p.rate)
	}
	slices.Sort(rates)
	if len(rates) == 0 || most < 1 {
		return d.workers(s)
	}
	limit, last := rates[0], min(negligible*rates[0], rates[min(most, len(rates))-1])
	full := min(beyond*limit, rates[len(rates)-1])
	lines := []string{"pipeline"}
	if text := d.workers(s); text != nil {
		lines = text
	}
	shown := 0
	for _, p := range s.parts {
		if p.rate > last || shown == most {
			continue
		}
		shown++
		wide := min(d.columns(), max(1, int(math.Round(p.rate/full*float64(d.columns())))))
		bar, code, text := strings.Repeat("▆", wide), "34", quantity.AboutSamples(p.rate)
		if !p.samples {
			text = quantity.About(p.rate) + " steps/s"
		}
		if p.rate > full {
			bar = bar[:len(bar)-len("▆")] + "▶"
		}
		if p.rate == limit {
			code = red
			text = d.paint("1;"+red, text) + " ◀"
		}
		lines = append(lines, pad("  "+partNames[p.by], nameWidth)+" "+d.paint(code, bar)+strings.Repeat(" ",
			d.columns()-wide)+" "+text)
	}
	return lines
}

// workers counts the worker processes by their present state.
func (d *drawing) workers(s State) []string {
	count := map[string]int{}
	n, to := 0, s.Run.End()
	for _, p := range s.Run.Facts.Processes {
		series := s.Run.Find(recording.ThreadState, fmt.Sprintf("thread/%d", p.PID))
		if p.Role != recording.RoleWorker || series == nil || len(series.T) == 0 ||
			series.T[len(series.T)-1] < to-lately {
			continue
		}
		n++
		count[strip.StateNames[recording.State(series.Last())]]++
	}
	if n == 0 {
		return nil
	}
	var parts []string
	for state := recording.Parked; state <= recording.Asleep; state++ {
		if name := strip.StateNames[state]; count[name] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[name], name))
		}
	}
	return []string{pad("pipeline", nameWidth) + " " + quantity.Many(n, "worker") + ": " + strings.Join(parts, ", ")}
}

// lately is the age in seconds up to which a worker's last sample counts as present.
const lately = 3

// mostFixes is the number of fixes displayed.
const mostFixes = 2

// fixes returns lines with the best fixes, or with the reason for the verdict if there are
// none.
func (d *drawing) fixes(s State) []string {
	all := absentLines(s.Run)
	for i, f := range s.Plan.Fixes[:min(mostFixes, len(s.Plan.Fixes))] {
		title := f.Title
		if len(f.Changes) > 0 {
			words, ours := f.InWords(f.Changes[0])
			if title = report.SayChange(f.Changes[0]); ours {
				title = words
			}
		}
		all = append(all, pad([]string{"best fix", "next"}[i], nameWidth)+" "+d.makeBold(title)+"  "+f.Worth())
	}
	if len(s.Plan.Fixes) > 0 || len(s.Verdict.Evidence) == 0 || s.Machine {
		return all
	}
	why := wrapText(s.Verdict.Evidence[0].Text, d.Width-nameWidth-1)
	if len(why) > mostFixes {
		why = append(why[:mostFixes-1], pad(why[mostFixes-1]+" …", d.Width-nameWidth-1))
	}
	for i, text := range why {
		all = append(all, pad([]string{"why", ""}[min(i, 1)], nameWidth)+" "+text)
	}
	return all
}

// absentLines says why there is no row for a GPU.
func absentLines(run *recording.Run) []string {
	for _, a := range run.Facts.Absent {
		if a.What == "gpu" && len(run.Facts.GPUs) == 0 {
			return []string{pad("GPU", nameWidth) + " " + a.Why}
		}
	}
	return nil
}
