package live

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// describeRanks compares the trainers of a run with several.
func (l filler) describeRanks() string {
	if len(l.trainers) < 2 {
		return ""
	}
	if l.trainers[0].Window.Rank == l.trainers[1].Window.Rank { // no launcher gave them any
		return l.describeUnranked()
	}
	text := fmt.Sprintf("%d ranks were recorded, and rank %d, which waits most for input, is the one judged:",
		len(l.trainers), l.Costs.Window.Rank)
	for _, k := range l.trainers {
		text += fmt.Sprintf(" rank %d stall %s,", k.Window.Rank, quantity.Percent(k.Idle/k.Step))
	}
	return text[:len(text)-1] + ". A rank that waits in a collective for a starved one is not itself starved."
}

// describeUnranked compares trainers that have no ranks, by how long their CPU side waited.
func (l filler) describeUnranked() string {
	var parts []string
	for _, k := range l.trainers {
		if k.Window.End < l.From || k.Window.Start > l.To {
			continue // one after the other
		}
		parts = append(parts, fmt.Sprintf("process %d waits for input %s of a step",
			k.Window.PID, quantity.Percent(k.Wait/k.HostStep)))
	}
	if len(parts) < 2 {
		return ""
	}
	return fmt.Sprintf("%d processes train, and process %d is the one judged: %s.",
		len(parts), l.Costs.Window.PID, strings.Join(parts, ", "))
}

// listWarnings say how much a verdict rests on, and what was not seen.
func (l filler) listWarnings() []string {
	var out []string
	judged := l.HasSteps || l.HasUnfedSteps
	if n := len(l.Costs.Window.Steps); judged && n < fewSteps {
		out = append(out, fmt.Sprintf("only %d steady steps were seen (%.1f s): run longer for a verdict to rely on",
			n, l.To-l.From))
	} else if judged && !l.Costs.Window.Stationary && l.To-l.From < diagnose.ShortTraining {
		out = append(out, fmt.Sprintf("%.0f s of steady training so far, %s", l.To-l.From, diagnose.StillShort))
	} else if l.TooFewSteps {
		out = append(out, l.countFewSteps())
	} else if judged && !l.Costs.Window.Stationary {
		out = append(out, "the step time still drifts: its thirds of the last 30 s differ by more than 10 %")
	}
	if reason, n := l.countNoClock(); n > 0 && l.HasSteps && (reason != noDevice || n < len(l.Costs.Window.Steps)) {
		out = append(out, fmt.Sprintf("the device's clock is not used for %d of %d steps: %s", n,
			len(l.Costs.Window.Steps), reason))
	}
	var unseen []recording.Absence
	for _, a := range l.run.Facts.Absent {
		if a.What == "steps" && len(l.run.Steps) > 0 {
			continue // older recordings do not take it back when steps come
		}
		unseen = append(unseen, a)
	}
	return append(append(out, listAbsences(unseen)...), l.run.Facts.Notes...)
}

// countFewSteps says how many steps the process with most of them made, and how many are
// wanted.
func (l filler) countFewSteps() string {
	all, optimized, most, trains := map[int]int{}, map[int]int{}, 0, 0
	for _, s := range l.run.Steps {
		if s.Phase == recording.Checkpoint {
			continue
		}
		all[s.PID]++
		most = max(most, all[s.PID])
		if s.Optimized > 0 {
			optimized[s.PID]++
			trains = max(trains, optimized[s.PID])
		}
	}
	n, what := most, "step"
	if trains > 0 {
		n, what = trains, "optimizer step"
	}
	return fmt.Sprintf("%s %s seen, too few to judge their time: fewer than %d of them are steady, and a verdict to "+
		"rely on wants %d. Run longer",
		quantity.Many(n, what), quantity.Ending(n, "was", "were"), recording.LeastSteps, fewSteps)
}

// fewAbsences is how many of a kind are described one by one; of more only the names, as
// an old driver lacks a dozen.
const fewAbsences = 3

// listAbsences say what was not seen, in the order in which it was missed.
func listAbsences(all []recording.Absence) []string {
	of := map[string][]string{}
	for _, a := range all {
		name, _, _ := strings.Cut(a.Why, ": ")
		of[a.What] = append(of[a.What], name)
	}
	var out []string
	told := map[string]int{}
	for _, a := range all {
		names := of[a.What]
		if len(names) <= fewAbsences {
			out = append(out, a.What+": "+a.Why)
		} else if told[a.What]++; told[a.What] == 1 {
			out = append(out, fmt.Sprintf("%s: not judged here: %s (stoker doctor says why)", a.What,
				strings.Join(names, ", ")))
		}
	}
	return out
}

// noDevice is the hook's word for a program that uses no device, which the verdict itself tells.
const noDevice = "no device"

// otherThread names a thread that asks for batches and launches nothing.
const otherThread = "asked by another thread than the one that launches"

// countNoClock counts the judged steps without a device clock, and the most frequent
// reason.
func (l filler) countNoClock() (reason string, n int) {
	counts := map[string]int{}
	for _, s := range l.Costs.Window.Steps {
		if math.IsNaN(s.Idle) && s.NoClock != "" {
			counts[s.NoClock]++
			n++
		}
	}
	for r, count := range counts {
		if count > counts[reason] || count == counts[reason] && r < reason {
			reason = r
		}
	}
	return reason, n
}
