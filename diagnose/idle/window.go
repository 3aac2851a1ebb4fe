package idle

import (
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker/recording"
)

// Step is one step as a device saw it.
type Step struct {
	Index    int   // into Run.Steps
	HostFrom int64 // on the host
	HostTo   int64
	From, To int64 // on the device: until the last work that the step launched has ended
	Works    int   // pieces of work that the step launched

	phase recording.Phase
}

// Unjudged is how many steps were recorded and are not judged, and why.
type Unjudged struct {
	Why   string // "compilation", "the first after the recorder's start"
	Count int
}

// Why steps are left out, besides their phases.
const (
	firstStep = "the first after the recorder's start"
	cutStep   = "the last, cut off"
	elsewhere = "beyond the longest stretch of steady steps"
)

// Limits of the judged window.
const (
	keepAll  = 3   // below this many steps all are kept
	cutShort = 0.8 // a last step with less of the previous one's work was cut off (torch-tb-profiler's rule)
	stub     = 100 // a step that is shorter than the longest by this factor is where the profiler stopped
)

// span is a step on the host's clock.
type span struct {
	from, to int64
	index    int
	device   int // that worked, -1 where the step tells none
	phase    recording.Phase
}

// takeSteps hands the run's steps to its processes, in order of time; of two
// that overlap the first.
func (a *Analysis) takeSteps(steps []recording.Step) {
	for index, s := range steps {
		from := nanoseconds(s.Start)
		to := from + nanoseconds(s.Period)
		for i := range a.Processes {
			p := &a.Processes[i]
			if to <= from || len(a.Processes) > 1 && (p.PID != s.PID || p.Rank != s.Rank) {
				continue
			}
			if from >= p.end(s.Device)-1 { // a nanosecond of rounding
				p.runs = p.runs || s.N > 1
				p.steps = append(p.steps, span{from, to, index, s.Device, s.Phase})
			}
			break
		}
	}
	for i := range a.Processes {
		p := &a.Processes[i]
		longest := int64(0)
		for _, s := range p.steps {
			longest = max(longest, s.to-s.from)
		}
		p.steps = slices.DeleteFunc(p.steps, func(s span) bool { return stub*(s.to-s.from) < longest })
	}
}

// end is when the last step of a device ends that was taken so far.
func (p *Process) end(device int) int64 {
	for i := len(p.steps) - 1; i >= 0; i-- {
		if p.steps[i].device == device {
			return p.steps[i].to
		}
	}
	return math.MinInt64 + 1
}

// stepsOf are a process's steps as they matter to a device: its own, where the steps
// of several devices are distinguished; else all.
func (p *Process) stepsOf(device int) []span {
	own := make([]span, 0, len(p.steps))
	for _, s := range p.steps {
		if s.device == device {
			own = append(own, s)
		}
	}
	if len(own) == 0 {
		return p.steps
	}
	return own
}

func nanoseconds(seconds float64) int64 { return int64(math.Round(1e9 * seconds)) }

// settleWindow settles a device's steps and judged window.
func (a *Analysis) settleWindow(d *Device) {
	d.From, d.To = a.extent(d)
	if d.Process < 0 || len(a.Processes[d.Process].steps) == 0 {
		a.cutStart(d)
		return
	}
	steps := a.extents(d, a.Processes[d.Process].stepsOf(a.t.Devices[d.Index].Index))
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.Works > 0 }) {
		return // no step has any of it
	}
	d.Seen = len(steps)
	if d.Steps, d.Left = steady(steps); len(d.Steps) == 0 {
		d.Apart = mostly(steps)
		return
	}
	d.From, d.To = d.Steps[0].From, d.Steps[len(d.Steps)-1].To
	if d.Seen == 1 {
		a.cutStart(d)
		d.Steps[0].From, d.Steps[0].To = d.From, d.To
	}
}

// steady is the longest stretch of steps that train, where none does, that infer: the
// first step after the recorder's start and a last one that was cut off are left out.
func steady(steps []Step) (judged []Step, left []Unjudged) {
	count := map[string]int{}
	n, from := len(steps), 0
	if n >= keepAll {
		if last, before := steps[n-1], steps[n-2]; float64(last.Works) < cutShort*float64(before.Works) &&
			last.phase == before.phase {
			n--
			count[cutStep]++
		}
		from++
		count[firstStep]++
	}
	phases := make([]recording.Phase, n-from)
	for i := range phases {
		phases[i] = steps[from+i].phase
	}
	if alone := carrier(steps[from:n]); alone >= 0 &&
		slices.Contains([]recording.Phase{"", recording.Train, recording.Evaluate}, phases[alone]) {
		phases[alone] = carrying
	}
	begin, end := recording.Stretch(phases)
	judged = steps[from+begin : from+end]
	for i, phase := range phases {
		switch {
		case i >= begin && i < end:
		case end > begin && phase == phases[begin]:
			count[elsewhere]++
		default:
			count[string(phase)]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(count)) {
		left = append(left, Unjudged{why, count[why]})
	}
	return judged, left
}

// carrying is a step that takes longer than all others together: it makes the mean, and it is unknown
// how often it comes.
const carrying recording.Phase = "longer than all others together"

// fewToCarry is the number of steps below which none can be said to be unlike the others. [J]
const fewToCarry = 5

// carrier is the place of such a step, -1 without one.
func carrier(steps []Step) int {
	longest, all := -1, int64(0)
	for i, s := range steps {
		all += s.To - s.From
		if longest < 0 || s.To-s.From > steps[longest].To-steps[longest].From {
			longest = i
		}
	}
	if len(steps) < fewToCarry || 2*(steps[longest].To-steps[longest].From) <= all {
		return -1
	}
	return longest
}

// mostly is the phase that most time passes in.
func mostly(steps []Step) (phase recording.Phase) {
	time := map[recording.Phase]int64{}
	for _, s := range steps {
		time[s.phase] += s.To - s.From
		if time[s.phase] > time[phase] || phase == "" {
			phase = s.phase
		}
	}
	return phase
}

// extent is the whole recording as a device and its process saw it.
func (a *Analysis) extent(d *Device) (from, to int64) {
	works := a.works.members(d.Index)
	from, to = a.t.Device.Start[works[0]], a.t.Device.Start[works[0]]
	for _, w := range works {
		to = max(to, a.t.Device.End[w])
	}
	if d.Process >= 0 {
		if p := a.Processes[d.Process]; p.Start < p.End {
			from, to = min(from, p.Start), max(to, p.End)
		}
	}
	return from, to
}

// extents places steps on the device: a step's work is what its host calls
// launched, and it lasts until that has ended. The gap before its first kernel
// is the step's. Work whose launch is not known counts in the step in which it runs.
func (a *Analysis) extents(d *Device, spans []span) []Step {
	steps := make([]Step, len(spans))
	for i, s := range spans {
		steps[i] = Step{Index: s.index, HostFrom: s.from, HostTo: s.to, To: s.to, phase: s.phase}
	}
	begin := spans[0].from
	linked := slices.ContainsFunc(a.works.members(d.Index), func(w int32) bool { return a.t.Device.Call[w] >= 0 })
	for _, w := range a.works.members(d.Index) {
		at := a.t.Device.Start[w]
		if call := a.t.Device.Call[w]; call >= 0 {
			at = a.t.Host.Start[call]
		} else if linked {
			continue
		}
		i := sort.Search(len(spans), func(i int) bool { return spans[i].from > at }) - 1
		switch {
		case i < 0: // launched before the first step
			begin = max(begin, a.t.Device.End[w])
		case at < spans[i].to:
			steps[i].Works++
			steps[i].To = max(steps[i].To, a.t.Device.End[w])
		}
	}
	for i := range steps {
		steps[i].From = begin
		steps[i].To = max(steps[i].To, begin)
		begin = steps[i].To
	}
	return steps
}
