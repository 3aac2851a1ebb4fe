package diagnose

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"stoker/diagnose/idle"
	"stoker/diagnose/ranks"
	"stoker/internal/stat"
	"stoker/predict"
	"stoker/recording"
)

// traced is what a Timeline tells of the judged device: that of the rank which the
// others wait for, else the one that waits most for input, and of those that do
// not, the most idle one.
type traced struct {
	t       *recording.Timeline
	all     *idle.Analysis
	d       *idle.Device
	kernels *idle.Kernels
	copies  *idle.Copies
	waits   *idle.Waits
	ranks   *ranks.Table  // nil with one rank
	gpu     recording.GPU // zero where nothing is known of it
	major   int           // compute capability, -1 where it is not known or not NVIDIA's
	itself  float64       // how sure it is that the launching thread loads; set by the loader's rules
	hip     bool          // the calls are ROCm's: names do not tell pinned from pageable

	// What the window went into, as shares of it. They overlap with nothing and,
	// with what is missing here, add up to 1.
	input, host, long, copied, comm, kernel float64
}

// leastWork is the part of the busiest device's work below which a device is not
// judged: it only helps. [J]
const leastWork = 0.1

func newTraced(run *recording.Run, gaps *idle.Analysis) *traced {
	if gaps == nil {
		gaps = idle.Analyse(run)
	}
	t := &traced{t: run.Timeline, all: gaps, major: -1}
	most := 0
	for i := range t.all.Devices {
		most = max(most, t.all.Devices[i].Works)
	}
	for i := range t.all.Devices {
		d := &t.all.Devices[i]
		if float64(d.Works) >= leastWork*float64(most) && d.Window() > 0 && (t.d == nil || moreStarved(d, t.d)) {
			t.d = d
		}
	}
	if t.d == nil {
		return t
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
		t.major = major
	} else if row := predict.MachineOf(&recording.Run{Facts: recording.Facts{GPUs: []recording.GPU{t.gpu}}}).GPU; row.ComputeMajor > 0 {
		t.major = row.ComputeMajor
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
	t.input = share(idle.DataLoader)
	t.long = d.Share(d.Long)
	for c := range idle.Causes {
		if idle.Cause(c).Host() {
			t.host += share(idle.Cause(c))
		}
	}
	t.host = max(0, t.host-t.long)
	t.copied = d.Share(d.Copy) + share(idle.CopyIssue)
	t.comm = d.Share(d.Communication) + share(idle.Communication)
	t.kernel = d.Share(d.Kernel)
}

// rival is how much x leads the other parts of the window that something could
// be done about: 1 where it is the largest, falling with the square of its part
// of the largest. [J] The square keeps two of about the same size apart.
func (t *traced) rival(x float64) float64 {
	most := max(t.input, t.host, t.long, t.copied, t.comm)
	if most <= 0 {
		return 0
	}
	return min(1, x/most*x/most)
}

// fewWorks is the number of pieces of work below which a trace shows a trial and
// no step. [J]
const fewWorks = 10

// tells is 0 for rules that a run cannot answer to: a trace of a program's start
// or of next to nothing tells nothing of steps, and one without a device only
// that.
func (c *Case) tells(class Class) float64 {
	switch {
	case c.hostOnly && class != ComputeOnCPU,
		c.traced != nil && (c.traced.d.StartUp || c.traced.d.Works < fewWorks):
		return 0
	case c.traced != nil && (class == CPUBound || class == LaunchBound || class == TransferBound):
		// [J] Where these make one rank late, all others wait: that is the news.
		return 1 - 0.5*stat.Ramp(c.traced.late(), lateLow, lateHigh)
	}
	return 1
}

// Where input takes a fifth of the window, work between launches and copies that
// nothing covers are mostly what its lack left uncovered: XProf calls 5 % of the
// step moderately and 20 % highly input-bound. [J] Three tenths are left, so that
// the runner-up is named.
func (t *traced) besideInput() float64 { return 1 - 0.7*stat.Ramp(t.input, 0.05, 0.20) }

// trace settles stall, idle, shares and window from a Timeline.
func (c *Case) trace(gaps *idle.Analysis) {
	t := newTraced(c.Run, gaps)
	if t.d == nil {
		c.hostOnly = true
		return
	}
	c.traced = t
	d := t.d
	c.Shares = Shares{Kernel: d.Share(d.Kernel), Copy: d.Share(d.Copy), Communication: d.Share(d.Communication), Idle: d.Share(d.Idle)}
	c.Idle, c.Util = c.Shares.Idle, c.Shares.Kernel+c.Shares.Communication
	c.Stall, c.StallSource = t.input, FromTrace
	c.From, c.To = seconds(d.From), seconds(d.To)
	c.traceSteps(d)
}

// traceSteps takes the costs of the judged steps, on the device's clock.
func (c *Case) traceSteps(d *idle.Device) {
	if len(d.Steps) == 0 {
		c.HasSteps = false
		c.Costs = predict.Measure(c.Run, recording.Window{PID: c.Costs.Window.PID, Rank: c.rank(d), Start: c.From, End: c.To})
		c.Costs.Busy = c.Util
		return
	}
	first := c.Run.Steps[d.Steps[0].Index]
	w := recording.Window{PID: first.PID, Rank: first.Rank, Loader: first.Loader, Start: c.From, End: c.To, WarmUp: d.Seen - len(d.Steps)}
	for _, on := range d.Steps {
		s := c.Run.Steps[on.Index]
		s.DevicePeriod = seconds(on.To - on.From)
		w.Steps = append(w.Steps, s)
	}
	c.HasSteps = true
	c.Costs = predict.Measure(c.Run, w)
	c.Costs.Busy, c.Costs.Idle = c.Util, c.Stall*c.Costs.Step
	c.Costs.Queued = max(0, c.Costs.Wait-c.Costs.Idle)
}

func (c *Case) rank(d *idle.Device) int {
	if d.Process >= 0 {
		return c.traced.all.Processes[d.Process].Rank
	}
	return max(0, c.traced.t.Devices[d.Index].Rank)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// causes are the parts of the window's idle time, most first.
func (c *Case) causes() []Cause {
	if c.traced == nil {
		return nil
	}
	d := c.traced.d
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
func (c *Case) leading() string {
	var parts []string
	for i, cause := range c.causes() {
		if i == 3 || cause.Share < 0.005 {
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", cause.Cause, percent1(cause.Share)))
	}
	return strings.Join(parts, ", ")
}

// gapEvidence is what every verdict from a trace says of its idle time.
func (c *Case) gapEvidence() {
	d := c.traced.d
	if leading := c.leading(); leading != "" {
		c.because(c.Idle, "ratio", "trace.idle", "nothing runs on the device %s of the window; of the window, by cause: %s", percent1(d.Share(d.Idle)), leading)
	}
}

// placeEvidence names the gap with most of a cause.
func (c *Case) placeEvidence(cause idle.Cause) {
	t := c.traced
	p := t.d.Places[cause]
	if p.Time == 0 {
		return
	}
	text := fmt.Sprintf("the gap with most of it: %s to %s in the trace, %s of it %s",
		milli(p.From), milli(p.To), ms(seconds(p.Time)), cause)
	if name := t.all.Name(p.Slice); name >= 0 {
		text += ", mostly " + quoted(t.t.Names[name])
	}
	if p.Slice.Thread >= 0 {
		text += " on " + t.thread(p.Slice.Thread)
	}
	if p.Slice.Next >= 0 {
		text += ", until " + quoted(t.t.Names[t.t.Device.Name[p.Slice.Next]]) + " starts"
	}
	c.because(seconds(p.Time), "seconds", "trace.gap", "%s", text)
}

func (t *traced) thread(i int32) string {
	thread := t.t.Threads[i]
	if strings.Contains(thread.Name, fmt.Sprint(thread.ID)) {
		return thread.Name
	}
	if thread.Name != "" {
		return fmt.Sprintf("thread %d (%s)", thread.ID, thread.Name)
	}
	return fmt.Sprintf("thread %d", thread.ID)
}

// milli prints an instant as milliseconds since the trace's start.
func milli(ns int64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }

// percent1 prints small shares with a digit, so that 0.8 % is not 1 %.
func percent1(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	switch {
	case v >= 0.0995:
		return percent(v)
	case v > 0 && v < 0.0005:
		return "<0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}

// quoted is a name short enough for a sentence: kernels of C++ templates reach
// thousands of letters.
func quoted(name string) string {
	const most = 60
	if r := []rune(name); len(r) > most {
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

// traceWarnings say how much a verdict from a trace rests on.
func (c *Case) traceWarnings() []string {
	if c.traced == nil {
		return nil // the evidence says that no device's work was recorded
	}
	var out []string
	d := c.traced.d
	switch n := len(d.Steps); {
	case n == 0:
		out = append(out, "no steps could be told apart: the whole recording is judged, the profiler's start included")
	case d.Seen < 3:
		out = append(out, fmt.Sprintf("%d step%s, profiler start included: record five and more with torch.profiler.schedule(wait=1, warmup=2, active=5)", n, plain(n)))
	}
	if d.StartUp {
		out = append(out, "this is a program's start: record later steps with torch.profiler.schedule(wait=5, warmup=2, active=5)")
	}
	if lost := float64(d.Causes[idle.Unlinked]) / max(1, float64(d.Idle)); lost > 0.05 {
		out = append(out, fmt.Sprintf("%s of the idle time ends with work that the trace links to no launch: what the host did then is not charged to it", percent(lost)))
	}
	if lost := d.Share(d.Causes[idle.Unrecorded]); lost > 0.05 && len(c.traced.t.Frames.Start) == 0 {
		out = append(out, fmt.Sprintf("%s of the window the launching thread did nothing that was recorded, most likely Python: with_stack=True tells the line", percent(lost)))
	}
	if x, ok := xprof(c.Run, c.traced.all); ok {
		out = append(out, x.String())
	}
	return out
}

// were is the ending and verb of "n pieces were".
func were(n int) string {
	if n == 1 {
		return " was"
	}
	return "s were"
}

func plain(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
