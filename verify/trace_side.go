package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Thresholds for comparing traces. [J]
const (
	fewestTraced = 3   // steps of a side: two say nothing about spread
	sameProgram  = 0.5 // share of the device's time under common names, below which the programs count as different
)

// Traced is one trace with its verdict and its analysis.
type Traced struct {
	Run     *recording.Run
	Verdict diagnose.Verdict
	Gaps    *idle.Analysis
}

// steps returns the judged steps; none if no device worked.
func (t Traced) steps() ([]idle.Part, []idle.Named) {
	for i := range t.Gaps.Devices {
		if d := &t.Gaps.Devices[i]; t.Verdict.Device >= 0 && int(d.Index) == t.Verdict.Device {
			return t.Gaps.PerStep(d)
		}
	}
	return nil, nil
}

// traceSide holds the judged steps of one side's traces.
type traceSide struct {
	Traced             // the first trace
	parts  []idle.Part // of all traces
	works  []idle.Named
	times  [][]float64 // seconds of each step, by trace
}

// sideOf collects the judged steps of a side's traces.
func sideOf(traces []Traced) traceSide {
	s := traceSide{Traced: traces[0]}
	for i, t := range traces {
		parts, works := t.steps()
		if i == 0 {
			s.works = works
		}
		s.parts = append(s.parts, parts...)
		times := make([]float64, len(parts))
		for n, p := range parts {
			times[n] = float64(p.To-p.From) / 1e9
		}
		s.times = append(s.times, times)
	}
	return s
}

// fewMeasured summarises times like takeSample, but also fewer than leastSteps, which it treats
// as independent; addDoubts warns about that.
func fewMeasured(times []float64) sample {
	n := len(times)
	if n >= leastSteps {
		return takeSample(times)
	}
	s := sample{
		steps: float64(n), mean: stat.Mean(times), median: stat.Median(times), spread: stat.CV(times),
		rare: float64(n), independent: float64(n), runs: 1,
	}
	s.alone = student95(n-1) * s.spread / math.Sqrt(float64(n))
	s.paired = s.alone
	return s
}

// refusal says why a side cannot be compared; "" if it can.
func (s traceSide) refusal(name string) string {
	if s.Verdict.Device < 0 {
		return fmt.Sprintf("the trace %s holds no work of a device", name)
	}
	if n := s.fewest(); n < fewestTraced {
		return fmt.Sprintf(
			"the trace %s has %d steady step%s, %d are needed to tell a difference from their spread: record five and more", name, n, quantity.Ending(n, "", "s"), fewestTraced)
	}
	return ""
}

// fewest returns the number of steps of the shortest trace.
func (s traceSide) fewest() int {
	n := len(s.times[0])
	for _, times := range s.times[1:] {
		n = min(n, len(times))
	}
	return n
}

// makeSide returns the number of steps and their total time.
func (s traceSide) makeSide() Side {
	side := Side{Runs: len(s.times), Steps: len(s.parts)}
	for _, p := range s.parts {
		side.Seconds += float64(p.To-p.From) / 1e9
	}
	return side
}

// measure estimates the mean time of a step from all traces.
func (s traceSide) measure() sample {
	samples := make([]sample, len(s.times))
	for i, times := range s.times {
		samples[i] = fewMeasured(times)
	}
	return poolRuns(samples)
}

// deviceName returns the name of the judged device; "" if unknown.
func (s traceSide) deviceName() string {
	if at := s.Run.Timeline.Devices[s.Verdict.Device].GPU; at >= 0 && at < len(s.Run.Facts.GPUs) {
		return s.Run.Facts.GPUs[at].Name
	}
	return ""
}

// hasStacks reports whether stacks of the host were recorded.
func (s traceSide) hasStacks() bool { return len(s.Run.Timeline.Frames.Start) > 0 }

// hasName reports whether the trace has a name with a text in it.
func (s traceSide) hasName(text string) bool {
	return slices.ContainsFunc(s.Run.Timeline.Names, func(name string) bool { return strings.Contains(name, text) })
}

// workName returns the name of a piece of work.
func (s traceSide) workName(n idle.Named) string { return s.Run.Timeline.Names[n.Name] }

// spreadOf returns a quantity over all steps, in the unit of the function.
func (s traceSide) spreadOf(of func(idle.Part) float64) StepRange {
	var values []float64
	for _, p := range s.parts {
		values = append(values, of(p))
	}
	return spread(values)
}

// shareOf returns a part of the total time of all steps. The mean of the steps' shares would be
// another number if steps differ in length; the verdict uses this one.
func (s traceSide) shareOf(of func(idle.Part) int64) float64 {
	part, all := int64(0), int64(0)
	for _, p := range s.parts {
		part, all = part+of(p), all+p.To-p.From
	}
	return float64(part) / float64(max(1, all))
}

// total returns the sum of a list.
func total(list []int64) (sum int64) {
	for _, v := range list {
		sum += v
	}
	return sum
}

// spread returns mean, minimum and maximum.
func spread(values []float64) StepRange {
	return StepRange{stat.Mean(values), slices.Min(values), slices.Max(values)}
}

// StepRange is a quantity over the judged steps: mean, minimum and maximum.
type StepRange struct {
	Mean  float64 `json:"mean"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}
