package traced

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// listCauses are the parts of the window's idle time, most first.
func (t *filler) listCauses() []diagnose.Cause {
	d := t.d
	out := []diagnose.Cause{}
	for i, ns := range d.Causes {
		if ns > 0 {
			out = append(out, diagnose.Cause{Cause: idle.Cause(i).String(), Seconds: toSeconds(ns), Share: d.Share(ns)})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Seconds > out[j].Seconds })
	return out
}

// mostCauses is how many causes a sentence names.
const mostCauses = 3

// describeCauses names the first few causes, for a sentence.
func (t *filler) describeCauses() string {
	var parts []string
	for i, cause := range t.listCauses() {
		if i == mostCauses || cause.Share < diagnose.ShownCause {
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", cause.Cause, quantity.Percent(cause.Share)))
	}
	return strings.Join(parts, ", ")
}

// describeGaps is what every verdict from a trace says of its idle time.
func (t *filler) describeGaps() []diagnose.Evidence {
	leading := t.describeCauses()
	if leading == "" {
		return nil
	}
	rest := t.d.Share(t.d.Idle)
	return diagnose.AddEvidence(nil, rest, "ratio", "trace.idle",
		"nothing runs on the device %s of the window, by cause: %s", quantity.Percent(rest), leading)
}

// describeLongGaps are the gaps that no launch explains.
func (t *filler) describeLongGaps() string {
	switch {
	case 2*t.d.Touched > t.d.Long:
		return "any length that end as the host touches managed memory"
	case t.d.Ranged == 0:
		return diagnose.LongGapText + " and more"
	}
	return diagnose.LongGapText + " and more, or of 0.5 ms and more in which nothing is launched"
}

// describeLongBeside names the gaps that no launch explains beside those that one does, if they are about as much.
func (t *filler) describeLongBeside() string {
	if 2*t.parts.Long < t.parts.Host || t.parts.Long < stretchTrigger {
		return ""
	}
	return fmt.Sprintf(", and %s for it in gaps of %s", quantity.Percent(t.parts.Long), t.describeLongGaps())
}

// holdsHost reports whether most of the long gaps pass inside calls of the host that wait for the device, of a program
// with several devices: it is not the host's own work that the device waits for.
func (t *filler) holdsHost() bool {
	return len(t.all.Devices) > 1 && 2*t.d.Share(t.d.Causes[idle.Sync]) > t.parts.Long
}

func (t *filler) describeHeldHost() string {
	if !t.holdsHost() {
		return ""
	}
	return fmt.Sprintf(", %s inside calls that wait: for other devices, or for the runtime's own threads",
		quantity.Percent(t.d.Share(t.d.Causes[idle.Sync])))
}

// describePlace names the gap with most of a cause.
func (t *filler) describePlace(cause idle.Cause) []diagnose.Evidence {
	return t.describeGap(t.d.Places[cause], cause)
}

// describeGap names a gap and what most of a cause's time in it went into.
func (t *filler) describeGap(p idle.Place, cause idle.Cause) []diagnose.Evidence {
	if p.Time == 0 {
		return nil
	}
	text := fmt.Sprintf("the gap with most of it: %s to %s in the trace, %s of it %s",
		printMilli(p.From), printMilli(p.To), quantity.AboutSeconds(toSeconds(p.Time)), cause)
	heaviest := t.all.FindHeaviest(t.d, p.From, p.To, func(s idle.Slice) bool { return s.Cause == cause })
	if name := t.all.Name(p.Slice); heaviest.Name >= 0 && p.Slice.Thread >= 0 {
		text += ", mostly " + quote(t.t.Names[heaviest.Name])
	} else if name >= 0 {
		text += ", mostly " + quote(t.t.Names[name])
	}
	if p.Slice.Thread >= 0 {
		text += " on " + t.nameThread(p.Slice.Thread)
	}
	if p.Slice.Next >= 0 {
		text += ", until " + quote(t.t.Names[t.t.Device.Name[p.Slice.Next]]) + " starts"
	}
	return diagnose.AddEvidence(nil, toSeconds(p.Time), "seconds", "trace.gap", "%s", text)
}

// findMostly says which function most of some idle time went into, and names it; "" if
// none did.
func (t *filler) findMostly(fits func(idle.Slice) bool) (text, name string) {
	h := t.all.FindHeaviest(t.d, t.d.From, t.d.To, fits)
	if h.Name < 0 {
		if text, name = t.describeSamples(fits); text != "" {
			text = ", and " + text
		}
		return text, name
	}
	name = t.t.Names[h.Name]
	return fmt.Sprintf(", and %s of %s lie in %s", quantity.AboutSeconds(toSeconds(h.Time)),
		quantity.AboutSeconds(toSeconds(h.Total)), quote(name)), name
}

func (t *filler) nameThread(i int32) string { return t.t.Threads[i].String() }

// printMilli prints an instant as milliseconds since the trace's start.
func printMilli(ns int64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }

// quote is a name short enough for a sentence: kernels of C++ templates reach
// thousands of letters. Of a frame of Python the function counts, which comes last.
func quote(name string) string {
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

// findLine is the user's innermost Python line at an instant on a thread, "" if
// no stacks were recorded. Library frames count where no other is open.
func (t *filler) findLine(thread int32, at int64) string {
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

// locate fills in where a finding is to be looked for: a host thread at an instant.
func (t *filler) locate(f *diagnose.Finding, thread int32, from, to int64) {
	f.From, f.To = toSeconds(from), toSeconds(to)
	if thread >= 0 {
		f.Thread = t.nameThread(thread)
		f.Source = t.findLine(thread, (from+to)/2)
	}
}

// locateWork fills in where a finding is to be looked for: work and its launch.
func (t *filler) locateWork(f *diagnose.Finding, work int32) {
	if work < 0 {
		return
	}
	w := &t.t.Device
	f.From, f.To, f.Kernel = toSeconds(w.Start[work]), toSeconds(w.End[work]), t.t.Names[w.Name[work]]
	if call := w.Call[work]; call >= 0 {
		thread := t.t.Host.Thread[call]
		f.Thread = t.nameThread(thread)
		f.Source = t.findLine(thread, t.t.Host.Start[call])
	}
}

// weigh fills in how much of the window a finding is about.
func (t *filler) weigh(f *diagnose.Finding, ns int64) {
	f.Seconds, f.Share = toSeconds(ns), t.d.Share(ns)
	f.Saves = f.Share
}

func (t *filler) shareOfCauses(causes ...idle.Cause) (ns int64, share float64) {
	for _, c := range causes {
		ns += t.d.Causes[c]
	}
	return ns, t.d.Share(ns)
}

// locateCause fills in the gap with most of a cause.
func (t *filler) locateCause(f *diagnose.Finding, cause idle.Cause) {
	t.locateGap(f, t.d.Places[cause])
}

func (t *filler) locateGap(f *diagnose.Finding, p idle.Place) {
	if p.Time == 0 {
		return
	}
	t.locate(f, p.Slice.Thread, p.Slice.From, p.Slice.To)
	f.From, f.To = toSeconds(p.From), toSeconds(p.To)
	if p.Slice.Next >= 0 {
		f.Kernel = t.t.Names[t.t.Device.Name[p.Slice.Next]]
	}
}

// worstCause is the host's cause with the worst gap.
func worstCause(places *[idle.Causes]idle.Place) idle.Cause {
	most := idle.Python
	for _, cause := range []idle.Cause{
		idle.HostCode, idle.CPUOp, idle.Unrecorded, idle.Launch, idle.GC, idle.Allocator, idle.WarmUp,
	} {
		if places[cause].Time > places[most].Time {
			most = cause
		}
	}
	return most
}

// isFirst reports whether a gap is before all kernels of the recording.
func (t *filler) isFirst(p idle.Place) bool {
	if p.Slice.Next < 0 || t.kernels != nil && t.kernels.Count == 0 {
		return false
	}
	w := &t.t.Device
	for i := range p.Slice.Next {
		if w.Kind[i] == recording.Kernel && w.Device[i] == t.d.Index {
			return false
		}
	}
	return true
}

// isLast reports whether a gap is behind all kernels of the recording.
func (t *filler) isLast(p idle.Place) bool {
	w := &t.t.Device
	for i := range w.Start {
		if w.Kind[i] == recording.Kernel && w.Device[i] == t.d.Index && w.Start[i] >= p.To {
			return false
		}
	}
	return true
}

// sayPerStep is " per step" if what is counted is, "" of a file that shows no steps.
func (t *filler) sayPerStep() string {
	if t.unmarked {
		return ""
	}
	return " per step"
}

// countSteps is how many steps are judged, at least one.
func (t *filler) countSteps() float64 { return math.Max(1, float64(len(t.d.Steps))) }
