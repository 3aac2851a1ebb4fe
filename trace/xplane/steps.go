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
// them: those with a number (StepTraceAnnotation, Trace), else those
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

// deviceSteps are the steps that the profiler wrote along with a device's work. On the
// host's clock a step begins with the launch of its first work and ends with that
// of the next step's, the last one with its work; if work has no launches, as on a TPU, it stays where
// the file has it.
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
// number: "jit_train_step(1234)".
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

// callSteps takes the calls of the compiled function in which the host spends most time for
// steps, from call to call, if there are three and more, and if they launch nearly all that the
// devices do. Without jax.jit each primitive is a compiled function, and no step.
func callSteps(t *recording.Timeline) (out []recording.Step, said []string) {
	calls := repeatedCalls(&t.Host, func(i int) bool {
		return strings.HasPrefix(t.Names[t.Host.Name[i]], jitted)
	})
	best := mostTime(calls)
	if best == nil || !launchesMost(t, best.name) {
		return nil, nil
	}
	return best.listSteps(false), []string{fmt.Sprintf("%s: a step is taken from one call of %s to the next.", noMarks,
		columns.CleanText(t.Names[best.name], 80))}
}

// jitted begins the spans of functions that JAX compiles.
const jitted = "PjitFunction("

// functionSteps takes the calls of the program's own outermost function that repeats, if they
// launch nearly all that the devices do.
func functionSteps(t *recording.Timeline) (out []recording.Step, said []string) {
	f := &t.Frames
	own := make([]int8, len(t.Names)) // 1 another's, 2 the program's
	frames := &recording.Calls{Start: f.Start, End: f.End, Name: f.Name, Thread: f.Thread}
	calls := repeatedCalls(frames, func(i int) bool {
		name := f.Name[i]
		if own[name] == 0 {
			own[name] = 1
			if text := t.Names[name]; recording.OwnFrame(text) && !bareJAX(text) {
				own[name] = 2
			}
		}
		return own[name] == 2
	})
	best := mostTime(calls)
	if best == nil || best.launchedShare(t) < leastHeld {
		return nil, nil
	}
	return best.listSteps(true), []string{fmt.Sprintf("%s: a step runs from one call of %s to the next.", noMarks,
		columns.CleanText(t.Names[best.name], 80))}
}

// bareJAX reports whether a frame is of JAX or NumPy, whose folders XProf leaves out.
func bareJAX(name string) bool {
	file, _, _ := strings.Cut(name, "(")
	return bareFiles[file]
}

var bareFiles = func() map[string]bool {
	files := map[string]bool{}
	for _, name := range strings.Fields(`api.py api_util.py array.py array_creation.py array_methods.py compiler.py
		core.py custom_derivatives.py dispatch.py dtypes.py einsum.py functions.py interpreters.py lax.py lax_numpy.py
		linear_util.py numerics.py pjit.py prng.py profiler.py pxla.py reductions.py slicing.py stages.py
		traceback_util.py tree_util.py ufunc_api.py ufuncs.py util.py xla_bridge.py`) {
		files[name] = true
	}
	return files
}()

// repeated is a function's calls on one thread.
type repeated struct {
	name    int32
	at, end []int64
	time    int64
}

// fewCalls is the number of calls below which nothing repeats.
const fewCalls = 3

// repeatedCalls are calls that fit, by name and thread. What a call does within itself under
// its own name is the same call.
func repeatedCalls(h *recording.Calls, fits func(i int) bool) (out []*repeated) {
	by := map[[2]int32]*repeated{}
	for i, name := range h.Name {
		if !fits(i) {
			continue
		}
		k := [2]int32{name, h.Thread[i]}
		r := by[k]
		if r == nil {
			r = &repeated{name: name}
			by[k] = r
			out = append(out, r)
		}
		if n := len(r.end); n == 0 || h.Start[i] >= r.end[n-1] {
			r.at, r.end, r.time = append(r.at, h.Start[i]), append(r.end, h.End[i]), r.time+h.End[i]-h.Start[i]
		}
	}
	return out
}

// mostTime is the function that takes most time of those that repeat; nil without one.
func mostTime(calls []*repeated) (best *repeated) {
	for _, r := range calls {
		if len(r.at) >= fewCalls && (best == nil || r.time > best.time || r.time == best.time && r.name < best.name) {
			best = r
		}
	}
	return best
}

// listSteps lists the steps from call to call. How long the last one's step lasts is not known, unless a call
// is a whole step.
func (r *repeated) listSteps(whole bool) (out []recording.Step) {
	for i := 1; i < len(r.at); i++ {
		out = append(out, stepOf(i-1, -1, r.at[i-1], r.at[i]))
	}
	if n := len(r.at) - 1; whole {
		out = append(out, stepOf(n, -1, r.at[n], r.end[n]))
	}
	return out
}

// Shares of the devices' work that the calls of a step launch at least. [J]
const (
	leastHeld  = 0.8 // of its time
	leastCount = 0.5 // of its pieces
)

// launchesMost reports whether the calls of a compiled function launch nearly all work: each
// piece counts for the compiled function that was called last before its launch. Without work
// there is nothing to contradict.
func launchesMost(t *recording.Timeline, name int32) bool {
	var calls []int32 // of compiled functions, in order of start
	for i, n := range t.Host.Name {
		if strings.HasPrefix(t.Names[n], jitted) {
			calls = append(calls, int32(i))
		}
	}
	w := &t.Device
	time, count, allTime, all := int64(0), 0, int64(0), 0
	for i, call := range w.Call {
		if call < 0 {
			continue
		}
		length := w.End[i] - w.Start[i]
		allTime, all = allTime+length, all+1
		n := sort.Search(len(calls), func(n int) bool { return t.Host.Start[calls[n]] > t.Host.Start[call] }) - 1
		if n >= 0 && t.Host.Name[calls[n]] == name {
			time, count = time+length, count+1
		}
	}
	return all == 0 || float64(time) >= leastHeld*float64(allTime) && float64(count) >= leastCount*float64(all)
}

// launchedShare is the share of the devices' work that calls launch, whichever thread does it for them.
func (r *repeated) launchedShare(t *recording.Timeline) float64 {
	w := &t.Device
	inside, all := int64(0), int64(0)
	for i, call := range w.Call {
		if call < 0 {
			continue
		}
		length := w.End[i] - w.Start[i]
		all += length
		at := t.Host.Start[call]
		if n := sort.Search(len(r.at), func(n int) bool { return r.at[n] > at }) - 1; n >= 0 && at < r.end[n] {
			inside += length
		}
	}
	if all == 0 {
		return 0
	}
	return float64(inside) / float64(all)
}
