package live

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values for loops that no DataLoader feeds. [J]
const (
	leastTold = 0.01 // share of a thread's time that is worth a word
	busyCores = 0.25 // that others of the job use, from which the thread is waiting for them
	untold    = 0.4  // most score of work that may as well be launches or copies: it does not convince, and is named
)

// whereabouts is where a thread's time goes, as shares of the window that may overlap
// by what sampling is off; NaN is unknown.
type whereabouts struct {
	OnCore, Queued, Disk, Remote, Asleep, Parked float64
	Others                                       float64 // cores that everything else of the job uses

	// Works and Sleeps are shares of the looks at the thread on lines that do not wait for the device: on a core or
	// queued, and not. NaN where no look tells waiting for the device.
	Works, Sleeps float64

	OwnWait bool // it waits on a line whose waits are the program's own
}

// measureWhereabouts measures where the launching thread's time goes.
func (l filler) measureWhereabouts() whereabouts {
	subject := measure.LaunchThread(l.run, l.Costs.Window.PID)
	states := l.run.Find(recording.ThreadState, subject)
	share := func(s recording.State) float64 { return states.Share(l.From, l.To, s) }
	w := whereabouts{
		OnCore: l.run.Find(recording.ThreadCPU, subject).Rate(l.From, l.To),
		Queued: l.run.Find(recording.ThreadQueue, subject).Rate(l.From, l.To),
		Disk:   share(recording.OnDisk), Remote: share(recording.Remote), Asleep: share(recording.Asleep),
		Parked: share(recording.Parked),
	}
	if math.IsNaN(w.OnCore) {
		w.OnCore = share(recording.Running) - stat.Or(w.Queued, 0)
	}
	w.OnCore = min(1, w.OnCore)
	w.Others = max(0, l.Costs.CoresUse-stat.Or(w.OnCore, 0))
	w.Works, w.Sleeps = l.lookBesideWaits()
	w.OwnWait = l.shareOfOwnWait() > 0
	return w
}

// lookBesideWaits returns the shares of whereabouts.Works and Sleeps.
func (l filler) lookBesideWaits() (works, sleeps float64) {
	lines, waits := l.LoopLines, 0.0
	for _, line := range lines.Lines {
		switch line.Kind {
		case diagnose.DeviceWait:
			waits += line.Seconds
		case diagnose.Copying: // asleep, it awaits the device's earlier work
			waits, works = waits+line.Asleep, works+line.Seconds-line.Asleep
		default:
			works, sleeps = works+line.Seconds-line.Asleep, sleeps+line.Asleep
		}
	}
	if lines.Looks < fewLooks || waits < tellsWaits*lines.Seconds {
		return math.NaN(), math.NaN()
	}
	return works / lines.Seconds, sleeps / lines.Seconds
}

// tellsWaits is the share of looks that find a thread waiting for the device, from which they tell that from work. [J]
const tellsWaits = 0.2

// shareAway is the share of the device's idle time in which the thread is waiting for somebody
// else, at least: while the device works it may wait for that.
func (w whereabouts) shareAway(idle float64) float64 {
	away := max(0, w.Asleep+w.Parked-(1-idle))
	return min(away, stat.Or(w.Sleeps, away)) / idle
}

// String is a sentence; "" if nothing is known. Parts that overlap are said as parts of their sum.
func (w whereabouts) String() string {
	var parts []string
	all := 0.0
	for _, share := range []float64{w.OnCore, w.Queued, w.Disk, w.Remote, w.Asleep, w.Parked} {
		all += stat.Or(share, 0)
	}
	all = max(1, all)
	add := func(share float64, text string) {
		if share /= all; share >= leastTold {
			parts = append(parts, text+" "+quantity.Percent(share))
		}
	}
	add(w.OnCore, "on a core")
	add(w.Queued, "waiting for a core")
	add(w.Disk, "reading from storage")
	add(w.Remote, "reading from the network")
	add(w.Asleep, "asleep")
	add(w.Parked, "waiting at a queue, a lock, a pipe or a socket")
	if len(parts) == 0 {
		return ""
	}
	parts[0] += " of the time"
	text := "the launching thread is " + strings.Join(parts, ", ")
	switch {
	case w.Others >= diagnose.OthersAtWork:
		text += fmt.Sprintf(". Everything else of the job uses %.2f cores", w.Others)
	case w.Asleep+w.Parked >= diagnose.AwayWhileIdle.Yes && w.Sleeps < diagnose.AwayWhileIdle.No:
		text += ". Nothing else of the job works, and the thread waits for the device"
	case w.Asleep+w.Parked >= diagnose.AwayWhileIdle.Yes && !w.OwnWait:
		text += ". Nothing else of the job works: it waits for something outside, such as requests, a " +
			"timer or the device"
	}
	return text
}

// askOwnCode is whether the program's own code keeps the device waiting, in a loop that no
// DataLoader feeds: the launching thread works all the time, or is waiting for others of
// the job that do. A thread that is waiting for the device may spin, so what it does while
// the device works is no work.
func (l filler) askOwnCode(w whereabouts) diagnose.Quantity {
	atWork := 1 - w.Asleep - w.Parked
	alone := max(0, atWork-stat.Or(l.Util, 0), stat.Or(w.Works, 0)) / l.Idle
	q := diagnose.AskShare("Is the launching thread at work while the device is idle?", min(1, alone), diagnose.OwnCodeWhileIdle,
		"a thread that launches many small kernels looks the same")
	if l.HookMissing { // so do copies from pageable memory
		q.Score = min(q.Score, untold)
	}
	if share := l.shareOfOwnWait(); share > 0 {
		q = diagnose.AskShare("Does a line wait for a disk, a program or an environment while the device is idle?",
			min(1, share/l.Idle), diagnose.AwayWhileIdle, "what it waits for is told by its names")
	}
	others := w.Others >= busyCores || l.awaitsOwnProcess()
	if away := w.shareAway(l.Idle); away >= diagnose.AwayWhileIdle.Yes && others {
		q = diagnose.AskShare("Does the launching thread wait while others of the job work?", away,
			diagnose.AwayWhileIdle, "what they do is unknown")
	}
	q = q.WithEvidence(atWork, "ratio", "thread.state", "no DataLoader was seen, and %s", l.LaunchThreadTime).
		AddMeter(l.Case, l.Idle, "no kernel runs %s of the time", quantity.Percent(l.Idle))
	if l.Costs.Others > diagnose.ManyOthers {
		q = q.WithEvidence(l.Costs.Others, "cores", "machine.cpu", "other programs use %.1f cores", l.Costs.Others)
	}
	return q
}

// awaitsOwnProcess reports whether the launching thread mostly takes what another process of the job sends, though
// that one may get few cores.
func (l filler) awaitsOwnProcess() bool {
	seconds := l.LoopLines.SecondsOf(diagnose.Pickling)
	return l.LoopLines.Looks >= fewLooks && seconds >= diagnose.NamedLine*l.LoopLines.Seconds
}

// ownWaits are kinds of lines whose waits are the program's own, unlike those for requests.
var ownWaits = append([]diagnose.Kind{diagnose.Disk, diagnose.Subprocess}, ofOthers...)

// shareOfOwnWait is the share of the launching thread's time in which it waits on a line that reads or writes files,
// runs a program, steps an environment, logs or asks for rewards; 0 if that is little.
func (l filler) shareOfOwnWait() float64 {
	asleep := 0.0
	for _, line := range l.LoopLines.Lines {
		if slices.Contains(ownWaits, line.Kind) {
			asleep += line.Asleep
		}
	}
	if l.LoopLines.Looks < fewLooks || asleep < diagnose.NamedLine*l.LoopLines.Seconds {
		return 0
	}
	return asleep / l.LoopLines.Seconds
}

// fillUnfed takes what rules may ask of a loop in which no DataLoader was seen, though the
// hook was not kept out (it says nothing of a loop without an optimizer): there is
// nothing to say of workers, of settings or of what a batch costs.
func (l filler) fillUnfed() {
	w := l.measureWhereabouts()
	none := diagnose.Quantity{}
	l.LaunchThreadLoads, l.WorkersLoad, l.WorkersSaturated = none, none, none
	l.LoadingLacksCores, l.LaunchThreadAtWork = none, none
	if !math.IsNaN(l.Idle) && w.String() != "" {
		l.OwnCodeDelaysDevice, l.JobAwaitsOthers = l.askOwnCode(w), l.askAwaiting(w)
	}
}

// yieldTo takes what the launching thread does for what another answer says that it is. [J] Three tenths
// are left, so that the runner-up is named.
func (l filler) yieldTo(other diagnose.Quantity) { l.OwnCodeDelaysDevice.Score *= 1 - 0.7*other.Score }

// describeLaunchThread says where the launching thread's time goes, and on which lines it is while it prepares no
// batch; "" if nothing is known.
func (l filler) describeLaunchThread(w whereabouts) string {
	said := w.String()
	if loading := l.measureLoading(); said != "" && l.HookMissing && !math.IsNaN(loading) {
		said += fmt.Sprintf(". Its stack samples lie in a loader's fetch %s of the time", quantity.Percent(loading))
	}
	if lines := l.describeLoop(); said != "" && lines != "" {
		said += ". Its lines, outside of loading: " + lines
	}
	if l.LooksAtAsker {
		return strings.ReplaceAll(said, "the launching thread", "the thread that asks for batches (another one launches)")
	}
	if said != "" && l.Asker != "" {
		said += ". " + l.Asker
	}
	if _, waits := l.LoopLines.FirstOf(diagnose.Locking); said != "" && waits && l.DescribeBeside() != "" {
		said += ". It waits for a lock at times. " + l.DescribeBeside()
	}
	return said
}

// asksBeside reports whether another thread than the launching one asks for the batches.
func (l filler) asksBeside() bool {
	reason, n := l.countNoClock()
	return reason == otherThread && 2*n > len(l.Costs.Window.Steps) && l.run.FindProcess(l.Costs.Window.PID) != nil
}

// describeAsker says where another thread than the launching one asks for the batches; "" if none does.
func (l filler) describeAsker() string {
	loader := l.run.FindLoader(l.Costs.Window.PID, l.Costs.Window.Loader)
	if loader == nil || loader.Where == "" || !l.asksBeside() {
		return ""
	}
	return "Another thread of its process asks for the batches, at " + strings.TrimSpace(loader.Where+" "+loader.Function)
}

// describeLoop names the lines on which the launching thread is seen most, outside of fetches; "" if it was looked
// at too seldom.
func (l filler) describeLoop() string {
	stacks, looks := l.run.FetchStacks(l.From, l.To, recording.Loading{PID: l.Costs.Window.PID, Outside: true})
	if !(looks >= fewLooks) {
		return ""
	}
	var all float64
	spent := map[string]float64{}
	for _, s := range stacks {
		all += s.Seconds
		if len(s.Places) > 0 {
			own, call := splitStack(s.Places)
			spent[diagnose.Line{Own: own, Call: call}.String()] += s.Seconds
		}
	}
	lines := slices.SortedFunc(maps.Keys(spent), func(a, b string) int {
		return cmp.Or(cmp.Compare(spent[b], spent[a]), cmp.Compare(a, b))
	})
	var said []string
	for _, line := range lines[:min(diagnose.LinesSaid, len(lines))] {
		if share := spent[line] / all; share >= leastLine {
			said = append(said, diagnose.WholePercent(share)+" "+line)
		}
	}
	return strings.Join(said, ", ")
}

// askSmallKernels is whether the device is waiting for launches of kernels that leave nearly all of it empty, where
// they are not counted.
func (l filler) askSmallKernels() diagnose.Quantity {
	_, subject := l.findGPU()
	active := l.Costs.Window.Mean(l.run.Find(recording.GPUActive, subject))
	full := active / l.Util
	isAway := l.measureWhereabouts().shareAway(l.Idle) >= diagnose.AwayWhileIdle.Yes
	if l.HasSteps || !l.inputRests() || !(full <= diagnose.SmallKernels.No) || isAway {
		return diagnose.Quantity{}
	}
	q := diagnose.AskShare("Do kernels leave nearly all of the device empty?", full, diagnose.SmallKernels,
		"kernels that wait for other ranks look the same").
		WithEvidence(full, "ratio", string(recording.GPUActive),
			"some kernel runs %s of the time, and keeps %s of the device's SMs at work: kernels are so small that "+
				"launching them takes the host longer", quantity.Percent(l.Util), quantity.Percent(full)).
		AddMeter(l.Case, l.Idle, "no kernel runs %s of the time, and the launching thread is at work",
			quantity.Percent(l.Idle))
	q.Score *= diagnose.IdleByMeter.Score(l.Idle)
	return q
}

// askAwaiting is whether the launching thread is waiting for something outside of the job. Of several ranks each may
// wait for another one.
func (l filler) askAwaiting(w whereabouts) diagnose.Quantity {
	if len(l.trainers) > 1 || len(l.listRanks()) > 1 {
		return diagnose.Quantity{}
	}
	away := w.shareAway(l.Idle)
	if !(w.Others < busyCores) || l.awaitsOwnProcess() || l.shareOfOwnWait() > 0 {
		away = 0
	}
	return diagnose.AskShare("Does the launching thread wait while nothing of the job works?", away,
		diagnose.AwayWhileIdle, "a program on another machine that is waited for looks the same as a request").
		WithEvidence(away, "ratio", "thread.state", "%s", l.LaunchThreadTime).
		AddMeter(l.Case, l.Idle, "no kernel runs %s of the time", quantity.Percent(l.Idle))
}
