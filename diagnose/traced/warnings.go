package traced

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// describeOthers says which of several devices is judged, where that one and others worked.
func (t *filler) describeOthers() string {
	if len(t.all.Devices) < 2 || t.ranks != nil {
		return ""
	}
	return fmt.Sprintf("%d devices worked: device %d is the one that is judged", t.all.Worked,
		t.t.Devices[t.d.Index].Index)
}

// listWarnings say how much a verdict from a trace rests on.
func (t *filler) listWarnings(run *recording.Run) []string {
	var out []string
	d := t.d
	more, later, stacks := t.grounds.RecordMore()
	switch n := len(d.Steps); {
	case d.Apart != "":
		out = append(out, fmt.Sprintf("no steady step was recorded, only %s: %s", d.Apart, later))
	case n == 0:
		out = append(out, "no steps could be told apart: the whole recording is judged")
	case t.oneRun:
		out = append(out, "a timeline holds one run of a graph: whether others take as long is not known: "+more)
	case t.unmarked: // the note on steps says so
	case d.Seen < fewToLeaveOut:
		out = append(out, fmt.Sprintf("only %d step%s: none could be left out as the first behind the recorder's "+
			"start, and nobody knows what is usual: %s", n, quantity.Ending(n, "", "s"), more))
	}
	if d.StartUp && d.Apart == "" {
		out = append(out, "this is a program's start: "+later)
	}
	if said := t.describeStart(); said != "" {
		out = append(out, said)
	}
	switch {
	case d.Earlier:
		out = append(out, fmt.Sprintf("the first recorded work waited %s in the device's queue: the device worked on "+
			"launches from before the recording, which are not in the file", quantity.AboutSeconds(toSeconds(d.Queued))))
	case d.Edge > 0 && d.Start == 0 && !d.StartUp:
		out = append(out,
			fmt.Sprintf("the %s before the recording's first device work are not judged: no mark bounds a "+
				"step, and nobody knows whether they come again", quantity.AboutSeconds(toSeconds(d.Edge))))
	}
	for _, said := range []string{
		t.describeElsewhere(), t.describeOneExchange(),
	} {
		if said != "" {
			out = append(out, said)
		}
	}
	if busy := t.describeOthers(); busy != "" {
		out = append(out, busy)
	}
	lost := float64(d.Causes[idle.Unlinked]) / max(1, float64(d.Idle))
	if lost > diagnose.NamedInTrace && t.d.Share(t.d.Causes[idle.Unlinked]) >= stretchTrigger && !t.hidesHost() {
		out = append(out, fmt.Sprintf("%s of the idle time ends with work that the trace links to no launch: what "+
			"the host did then is not charged to it", quantity.Percent(lost)))
	}
	if said := t.describeSilence(stacks); said != "" {
		out = append(out, said)
	}
	if x, ok := analyseAsXProf(run, t.all); ok {
		out = append(out, x.String())
	}
	return out
}

// describeSilence says in how much of the window the launching thread made no call, and what samples tell of that, or
// what would; "" if that is little.
func (t *filler) describeSilence(stacks string) string {
	silent := func(s idle.Slice) bool { return s.Cause == idle.Unrecorded || s.Cause == idle.HostCode && s.Call < 0 }
	time := t.d.Causes[idle.Unrecorded]
	if len(t.t.Turns.Start) > 0 {
		time = 0
		for s := range t.all.Slices(t.d, t.d.From, t.d.To) {
			if silent(s) {
				time += s.To - s.From
			}
		}
	}
	lost := t.d.Share(time)
	if !(lost > diagnose.NamedInTrace) || len(t.t.Frames.Start) > 0 {
		return ""
	}
	if said, _ := t.describeSamples(silent); said != "" {
		return fmt.Sprintf("%s of the window the launching thread makes no call: %s", quantity.Percent(lost), said)
	}
	return fmt.Sprintf("%s of the window the launching thread did nothing that was recorded%s", quantity.Percent(lost),
		t.likelyPython(stacks))
}

// describeStart says what of a program's beginning is not judged; "" if the recording begins later.
func (t *filler) describeStart() string {
	until := "its first call of the device: its start"
	switch {
	case t.d.StartUp || t.d.Start == 0:
		return ""
	case t.d.Edge > 0:
		until = "the device's first work, and set the device up meanwhile: its start"
	case t.d.SetUp:
		until = "the first long call of the device returned: its start"
	}
	return fmt.Sprintf("%s pass from the recording's begin until %s is not judged",
		quantity.AboutSeconds(toSeconds(t.d.From-t.t.Start)), until)
}

// describeOneStep says that a single step makes the verdict: most of the idle time is in it. What
// it shows may come again, or never.
func (t *filler) describeOneStep() string {
	few := len(t.d.Steps) < fewToJudge
	if t.unmarked || len(t.d.Steps) < 2 || t.d.Share(t.d.Idle) < diagnose.LaunchTrigger {
		return ""
	}
	parts := t.all.CutSteps(t.d)
	most, all := 0, int64(0)
	lengths := make([]float64, len(parts))
	for i, p := range parts {
		if all += p.Idle; p.Idle > parts[most].Idle {
			most = i
		}
		lengths[i] = toSeconds(p.To - p.From)
	}
	share := float64(parts[most].Idle) / float64(max(1, all))
	if share <= mostInOne || few && share <= nearlyAllInOne {
		return ""
	}
	others := fmt.Sprintf(" (%s in the median)", quantity.AboutSeconds(stat.Median(lengths)))
	if few { // of which none is usual
		others = ""
	}
	return fmt.Sprintf("one step carries the verdict: number %d of the judged ones takes %s%s and "+
		"has %s of the idle time of all %d: record more steps to see if it comes again",
		most+1, quantity.AboutSeconds(lengths[most]), others,
		quantity.Percent(share), len(parts))
}

// A step carries a verdict with more than half of the idle time, and of a few steps with nearly all. [J]
const (
	mostInOne      = 0.5
	nearlyAllInOne = 0.9
)

// fewToLeaveOut is the number of steps below which none is left out as the first; package idle keeps all of them.
const fewToLeaveOut = 3

// mostlyElsewhere is the ratio of the device's use to the judged steps from which a warning is given. [J]
const mostlyElsewhere = 4

// fewToJudge is the least number of steps among which one can be an outlier. [J]
const fewToJudge = 4

// likelyPython says that unrecorded time of the launching thread is probably Python. The sentence then says how to
// record it. If most of the time is in one gap, it may as well be a library's code.
func (t *filler) likelyPython(stacks string) string {
	switch {
	case diagnose.IsBare(t.grounds.Framework), t.grounds.Recorder != "": // not PyTorch's, which has the words below
		return ": " + stacks
	case t.grounds.Framework == "" && !slices.Contains(t.t.Host.Kind, recording.Op):
		return ": the file holds no operator (ProfilerActivity.CPU records them)"
	case 2*t.d.Places[idle.Unrecorded].Time <= t.d.Causes[idle.Unrecorded]:
	case t.grounds.Framework == "":
		return ", in one gap most of the time: if it is Python, " + stacks
	default:
		return ": " + stacks
	}
	return ", most likely Python: " + stacks
}

// findLeftOut says that a step that is left out takes as long as all that are judged: what it shows is not judged. It
// tells whether most of that allocates or frees memory.
func (t *filler) findLeftOut(run *recording.Run) (text string, allocates bool) {
	if t.unmarked || len(t.d.Steps) == 0 {
		return "", false
	}
	judged, longest := 0.0, recording.Step{}
	for _, s := range t.d.Steps {
		judged += run.Steps[s.Index].Period
	}
	first, last, rank := run.Steps[t.d.Steps[0].Index], run.Steps[t.d.Steps[len(t.d.Steps)-1].Index], t.judgedRank()
	for _, s := range run.Steps {
		if s.Rank == rank && s.PID == first.PID && (s.Start < first.Start || s.Start > last.Start) {
			if s.Period > longest.Period {
				longest = s
			}
		}
	}
	if longest.Period < judged {
		return "", false
	}
	mostly := ""
	if memory := t.sumAllocating(longest); 2*memory > longest.Period {
		mostly = fmt.Sprintf(", %s of it in calls that allocate or free memory of the device", quantity.AboutSeconds(memory))
		allocates = true
	}
	return fmt.Sprintf("a step that is left out takes %s%s, those that are judged %s together: what delays it is not judged",
		quantity.AboutSeconds(longest.Period), mostly, quantity.AboutSeconds(judged)), allocates
}

// sumAllocating is the time of the calls within a step that allocate or free memory of the device, seconds.
func (t *filler) sumAllocating(step recording.Step) float64 {
	h, ns := &t.t.Host, int64(0)
	for i, name := range h.Name {
		at := toSeconds(h.Start[i])
		if h.Kind[i] == recording.Runtime && at >= step.Start && at < step.Start+step.Period &&
			recording.AllocatesMemory(t.t.Names[name]) {
			ns += h.End[i] - h.Start[i]
		}
	}
	return toSeconds(ns)
}

// describeElsewhere says that the judged steps are a small part of the time in which the device was
// used: how a query goes says nothing of the time between two.
func (t *filler) describeElsewhere() string {
	w, from, to := &t.t.Device, int64(math.MaxInt64), int64(math.MinInt64)
	for i, device := range w.Device {
		if device == t.d.Index {
			from, to = min(from, w.Start[i]), max(to, w.End[i])
		}
	}
	if len(t.d.Steps) == 0 || mostlyElsewhere*t.d.WindowLength() > to-from {
		return ""
	}
	return fmt.Sprintf("the judged steps are %s of the %s from the device's first work to its last: the rest is not judged",
		quantity.AboutSeconds(toSeconds(t.d.WindowLength())), quantity.AboutSeconds(toSeconds(to-from)))
}

// describeOneExchange says that a single collective takes most of the time of all, in a recording
// too short to show whether it comes again.
func (t *filler) describeOneExchange() string {
	w, n, most, all := &t.t.Device, 0, int64(0), int64(0)
	for i := range w.Start {
		if w.Device[i] == t.d.Index && w.Start[i] >= t.d.From && w.End[i] <= t.d.To && t.all.IsCollective(int32(i)) {
			length := w.End[i] - w.Start[i]
			n, most, all = n+1, max(most, length), all+length
		}
	}
	few := len(t.d.Steps) < fewToJudge && n >= fewToJudge
	if !few || 2*most <= all || t.d.Share(most) < diagnose.LaunchTrigger {
		return ""
	}
	return fmt.Sprintf("one collective takes %s of the %s of all %d: nothing here tells whether it comes "+
		"again, or is "+
		"part of a program's start", quantity.AboutSeconds(toSeconds(most)), quantity.AboutSeconds(toSeconds(all)), n)
}
