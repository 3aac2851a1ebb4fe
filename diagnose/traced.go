package diagnose

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// traced fills a Case from a profiler's gaps: those of the judged device. That is the
// device of the rank which the others wait for, else the one that waits most for input,
// and of those that do not, the most idle one.
type traced struct {
	t        *recording.Timeline
	all      *idle.Analysis
	d        *idle.Device
	kernels  *idle.Kernels
	copies   *idle.Copies
	waits    *idle.Waits
	ranks    *ranks.Table  // nil with one rank
	gpu      recording.GPU // zero where nothing is known of it
	hip      bool          // the calls are ROCm's: names do not tell pinned from pageable
	world    int           // ranks of the run
	costs    predict.Costs
	hasSteps bool
	parts    parts
	kernel   float64 // share of the window in which kernels of computation ran
	major    float64 // compute capability; NaN where it is not known or not NVIDIA's
	itself   float64 // how sure it is that the launching thread loads
}

// Marks of the published procedure and of nsys-ai.
const (
	shortKernel = 10e-6 // of a kernel that a launch outlasts, seconds
	longGapText = "2 ms"
)

// leastWork is the part of the busiest device's time below which a device is not
// judged: it only helps. [J]
const leastWork = 0.1

// tracedBy looks for the device to judge; nil where the recording holds no work of one.
func tracedBy(run *recording.Run, gaps *idle.Analysis) *traced {
	if gaps == nil {
		gaps = idle.Analyse(run)
	}
	t := &traced{t: run.Timeline, all: gaps, major: math.NaN(), world: 1}
	most := int64(0)
	for i := range t.all.Devices {
		most = max(most, t.all.Devices[i].Busy())
	}
	for i := range t.all.Devices {
		d := &t.all.Devices[i]
		if float64(d.Busy()) >= leastWork*float64(most) && d.Window() > 0 && (t.d == nil || moreStarved(d, t.d)) {
			t.d = d
		}
	}
	if t.d == nil {
		return nil
	}
	for _, p := range run.Facts.Processes {
		t.world = max(t.world, p.World)
	}
	t.ranks = ranks.Compare(run, t.all)
	if s, found := t.straggler(); found && t.late() > lateLow {
		t.d = &t.all.Devices[s.Device] // why it is late is what all of them wait for
	}
	t.kernels, t.copies, t.waits = t.all.Kernels(t.d), t.all.Copies(t.d), t.all.Waits(t.d)
	t.hardware(run)
	t.shares()
	return t
}

// others says which of several devices is judged, where that one and others worked.
func (t *traced) others() string {
	if len(t.all.Devices) < 2 || t.ranks != nil {
		return ""
	}
	return fmt.Sprintf("%d devices worked: device %d is the one that is judged", len(t.all.Devices), t.t.Devices[t.d.Index].Index)
}

func moreStarved(a, b *idle.Device) bool {
	x, y := a.Share(a.Causes[idle.DataLoader]), b.Share(b.Causes[idle.DataLoader])
	if math.Abs(x-y) > 1e-3 {
		return x > y
	}
	return a.Share(a.Idle) > b.Share(b.Idle)
}

func (t *traced) hardware(run *recording.Run) {
	t.hip = run.Facts.Software.ROCm != ""
	for _, name := range t.t.Names {
		t.hip = t.hip || strings.HasPrefix(name, "hipLaunch") || strings.HasPrefix(name, "hipMemcpy")
	}
	at := t.t.Devices[t.d.Index].GPU
	if at < 0 || at >= len(run.Facts.GPUs) {
		return
	}
	t.gpu = run.Facts.GPUs[at]
	if t.hip || strings.Contains(t.gpu.Name, "AMD") {
		return
	}
	if major, err := strconv.Atoi(strings.Split(t.gpu.Capability, ".")[0]); err == nil {
		t.major = float64(major)
	} else if row := predict.MachineOf(&recording.Run{Facts: recording.Facts{GPUs: []recording.GPU{t.gpu}}}).GPU; row.ComputeMajor > 0 {
		t.major = float64(row.ComputeMajor)
	}
}

func (t *traced) shares() {
	d := t.d
	share := func(causes ...idle.Cause) float64 {
		sum := int64(0)
		for _, c := range causes {
			sum += d.Causes[c]
		}
		return d.Share(sum)
	}
	t.parts = parts{
		Input: share(idle.DataLoader), Long: d.Share(d.Long), Copies: d.Share(d.Crossing) + share(idle.CopyIssue),
		Exchange: d.Share(d.Communication) + share(idle.Communication),
	}
	host := 0.0
	for c := range idle.Causes {
		if idle.Cause(c).Host() {
			host += share(idle.Cause(c))
		}
	}
	t.parts.Host = max(0, host-t.parts.Long)
	t.kernel = d.Share(d.Kernel)
}

// tracedCase is a Case whose device was seen by its work. What a trace does not tell,
// cores and disks among it, nobody can ask.
func tracedCase(run *recording.Run, gaps *idle.Analysis) *Case {
	c := liveCase(run) // facts, and the steps of the host's clock
	c.Training = true  // somebody ran a profiler over it
	c.Storage, c.Cores, c.Throttled, c.Neighbours, c.Delayed = quantity{}, quantity{}, quantity{}, quantity{}, quantity{}
	c.Fetching, c.Beside = nil, nil
	c.Warnings = slices.Clone(run.Facts.Notes)
	t := tracedBy(run, gaps)
	if t == nil {
		c.Recorded, c.Works = 0, 0
		return c
	}
	t.window(c, run)
	t.device(c)
	t.input(c, run)
	t.rest(c)
	c.Ranks, c.Found, c.Few = t.compared(), t.findings(), false
	for i := range c.Found {
		c.Found[i] = translated(c.Found[i], run.Facts.Software.Framework)
	}
	c.Warnings = slices.Concat(t.warnings(run), run.Facts.Notes)
	return c
}

// window takes the costs of the judged steps, on the device's clock.
func (t *traced) window(c *Case, run *recording.Run) {
	d := t.d
	c.From, c.To, c.Device, c.Util = seconds(d.From), seconds(d.To), int(d.Index), t.kernel+d.Share(d.Communication)
	c.Stall, c.StallSource = t.parts.Input, FromTrace
	w := recording.Window{PID: c.Costs.Window.PID, Rank: t.rank(), Start: c.From, End: c.To}
	if c.HasSteps = len(d.Steps) > 0; c.HasSteps {
		first := run.Steps[d.Steps[0].Index]
		w.PID, w.Rank, w.Loader, w.WarmUp = first.PID, first.Rank, first.Loader, d.Seen-len(d.Steps)
	}
	for _, on := range d.Steps {
		s := run.Steps[on.Index]
		s.DevicePeriod = seconds(on.To - on.From)
		w.Steps = append(w.Steps, s)
	}
	c.Costs = predict.Measure(run, w)
	c.Costs.Busy = c.Util
	if c.HasSteps {
		c.Costs.Idle = c.Stall * c.Costs.Step
		c.Costs.Queued = max(0, c.Costs.Wait-c.Costs.Idle)
	}
	t.costs, t.hasSteps = c.Costs, c.HasSteps
}

// rank is that of the judged device.
func (t *traced) rank() int {
	if t.d.Process >= 0 {
		return t.all.Processes[t.d.Process].Rank
	}
	return max(0, t.t.Devices[t.d.Index].Rank)
}

// device takes what the gaps tell.
func (t *traced) device(c *Case) {
	d, k := t.d, t.kernels
	c.Shares = Shares{Kernel: t.kernel, Copy: d.Share(d.Copy), Communication: d.Share(d.Communication), Idle: d.Share(d.Idle)}
	c.Idle = c.Shares.Idle
	c.Recorded, c.Works, c.StartUp, c.Parts = float64(len(t.t.Device.Start)), float64(d.Works), d.StartUp, t.parts
	c.Apart = string(d.Apart)
	all := float64(max(1, k.Time))
	c.Kernels = kernelShares{
		Plain: float64(k.Plain) / all, Tensor: float64(k.Tensor) / all, Major: t.major,
		Moving: float64(k.Family[idle.Elementwise]+k.Family[idle.Reduction]+k.Family[idle.Fused]+k.Family[idle.Moving]) / all,
	}
	c.LateBy, c.Causes, c.Gaps = t.late(), t.causes(), t.gaps()
	c.WarmUp = t.place(idle.WarmUp)
}

// input takes what rules about input ask: from here on of gaps in the loader.
func (t *traced) input(c *Case, run *recording.Run) {
	c.Before, c.Saturated, c.Launcher = quantity{}, quantity{}, quantity{}
	c.Starved = share("Does the device wait for input (gaps in the trace inside the loader)?", c.Stall, 0.03, 0.07,
		"loading that no loader's span marks is charged to Python").
		saw(c.Stall, "ratio", "trace.data-loader", "the device waits for input %s of the window: %s in gaps while the loop is inside its loader", stoker.Percent(c.Stall), stoker.AboutSeconds(c.Stall*(c.To-c.From)))
	if t.hasSteps {
		c.Starved = c.Starved.saw(t.costs.Wait, "seconds", "step.wait", "the loop is inside its loader %s of a %s step; work queued on the device covers %s of it", stoker.AboutSeconds(t.costs.Wait), stoker.AboutSeconds(t.costs.Step), stoker.AboutSeconds(t.costs.Queued))
	}
	c.Starved.Seen = slices.Concat(c.Starved.Seen, c.Gaps, t.place(idle.DataLoader))
	c.Alone, c.Workers = t.loading(run)
	t.itself = c.Alone.Score
}

// rest takes what the other rules ask.
func (t *traced) rest(c *Case) {
	own := t.kernel + t.d.Share(t.d.Copy-t.d.Crossing)
	c.Busy = share("Does the device do work of its own nearly all the time?", own, 0.82, 0.93, "").
		saw(t.kernel, "ratio", "trace.kernel", "kernels run %s of the window (median %s, %d of them)", stoker.Percent(t.kernel), stoker.AboutSeconds(seconds(t.kernels.Median)), t.kernels.Count).
		saw(t.kernel, "ratio", "trace.kernels", "of kernel time: %s", t.composition())
	c.Launching = share("Does the device wait for the next launch, in gaps below "+longGapText+"?", t.parts.Host, 0.08, 0.15, "").
		saw(t.parts.Host, "ratio", "trace.host", "the device waits for the host to launch %s of the window; %d kernels of %s median", stoker.Percent(t.parts.Host), t.kernels.Count, stoker.AboutSeconds(seconds(t.kernels.Median)))
	c.Short = share("Are kernels shorter than a launch (median, of 10 us)?", t.shortness(), 0.5, 1, "long kernels hide launches only while the host runs ahead")
	c.Stretches = share("Does the device wait for the host in gaps of "+longGapText+" and more?", t.parts.Long, 0.08, 0.15, "").
		saw(t.parts.Long, "ratio", "trace.host", "the device waits for the host %s of the window in gaps of %s and more", stoker.Percent(t.parts.Long), longGapText)
	// torch-tb-profiler warns above 10 %, XProf calls 3 to 15 % moderate.
	c.Exchange = share("Do collectives run without computation beside them?", t.parts.Exchange, 0.05, 0.12, "").
		saw(t.parts.Exchange, "ratio", "trace.communication", "collectives run alone or are waited for %s of the window", stoker.Percent(t.parts.Exchange))
	c.Copied, c.Uncovered = t.copied(), quantity{}
	c.Late = t.lagging()
	for _, q := range []*quantity{&c.Busy, &c.Launching, &c.Stretches, &c.Exchange, &c.Copied, &c.Late} {
		q.Seen = slices.Concat(q.Seen, c.Gaps)
	}
	short, long := worst(&t.d.Short), worst(&t.d.Places)
	c.Launching.Seen = slices.Concat(c.Launching.Seen, t.gap(t.d.Short[short], short))
	c.Stretches.Seen = slices.Concat(c.Stretches.Seen, t.gap(t.d.Places[long], long))
}

// shortness is how short the median kernel is, 1 where a launch outlasts it; NaN
// without kernels.
func (t *traced) shortness() float64 {
	if t.kernels.Count == 0 {
		return math.NaN()
	}
	return min(1, shortKernel/max(1e-9, seconds(t.kernels.Median)))
}

// copied is whether copies over the host's link that nothing covers take the window.
func (t *traced) copied() quantity {
	part, down, up := t.parts.Copies, t.copies.ToDevice, t.copies.ToHost
	q := share("Do copies between host and device run while no kernel does?", part, 0.07, 0.15, "").
		saw(part, "ratio", "trace.copy", "copies between host and device run alone or are being issued %s of the window", stoker.Percent(part))
	if down.Bytes > 0 {
		q = q.saw(down.Rate(), "bytes/s", "trace.copies", "%d cop%s to the device carr%s %s at %s, %s of them while no kernel runs",
			down.Count, stoker.Ending(down.Count, "y", "ies"), stoker.Ending(down.Count, "ies", "y"), stoker.AboutBytes(float64(down.Bytes)), stoker.AboutRate(down.Rate()), stoker.AboutSeconds(seconds(down.Alone)))
	}
	if up.Alone > down.Alone {
		q = q.saw(seconds(up.Alone), "seconds", "trace.copies", "%d cop%s to the host run%s %s while no kernel does",
			up.Count, stoker.Ending(up.Count, "y", "ies"), stoker.Ending(up.Count, "s", ""), stoker.AboutSeconds(seconds(up.Alone)))
	}
	if n := t.copies.Pageable.Count; n > 0 {
		q = q.saw(float64(n), "copies", "trace.pageable", "%d of those to the device come%s from pageable memory: staged by the CPU, and the launching thread waits", n, stoker.Ending(n, "s", ""))
	}
	return q
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// causes are the parts of the window's idle time, most first.
func (t *traced) causes() []Cause {
	d := t.d
	out := []Cause{}
	for i, ns := range d.Causes {
		if ns > 0 {
			out = append(out, Cause{idle.Cause(i).String(), seconds(ns), d.Share(ns)})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Seconds > out[j].Seconds })
	return out
}

// leading names the first few causes, for a sentence.
func (t *traced) leading() string {
	var parts []string
	for i, cause := range t.causes() {
		if i == 3 || cause.Share < 0.005 {
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", cause.Cause, stoker.Percent(cause.Share)))
	}
	return strings.Join(parts, ", ")
}

// gaps is what every verdict from a trace says of its idle time.
func (t *traced) gaps() []Evidence {
	leading := t.leading()
	if leading == "" {
		return nil
	}
	rest := t.d.Share(t.d.Idle)
	return seen(nil, rest, "ratio", "trace.idle", "nothing runs on the device %s of the window; of the window, by cause: %s", stoker.Percent(rest), leading)
}

// place names the gap with most of a cause.
func (t *traced) place(cause idle.Cause) []Evidence {
	return t.gap(t.d.Places[cause], cause)
}

// gap names a gap and what most of a cause's time in it went into.
func (t *traced) gap(p idle.Place, cause idle.Cause) []Evidence {
	if p.Time == 0 {
		return nil
	}
	text := fmt.Sprintf("the gap with most of it: %s to %s in the trace, %s of it %s",
		milli(p.From), milli(p.To), stoker.AboutSeconds(seconds(p.Time)), cause)
	heaviest := t.all.Heaviest(t.d, p.From, p.To, func(s idle.Slice) bool { return s.Cause == cause })
	if name := t.all.Name(p.Slice); heaviest.Name >= 0 && p.Slice.Thread >= 0 {
		text += ", mostly " + quoted(t.t.Names[heaviest.Name])
	} else if name >= 0 {
		text += ", mostly " + quoted(t.t.Names[name])
	}
	if p.Slice.Thread >= 0 {
		text += " on " + t.thread(p.Slice.Thread)
	}
	if p.Slice.Next >= 0 {
		text += ", until " + quoted(t.t.Names[t.t.Device.Name[p.Slice.Next]]) + " starts"
	}
	return seen(nil, seconds(p.Time), "seconds", "trace.gap", "%s", text)
}

// mostly says which function most of some idle time went into, and names it; "" where
// none did.
func (t *traced) mostly(fits func(idle.Slice) bool) (text, name string) {
	h := t.all.Heaviest(t.d, t.d.From, t.d.To, fits)
	if h.Name < 0 {
		return "", ""
	}
	name = t.t.Names[h.Name]
	return fmt.Sprintf("; %s of %s lie in %s", stoker.AboutSeconds(seconds(h.Time)), stoker.AboutSeconds(seconds(h.Total)), quoted(name)), name
}

func (t *traced) thread(i int32) string { return t.t.Threads[i].String() }

// milli prints an instant as milliseconds since the trace's start.
func milli(ns int64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }

// quoted is a name short enough for a sentence: kernels of C++ templates reach
// thousands of letters. Of a frame of Python the function counts, which comes last.
func quoted(name string) string {
	const most = 60
	switch r := []rune(name); {
	case len(r) <= most:
	case strings.Contains(name, ".py("):
		name = "…" + string(r[len(r)-most:])
	default:
		name = string(r[:most]) + "…"
	}
	return strconv.Quote(name)
}

// line is the user's innermost Python line at an instant on a thread, "" where
// no stacks were recorded. Library frames count where no other is open.
func (t *traced) line(thread int32, at int64) string {
	f := &t.t.Frames
	own, any := "", ""
	for i := range f.Start {
		if f.Start[i] > at {
			break
		}
		if f.Thread[i] != thread || f.End[i] <= at {
			continue
		}
		name := t.t.Names[f.Name[i]]
		if recording.OwnFrame(name) {
			own = name
		} else if strings.Contains(name, ".py(") {
			any = name
		}
	}
	if own != "" {
		return own
	}
	return any
}

// at fills in where a finding is to be looked for: a host thread at an instant.
func (t *traced) at(f *Finding, thread int32, from, to int64) {
	f.From, f.To = seconds(from), seconds(to)
	if thread >= 0 {
		f.Thread = t.thread(thread)
		f.Source = t.line(thread, (from+to)/2)
	}
}

// atWork fills in where a finding is to be looked for: work and its launch.
func (t *traced) atWork(f *Finding, work int32) {
	if work < 0 {
		return
	}
	w := &t.t.Device
	f.From, f.To, f.Kernel = seconds(w.Start[work]), seconds(w.End[work]), t.t.Names[w.Name[work]]
	if call := w.Call[work]; call >= 0 {
		thread := t.t.Host.Thread[call]
		f.Thread = t.thread(thread)
		f.Source = t.line(thread, t.t.Host.Start[call])
	}
}

// worth fills in how much of the window a finding is about.
func (t *traced) worth(f *Finding, ns int64) {
	f.Seconds, f.Share = seconds(ns), t.d.Share(ns)
	f.Saves = f.Share
}

// warnings say how much a verdict from a trace rests on.
func (t *traced) warnings(run *recording.Run) []string {
	var out []string
	d := t.d
	more, later, stacks := recordMore(run)
	switch n := len(d.Steps); {
	case d.Apart != "":
		out = append(out, fmt.Sprintf("no steady step was recorded, only %s: %s", d.Apart, later))
	case n == 0:
		out = append(out, "no steps could be told apart: the whole recording is judged")
	case d.Seen < 3:
		out = append(out, fmt.Sprintf("only %d step%s: none could be left out as the first behind the recorder's start, and nobody knows what is usual; %s", n, stoker.Ending(n, "", "s"), more))
	}
	if d.StartUp {
		out = append(out, "this is a program's start: "+later)
	}
	if busy := t.others(); busy != "" {
		out = append(out, busy)
	}
	if lost := float64(d.Causes[idle.Unlinked]) / max(1, float64(d.Idle)); lost > 0.05 {
		out = append(out, fmt.Sprintf("%s of the idle time ends with work that the trace links to no launch: what the host did then is not charged to it", stoker.Percent(lost)))
	}
	if lost := d.Share(d.Causes[idle.Unrecorded]); lost > 0.05 && len(t.t.Frames.Start) == 0 {
		out = append(out, fmt.Sprintf("%s of the window the launching thread did nothing that was recorded, most likely Python: %s", stoker.Percent(lost), stacks))
	}
	if x, ok := xprof(run, t.all); ok {
		out = append(out, x.String())
	}
	return out
}
