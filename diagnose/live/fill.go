package live

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/quantity"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// FillCase takes what the signals tell.
func FillCase(c *diagnose.Case, run *recording.Run) {
	l := filler{Case: c, run: run, trainers: measure.Trainers(run)}
	machine := measure.MachineOf(run)
	l.Grounds = diagnose.Grounds{
		Program: diagnose.ProgramOf(run.Facts), Framework: run.Facts.Software.Framework,
		Server: run.Facts.Software.Server,
		Torch:  run.Facts.Software.Torch != "", Reach: machine.Link.Reach,
		Chip: diagnose.Chip{Major: machine.GPU.ComputeMajor, Minor: machine.GPU.ComputeMinor},
	}
	l.fillWindow()
	l.LoopLines = FindLoopLines(l.run, l.Costs.Window.PID, l.From, l.To)
	if l.onlyPasses() {
		l.Grounds.Program = diagnose.Inference
	}
	l.Grounds.Loads = slices.ContainsFunc(run.Facts.Loaders, func(d recording.Loader) bool {
		return d.PID == l.Costs.Window.PID && d.Kind == ""
	})
	l.fillDevice()
	l.fillProgram()
	l.Glimpse, l.Restarts = l.measureGlimpse(), l.findRestarts()
	l.Grounds.Loader = l.judgedLoader()
	l.Grounds.NoDevice = l.GPUCount == 0 && !l.HoldsDevice
	l.Grounds.Hidden = l.hidesGPUs()
	l.nameGarbage()
	l.nameForks()
	l.Grounds.Beside = l.asksBeside()
	l.LooksAtAsker = l.Grounds.Beside && !l.run.FindProcess(l.Costs.Window.PID).LauncherSeen
	if !l.LooksAtAsker {
		l.Asker = l.describeAsker()
	}
	l.Beside = l.findBeside()
	l.LaunchThreadTime = l.describeLaunchThread(l.measureWhereabouts())
	l.fillInput()
	l.fillStorage()
	l.fillSurroundings()
	l.fillCopies()
	l.fillParts()
	l.fillServer()
	l.fillWorker()
	l.RankComparison, l.Warnings = l.describeRanks(), l.listWarnings()
	if run.Cut != "" {
		l.Doubts = []string{run.Cut}
		if !l.HasSteps && !l.HasUnfedSteps {
			l.Grounds.Record = "take the whole file, or record again: the steps may be in what this one lost"
		}
	}
	l.Findings = slices.Concat(l.Findings, l.findApart(), l.findGarbage(), l.findAnomalies(), l.findBlocking(),
		l.findInterpreterLock(), l.findStanding(), l.findLongerSteps())
	if l.Requests.Known() || l.PassesSmall.Score > 0 {
		l.Findings = slices.DeleteFunc(l.Findings, OfLoopsAlone)
	}
	l.UtilPattern = l.findPattern()
}

// OfLoopsAlone reports whether a finding tells of a loop what is no fault of a server, or of a program that gets its
// inputs from elsewhere: it reads each answer from the device, and a pass comes when a request does.
func OfLoopsAlone(f diagnose.Finding) bool {
	return f.Name == diagnose.FindingHiddenSync || f.Name == diagnose.FindingHangs
}

// onlyPasses reports whether the program makes steps, none of them with gradients, and no optimizer steps in them.
func (l filler) onlyPasses() bool {
	return (l.HasSteps || l.HasUnfedSteps) && l.Grounds.Program == diagnose.UnknownProgram &&
		!slices.ContainsFunc(l.run.Steps, func(s recording.Step) bool { return s.Phase == recording.Train }) &&
		!slices.ContainsFunc(l.LoopLines.Lines, updates)
}

// asksDevice is the least number of waits for the device, or of launches on it, in a step, from which the program
// computes there. [J] A model on the CPU has none.
const asksDevice = 0.5

func (l filler) fillWindow() {
	var steps bool
	l.Costs, steps = measure.Starved(l.trainers)
	l.HasSteps, l.HasUnfedSteps = steps && l.Costs.Fed(), steps && !l.Costs.Fed()
	asks := l.Costs.Window.Asks()
	l.OnDevice = asks.Syncs >= asksDevice || asks.Launches >= asksDevice
	if steps {
		l.From, l.To = l.Costs.Window.Start, l.Costs.Window.End
		l.Util, l.UtilFrom = l.Costs.Busy, l.Costs.BusyFrom
		return
	}
	l.To = l.run.End()
	newest, _ := l.run.Newest()
	l.From, l.Costs.Window.PID = newest, findTrainer(l.run)
	l.cutEdges()
	l.Costs = measure.Measure(l.run, recording.Window{PID: l.Costs.Window.PID, Start: l.From, End: l.To})
	device := measureUtil(l.run, l.From, l.To)
	l.Util, l.UtilFrom = device.Share, device.From
}

// A run is judged by too little of it if the steps have less than leastJudged of its time, and the device works less
// than leastWorked of the time from its first work to its last. [J]
const (
	leastJudged = 0.05
	leastWorked = 0.5
)

// measureGlimpse is the share of the run that the judged steps have, if that is next to nothing and the device idles
// beside them, as that of a server whose worker restarts each second; else 0.
func (l filler) measureGlimpse() float64 {
	_, subject := l.findGPU()
	kernels := l.run.KernelSeries(subject)
	part := (l.To - l.From) / l.run.End()
	if !l.HasSteps && !l.HasUnfedSteps || kernels == nil || !(part < leastJudged) {
		return 0
	}
	first, last := findWork(kernels, l.run.End(), func(v float64) bool { return v > 0 })
	if l.run.KernelTime(subject, recording.Window{Start: first, End: last}).Share < leastWorked {
		return part
	}
	return 0
}

// Start values, seconds. [J]
const (
	longestExit = 3   // that a program takes at most to end once its device is done
	longestEnd  = 0.5 // the same of one that has ended, as a share of the time until then
	leastLeft   = 5   // of a window, so that a first batch that was long in coming is no start
)

// cutEdges takes off the window what is no steady part of a run without steps: its first half, as the start cannot be
// told from the rest, and what the device had no work in before that and after it.
func (l filler) cutEdges() {
	l.cutEnd()
	l.From = max(l.From, l.To/2)
	l.cutStart()
}

// cutEnd takes off the window what came after the device's last work, if that was shortly before the end: an end that
// no steps tell from the rest. A program that has ended may take long to do so on a busy machine.
func (l filler) cutEnd() {
	_, last := l.findWorks()
	if ended := l.run.Facts.Exit != nil && l.To-last <= (last-l.From)*longestEnd; ended || l.To-last <= longestExit {
		l.To = last
	}
}

// cutStart takes off it what came before the device's first work, if there was none before.
func (l filler) cutStart() {
	if first, _ := l.findWorks(); l.To-first >= leastLeft {
		l.From = max(l.From, first)
	}
}

// findWorks returns when the judged device first and last worked in the window, about as much as it does there; NaN if
// it did not.
func (l filler) findWorks() (first, last float64) {
	_, subject := l.findGPU()
	kernels := l.run.KernelSeries(subject)
	if kernels == nil {
		return math.NaN(), math.NaN()
	}
	works := stat.Quantile(kernels.Between(l.From, l.To).V, 0.9) / 2
	return findWork(kernels, l.To, func(v float64) bool { return v > 0 && v >= works })
}

// findWork returns when a device first and last worked until a moment; NaN if it did not.
func findWork(kernels *recording.Series, until float64, works func(v float64) bool) (first, last float64) {
	first, last = math.NaN(), math.NaN()
	for i, v := range kernels.V {
		if works(v) && kernels.T[i] <= until {
			if last = kernels.T[i]; math.IsNaN(first) {
				first = last
			}
		}
	}
	return first, last
}

// fillDevice settles stall, idle and shares: its own clock at the input boundary outranks
// utilisation, which is sampled.
func (l filler) fillDevice() {
	l.Shares = diagnose.Shares{Kernel: l.Util, Copy: math.NaN(), Communication: math.NaN(), Idle: math.NaN()}
	if !math.IsNaN(l.Util) {
		l.Idle = 1 - l.Util
		l.estimateCopies()
	}
	if l.HasSteps && !math.IsNaN(l.Costs.Idle) {
		l.Stall, l.StallSource = l.Costs.Idle/l.Costs.Step, diagnose.DeviceEvents
	}
	if math.IsNaN(l.Stall) || math.IsNaN(l.Idle) {
		return
	}
	// Utilisation is sampled: if it claims less idle time than the device's own clock
	// measured at the input boundary alone, the clock is right.
	l.Idle = math.Max(l.Idle, l.Stall)
	if !math.IsNaN(l.Shares.Idle) {
		l.Shares.Idle = l.Idle
		l.Shares.Copy = min(l.Shares.Copy, 1-l.Idle)
		l.Shares.Kernel = 1 - l.Idle - l.Shares.Copy
	}
}

// estimateCopies takes the time of the copies off the time in which no kernel runs: as counters have it,
// else estimated from their bytes. The clock within a step counts what the CPU stages as well.
// With several ranks, communication stays unknown.
func (l filler) estimateCopies() {
	p := l.run.FindProcess(l.Costs.Window.PID)
	if p != nil && p.World > 1 {
		return
	}
	part := l.Costs.Copying
	if copied := l.Costs.MakeBaseline(l.run).Copy; l.HasSteps && p != nil && copied.Known() &&
		(math.IsNaN(part) || !math.IsNaN(l.Costs.Window.Copying())) {
		part = copied.Point / l.Costs.Step
	}
	if math.IsNaN(part) {
		return
	}
	l.Shares.Copy, l.Shares.Communication = min(part, 1-l.Util), 0
	l.Shares.Idle = 1 - l.Util - l.Shares.Copy
	l.Idle = l.Shares.Idle
}

// hidesGPUs says that the machine has GPUs and that the judged process may see none of them.
func (l filler) hidesGPUs() bool {
	p := l.run.FindProcess(l.Costs.Window.PID)
	return l.GPUCount > 0 && p != nil && p.HidesGPUs && p.Device < 0
}

// fillProgram takes the facts of the program and the machine.
func (l filler) fillProgram() {
	facts := &l.run.Facts
	l.IsTraining = l.OnlyRingKnown() || l.HasUnfedSteps
	l.OnlySkips = l.onlySkips()
	seen := recording.ShowLoop(l.run.Steps) || len(facts.Loaders) > 0
	l.TooFewSteps = !l.OnlySkips && !l.HasSteps && !l.HasUnfedSteps && seen
	l.GPUCount = len(facts.GPUs)
	l.HookLoaded = slices.ContainsFunc(facts.Processes, func(p recording.Process) bool { return p.Hooked })
	l.TorchLoaded = facts.Software.Torch != "" || l.HookLoaded && facts.Software.Framework == ""
	l.HookMissing = l.isAbsent("hook")
	l.HoldsDevice = slices.ContainsFunc(facts.Processes, func(p recording.Process) bool { return p.Device >= 0 })
	l.KernelsRecur = l.seesKernelsRecur()
	l.NoPython = len(facts.Processes) == 0 && !l.isAbsent("steps") && len(l.run.All(recording.TreeCPU)) > 0
	if m := facts.Model; m != nil {
		l.Model = &diagnose.ModelFacts{Device: m.Device, DType: m.DType}
	}
	for _, g := range facts.GPUs {
		used := l.run.Find(recording.GPUMemory, fmt.Sprintf("gpu/%d", g.Index)).Mean(l.From, l.To)
		l.DeviceMemoryUsed = append(l.DeviceMemoryUsed, used/stat.Value(g.MemoryBytes))
	}
	l.Ending = diagnose.EndingOf(l.run)
	l.ProgramEvidence = diagnose.AddEvidence(l.Ending.Evidence(), 0, "steps", "step", "%s", l.describeProgram())
}

// A device works again and again if kernels run in most of so many equal parts of the time. [J]
const (
	partsOfTime = 10
	mostParts   = 8
)

// seesKernelsRecur reports whether the judged device works again and again, from the begin to the end.
func (l filler) seesKernelsRecur() bool {
	_, subject := l.findGPU()
	kernels := l.run.KernelSeries(subject).Between(l.From, l.To)
	parts := map[int]bool{}
	for i, t := range kernels.T {
		if kernels.V[i] > 0 {
			parts[min(partsOfTime-1, int(partsOfTime*(t-l.From)/(l.To-l.From)))] = true
		}
	}
	return len(parts) >= mostParts
}

func (l filler) describeProgram() string {
	switch {
	case l.OnlySkips:
		skipped, _ := l.findSkipping()
		return fmt.Sprintf("batches were fetched and thrown away for %s, and nothing was trained with any yet",
			quantity.AboutSeconds(skipped.Seconds))
	case l.NoPython:
		text := fmt.Sprintf("no Python program was among the processes that were watched for %.1f s, and no work on "+
			"a GPU was seen", l.To)
		if used := l.Costs.CoresUse; !math.IsNaN(used) {
			text += ": they used " + quantity.About(used) + " cores"
		}
		return text
	case l.isAbsent("hook") || l.isAbsent("steps"):
		work := "no work"
		if l.Util > 0 {
			work = "next to no work"
		}
		return fmt.Sprintf("the inside of the program was not seen, and %s on a GPU in the %.1f s that "+
			"were recorded", work, l.To)
	case !recording.ShowLoop(l.run.Steps) && len(l.run.Facts.Loaders) == 0:
		return fmt.Sprintf("no DataLoader was iterated and no work on a GPU was seen in the %.1f s that "+
			"were recorded", l.To)
	case !l.HasSteps && len(l.run.Facts.Loaders) == 0:
		return "the loop made too few steps to judge"
	case !l.HasSteps:
		return "a DataLoader was used for too few steps to judge"
	default:
		return "a DataLoader is iterated, but no optimizer steps and no GPU is used"
	}
}
