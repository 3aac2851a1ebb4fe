package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Figure is a number with its name and source.
type Figure struct{ Name, Value, Note string }

// Summarize returns the verdict and its cost in one sentence.
func Summarize(v diagnose.Verdict) string {
	text := "The evidence does not decide"
	if title, _, known := rules.Describe(v); known {
		text = title
	}
	if v.Lead != nil {
		text = v.Lead.Title()
		text = strings.ToUpper(text[:1]) + text[1:] + ": " + v.Lead.Why() + ". In the steps themselves"
	}
	if v.Class == diagnose.NotTraining && v.Ending.Failed() {
		text += ": " + v.Ending.String()
	}
	if v.Lead != nil {
		text += fmt.Sprintf(" the device is idle %s of the time", quantity.Percent(v.Idle))
	} else if v.Stall >= v.Idle/2 || math.IsNaN(v.Idle) && !math.IsNaN(v.Stall) {
		text += fmt.Sprintf(": the device waits for input %s of the time", quantity.Percent(v.Stall))
	} else if !math.IsNaN(v.Idle) {
		text += fmt.Sprintf(": the device is idle %s of the time", quantity.Percent(v.Idle))
	}
	if h := v.Cost.Hour.Dollars; h.Known() && v.Cost.Share >= LeastIdle {
		text += fmt.Sprintf(", which %s %s an hour per GPU", map[bool]string{
			true:  "would cost",
			false: "costs",
		}[v.Cost.Assumed], quantity.AboutDollars(h.Point))
	}
	return text + "."
}

// ListNotes returns the warnings that a lead does not contain.
func ListNotes(v diagnose.Verdict) []string {
	told := func(text string) bool { return slices.Contains(v.Doubts, text) }
	return slices.DeleteFunc(slices.Clone(v.Warnings), told)
}

// ListFigures returns the few numbers that most readers want.
func ListFigures(run *recording.Run, v diagnose.Verdict) []Figure {
	all := []Figure{
		{"waiting for input", quantity.Percent(v.Stall), strings.Trim(DescribeSource(v.StallSource), " ()")},
		{"device idle", quantity.Percent(v.Idle), "share of the judged steps"},
	}
	if v.HasSteps {
		all = append(all, Figure{"step", quantity.AboutSeconds(v.Costs.Step), steps(v)})
		if r := v.Costs.Rate(); r > 0 {
			all = append(all, Figure{"throughput", quantity.AboutSamples(r), "of the judged rank"})
		}
	}
	if said := SayRequests(v); said != nil {
		all = append(all, Figure{"server", said[0], strings.Join(said[1:], ", ")})
	}
	w := v.Costs.Window
	for _, g := range run.Facts.GPUs {
		_, power := AverageGPU(run, g, w)
		if memory := ReadDeviceMemory(run, g, w); memory.Used > 0 {
			_, note, _ := strings.Cut(memory.String(), " of ")
			if note != "" {
				note = "of " + note
			}
			if fill := memory.Fill(); fill != "" {
				note = strings.TrimPrefix(note+": "+fill, ": ")
			}
			all = append(all, Figure{fmt.Sprintf("GPU %d memory", g.Index), quantity.AboutBytes(memory.Used), note})
		}
		if power > 0 {
			all = append(all, Figure{fmt.Sprintf("GPU %d power", g.Index), quantity.AboutWatts(power), "mean"})
		}
		if len(all) > 8 {
			break
		}
	}
	return all
}

// steps says how many steps a mean covers.
func steps(v diagnose.Verdict) string {
	if n := len(v.Costs.Window.Steps); n > 1 {
		return fmt.Sprintf("mean of %d, median %s", n, quantity.AboutSeconds(FindMedianStep(v)))
	}
	return "of one"
}
