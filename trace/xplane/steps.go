package xplane

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
	"github.com/stoker-dev/stoker/trace/steps"
)

// markSteps gives the spans that mark steps the name that PyTorch's profiler gives
// them: those with a number of their own (StepTraceAnnotation, Trace), else those
// that XProf takes for steps by their names. The number is the name's, else the
// next.
func (v *collect) markSteps() {
	if v.numbered {
		return
	}
	h := &v.t.Host
	next := int64(0)
	for _, i := range v.plain {
		found := stepWords.FindStringSubmatch(v.names.list[h.Name[i]])
		if found == nil {
			continue
		}
		n, err := strconv.ParseInt(found[2], 10, 48)
		if err != nil || n < next {
			n = next
		}
		next = n + 1
		h.Name[i] = v.names.internMade(stepMark(n))
	}
}

func stepOf(n int, device int, start, end int64) recording.Step {
	return recording.Step{
		PID: process, Device: device, Loader: steps.Loader, N: n,
		Start: float64(start) / 1e9, Period: float64(end-start) / 1e9,
		Wait: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(), Samples: math.NaN(),
	}
}

// deviceSteps are the steps that the profiler wrote beside a device's work. On the
// host's clock a step begins with the launch of its first work and ends with that
// of the next step's, the last one with its work; where work has no launches, as on a TPU, it stays where it
// is.
func deviceSteps(v *collect, all []deviceMark, base int64) []recording.Step {
	t := v.t
	byDevice := map[int32][]deviceMark{}
	for _, m := range all {
		m.start, m.end = max(0, m.start-base), min(t.End, m.end-base) // events at its edges may be missing
		if d, found := v.devices[m.plane]; found && m.end > m.start {
			byDevice[d] = append(byDevice[d], m)
		}
	}
	var out []recording.Step
	for d := range t.Devices {
		marks := byDevice[int32(d)]
		slices.SortFunc(marks, func(a, b deviceMark) int { return int(min(1, max(-1, a.start-b.start))) })
		spans := hostSpans(t, int32(d), marks)
		for i, m := range marks {
			n, err := strconv.Atoi(m.name)
			if err != nil {
				n = i
			}
			if s := spans[i]; s.end > s.start {
				out = append(out, stepOf(n, t.Devices[d].Index, s.start, s.end))
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Start < out[j].Start })
	return out
}

// modules are the runs of the program in which the devices spend most time, if there
// are three and more on one: each lasts until the next one begins. The name ends in a
// number of its own: "jit_train_step(1234)".
func modules(all []deviceMark) (out []deviceMark, program string) {
	time, count := map[string]int64{}, map[string]map[int]int{}
	for _, m := range all {
		name, _, _ := strings.Cut(m.name, "(")
		time[name] += m.end - m.start
		if count[name] == nil {
			count[name] = map[int]int{}
		}
		count[name][m.plane]++
		if n := count[name][m.plane]; n >= 3 &&
			(program == "" || time[name] > time[program] || time[name] == time[program] && name < program) {
			program = name
		}
	}
	last := map[int]int{}
	for _, m := range all {
		if name, _, _ := strings.Cut(m.name, "("); name != program || program == "" {
			continue
		}
		if i, found := last[m.plane]; found && m.start > out[i].start {
			out[i].end = m.start
		}
		last[m.plane] = len(out)
		m.name = "" // is no number of a step
		out = append(out, m)
	}
	return out, program
}

// hostSpans are the times on the host of a device's steps.
func hostSpans(t *recording.Timeline, device int32, marks []deviceMark) []interval {
	out := make([]interval, len(marks))
	linked := false
	for i, m := range marks {
		out[i] = interval{m.start, m.end}
	}
	first, last := make([]int64, len(marks)), make([]int64, len(marks))
	for i := range marks {
		first[i], last[i] = math.MaxInt64, -1
	}
	w := &t.Device
	for i := range w.Start {
		call := w.Call[i]
		if w.Device[i] != device || call < 0 {
			continue
		}
		k := sort.Search(len(marks), func(k int) bool { return marks[k].start > w.Start[i] }) - 1
		if k >= 0 && w.Start[i] < marks[k].end && w.Kind[i] != recording.Copy { // copies may run ahead
			linked = true
			first[k], last[k] = min(first[k], t.Host.Start[call]), max(last[k], t.Host.End[call])
		}
	}
	if !linked {
		return out
	}
	for i := range out {
		out[i] = interval{first[i], max(last[i], marks[i].end)}
		if i+1 < len(out) && first[i+1] < math.MaxInt64 {
			out[i].end = first[i+1]
		}
	}
	return out
}

// callSteps takes for steps the calls of the compiled function in which the host
// spends most time, if there are three and more: from call to call.
func callSteps(t *recording.Timeline) (out []recording.Step, said []string) {
	type calls struct {
		at   []int64
		end  int64
		time int64
	}
	by := map[[2]int32]*calls{} // name and thread
	h := &t.Host
	for i, name := range h.Name {
		if !strings.HasPrefix(t.Names[name], "PjitFunction(") {
			continue
		}
		k := [2]int32{name, h.Thread[i]}
		if by[k] == nil {
			by[k] = &calls{end: -1}
		}
		if c := by[k]; h.Start[i] >= c.end { // within itself it is the same call
			c.at, c.end, c.time = append(c.at, h.Start[i]), h.End[i], c.time+h.End[i]-h.Start[i]
		}
	}
	var best [2]int32
	for k, c := range by {
		if b := by[best]; len(c.at) >= 3 &&
			(b == nil || len(b.at) < 3 || c.time > b.time || c.time == b.time && k[0] < best[0]) {
			best = k
		}
	}
	c := by[best]
	if c == nil || len(c.at) < 3 {
		return nil, nil
	}
	for i := 1; i < len(c.at); i++ { // how long the last one's step lasts nobody knows
		out = append(out, stepOf(i-1, -1, c.at[i-1], c.at[i]))
	}
	return out, []string{fmt.Sprintf("%s: a step is taken from one call of %s to the next.", noMarks,
		columns.CleanText(t.Names[best[0]], 80))}
}
