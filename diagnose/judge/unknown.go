package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/live"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
)

// cutEvidence says that a recording is cut before its steps.
func cutEvidence(c *diagnose.Case) []diagnose.Evidence {
	if !math.IsNaN(c.WorksRecorded) || len(c.Doubts) == 0 || c.Grounds.Record == "" {
		return nil
	}
	return diagnose.AddEvidence(nil, 0, "steps", "step", "the file is cut before enough steps to judge: whether the "+
		"program trains is not known")
}

// withoutWork says why nothing was decided of a trace that holds no work of a device.
func withoutWork(c *diagnose.Case) []diagnose.Evidence {
	switch {
	case len(c.HostInput) > 0:
		return c.HostInput
	case len(c.HostReceives) > 0:
		return c.HostReceives
	case len(c.Doubts) > 0:
		return diagnose.AddEvidence(nil, 0, "events", "trace.device",
			"the file is damaged, and what is left of it holds no work of a device: whether the program computes on one "+
				"is not known")
	case c.LaunchCalls > 0:
		return diagnose.AddEvidence(nil, c.LaunchCalls, "calls", "trace.launches",
			"the trace holds %.0f launch%s of work on a device, and none of that work: the profiler was asked for the "+
				"device, as it has the calls, and did not get it in time or at all",
			c.LaunchCalls, quantity.Ending(c.LaunchCalls, "", "es"))
	case c.DeviceSign != "" && (c.ModelComputes || !c.DeviceListed):
		return diagnose.AddEvidence(nil, 0, "events", "trace.device", "%s", sayUnrecorded(c))
	case !c.ModelComputes && c.DeviceTraced:
		return diagnose.AddEvidence(nil, 0, "events", "trace.device",
			"the recorder was asked for the device's calls and holds none: the program did not use the device meanwhile, or "+
				"another process did")
	case !c.ModelComputes:
		return diagnose.AddEvidence(nil, 0, "events", "trace.device",
			"the trace holds no work of a device and no operator of a model: nothing tells what computes")
	}
	return diagnose.AddEvidence(nil, 0, "events", "trace.device",
		"the trace holds no work of a device, so that its idle time is not known: either the model computes on "+
			"the CPU, or the profiler was not asked for the device")
}

// unknownEvidence says why nothing was decided.
func unknownEvidence(c *diagnose.Case, scores []diagnose.Score) []diagnose.Evidence {
	switch {
	case c.WorksRecorded == 0:
		return slices.Concat(withoutWork(c), c.HostLoading)
	case c.InsteadOfSteps != "":
		return slices.Concat(diagnose.AddEvidence(nil, c.Shares.Kernel, "ratio", "trace.kernel",
			"all that was recorded is %s: it says nothing about steady steps (record later ones)", c.InsteadOfSteps),
			c.GapEvidence)
	case c.OnlyRingKnown():
		return ringEvidence(c)
	}
	out := cutEvidence(c)
	if lost := sumUnlinked(c.Causes); diagnose.HidesHost(lost, c.Idle) {
		out = diagnose.AddEvidence(out, lost, "ratio", "trace.unlinked",
			"the device is idle %s of the window, and %s of it passes before work that the file links to no launch",
			quantity.Percent(c.Idle), quantity.Percent(lost/c.Idle))
	}
	if c.TooFewSteps {
		out = append(out, c.ProgramEvidence...)
	}
	switch {
	case c.Glimpse > 0 && math.IsNaN(c.WorksJudged):
		out = diagnose.AddEvidence(out, c.Glimpse, "ratio", "run",
			"the judged steps take %s of the run, and the device idles most of the rest: what the program does there is not "+
				"known. If processes start again and again, as a server's workers, each takes its start's time",
			quantity.Percent(c.Glimpse))
	case c.Glimpse > 0:
		out = diagnose.AddEvidence(out, c.Glimpse, "ratio", diagnose.SignalGlimpse,
			"the device that is judged works in %s of the recording, and others worked as well: what the program waits "+
				"for in the rest is not known",
			quantity.Percent(c.Glimpse))
	case c.IsTrial:
		out = diagnose.AddEvidence(out, c.WorksJudged, "kernels", "trace.device",
			"only %.0f piece%s of device work %s recorded: too few to judge", c.WorksJudged,
			quantity.Ending(c.WorksJudged, "", "s"), quantity.Ending(c.WorksJudged, "was", "were"))
	}
	for _, e := range c.CopiesTakeTime.Evidence {
		if c.IsTrial && c.Shares.Copy >= diagnose.NamedInTrace && e.Signal == diagnose.SignalPageable {
			out = append(out, e)
		}
	}
	if !math.IsNaN(c.WorksJudged) {
		out = diagnose.AddEvidence(out, c.Shares.Kernel, "ratio", "trace.kernel",
			"kernels run %s of the window, copies alone %s, communication alone %s",
			quantity.Percent(c.Shares.Kernel), quantity.Percent(c.Shares.Copy),
			quantity.Percent(c.Shares.Communication))
	} else if lost := measureUnexplained(c, diagnose.Unknown); lost > diagnose.Unexplained && !math.IsNaN(c.Stall) {
		out = diagnose.AddEvidence(out, lost, "ratio", c.MeterSignal(),
			"the device is idle %s of the time, and waits for input %s: suspect launching, synchronising or "+
				"copying. A profiler trace tells which%s",
			quantity.Percent(c.Idle), quantity.Percent(c.Stall), takenByItself(c.Grounds.Framework))
	}
	if c.ExchangeUntimed.IsLikely() {
		out = append(out, c.ExchangeUntimed.Evidence...)
	}
	out = slices.Concat(out, c.CoreEvidence, c.GapEvidence)
	if scores[0].Value >= rules.LeastScore {
		out = diagnose.AddEvidence(out, scores[0].Value-scores[1].Value, "ratio", diagnose.SignalScores,
			"%s (%.2f) and %s (%.2f) fit about equally well",
			scores[0].Class, scores[0].Value, scores[1].Class, scores[1].Value)
	}
	if math.IsNaN(c.Util) && math.IsNaN(c.Stall) {
		out = append(out, diagnose.Evidence{Text: "what the device did is unknown: no GPU could be read, nor the " +
			"device's clock", Signal: "none", Value: math.NaN()})
	}
	if c.LaunchThreadTime != "" {
		out = append(out, diagnose.Evidence{Text: c.LaunchThreadTime, Signal: "thread.state", Value: math.NaN()})
	}
	return append(out, c.LineEvidence()...)
}

// sumUnlinked is the share of idle time before work of unknown launch.
func sumUnlinked(causes []diagnose.Cause) (share float64) {
	for _, c := range causes {
		if c.Cause == idle.Unlinked.String() {
			share += c.Share
		}
	}
	return share
}

// sayUnrecorded says that a device was used, or could be, and that its work is not in the trace.
func sayUnrecorded(c *diagnose.Case) string {
	if c.DeviceListed {
		return fmt.Sprintf("the trace lists %s and holds none of its work: whether the program computes on it is not "+
			"known", c.DeviceSign)
	}
	return fmt.Sprintf("the GPU was used and not recorded: %s, and the trace holds no work of a device", c.DeviceSign)
}

// takenByItself says that a trace comes without being asked for, of PyTorch.
func takenByItself(framework string) string {
	if framework == "" {
		return " (stoker observe takes a short one by itself)"
	}
	_, command := diagnose.TakeTrace(framework)
	return " (" + command + ")"
}

// ringEvidence says what the loader's own side tells where that names no ailment.
func ringEvidence(c *diagnose.Case) []diagnose.Evidence {
	f, waits := c.Costs.Feed, c.RingWait()
	var list []diagnose.Evidence
	if waits < littleWait {
		list = diagnose.AddEvidence(list, waits, "ratio", "step.wait",
			"the loader keeps up: the trainer waits for batches %s of the time. Faster input is worth nothing, "+
				"stoker observe also looks at the device, and tells what limits the trainer", quantity.Percent(waits))
	} else {
		list = diagnose.AddEvidence(list, waits, "ratio", "step.wait",
			"the trainer waits for batches %s of the time, and its device may have had work meanwhile (stoker "+
				"observe tells)", quantity.Percent(waits))
	}
	list = diagnose.AddEvidence(list, f.Full, "ratio", "feed.full", "the loader's ring is full %s of the time",
		quantity.Percent(f.Full))
	return slices.Concat(list, c.ThreadEvidence())
}

// littleWait is the share of the time below which the host's wait for batches says
// how little the device can have waited; a longer one may be covered.
const littleWait = 0.03

// standsOut returns the class of a finding that has much of a live run's steps where no rule decides, and its evidence.
func standsOut(c *diagnose.Case) (diagnose.Class, []diagnose.Evidence) {
	if held := findHeld(c); held != nil {
		return diagnose.CPUBound, held
	}
	for _, f := range c.Findings {
		copied := f.Name == diagnose.FindingHostTensors || f.Name == diagnose.FindingPageableCopies
		if copied && f.Share >= live.HeldSaves && f.Share >= c.Idle {
			signal := diagnose.SignalPageable
			if f.Name == diagnose.FindingHostTensors {
				signal = diagnose.SignalHostTensors
			}
			return diagnose.TransferBound, diagnose.AddEvidence(nil, f.Share, "ratio", signal, "%s", f.Text)
		}
		if f.Name == diagnose.FindingLaunchBound && f.Share >= live.HeldMuch {
			return diagnose.LaunchBound, diagnose.AddEvidence(nil, f.Share, "ratio", "step.launches", "%s", f.Text)
		}
	}
	return diagnose.Unknown, nil
}

// mostRestarts is the share of a run that a bound is drawn for. [J] The rest was not measured as well.
const mostRestarts = 0.9

// restarting returns the evidence that processes start again and again for much of a run; nil if they do not.
func restarting(c *diagnose.Case) []diagnose.Evidence {
	r := c.Restarts
	if !(r.Share >= live.HeldMuch) {
		return nil
	}
	of := "all"
	if r.Imports < r.Count {
		of = fmt.Sprintf("%d of them, as far as is known,", r.Imports)
	}
	return diagnose.AddEvidence(nil, r.Share, "ratio", diagnose.SignalRestarts,
		"%d processes start one after another, and %s import PyTorch at %s:%d. From their starts to their first passes (to "+
			"their ends without one) they take %s of the run", r.Count, of, r.At.File, r.At.Line, quantity.Percent(r.Share))
}

// findHeld returns the evidence that the launching thread of a live run is held, by the device or by other threads of
// its process; nil if that is not much of its steps.
func findHeld(c *diagnose.Case) []diagnose.Evidence {
	if c.Requests.Known() {
		return nil // an answer needs its pass: a server awaits the device, and may have no other request
	}
	for _, f := range c.Findings {
		switch {
		case f.Name == diagnose.FindingInterpreterLock:
			return heldByInterpreter(f)
		case f.Name == diagnose.FindingHiddenSync && f.Share >= live.HeldMuch && f.Saves >= live.HeldSaves:
			return diagnose.AddEvidence(nil, f.Share, "ratio", diagnose.SignalHeld, "%s", f.Text)
		case f.Name == diagnose.FindingManyReads && f.Share >= live.HeldMuch &&
			c.Idle-stat.Or(c.Stall, 0) >= live.HeldSaves:
			return diagnose.AddEvidence(nil, f.Share, "ratio", diagnose.SignalHeld, "%s: %s of the time at most",
				f.Text, quantity.Percent(c.Idle-stat.Or(c.Stall, 0)))
		}
	}
	if held := heldByRanks(c); held != nil {
		return held
	}
	if held := heldByAnswer(c); held != nil {
		return held
	}
	return heldAtLine(c)
}

// ofAnswers are kinds of lines on which a thread sleeps until something else than its device answers.
var ofAnswers = []diagnose.Kind{
	diagnose.Uploading, diagnose.Queries, diagnose.Subprocess, diagnose.Disk, diagnose.Locking, diagnose.Rewarding,
	diagnose.Logging,
}

// heldByAnswer returns the evidence that the launching thread of a run without steps sleeps for an answer at one line
// of the program for most of the time in which the device idles.
func heldByAnswer(c *diagnose.Case) []diagnose.Evidence {
	if c.HasSteps || c.HasUnfedSteps || !(c.LoopLines.Looks >= diagnose.FewLooks) || !(c.Idle >= idleWhileHeld) {
		return nil
	}
	forDevice := c.LoopLines.SecondsOf(diagnose.DeviceWait) / c.LoopLines.Seconds
	for _, line := range c.LoopLines.Lines {
		waits := slices.Contains(ofAnswers, line.Kind) && line.Own.File != "" && line.Asleep > line.Seconds/2
		if line.Kind == diagnose.Locking { // what another thread makes may come while the device works
			waits = waits && line.Share.Point-max(0, 1-c.Idle-forDevice) >= c.Idle/2
		}
		if waits && line.Share.Low >= partlyHeld && line.Share.Point >= c.Idle/2 {
			return diagnose.AddEvidence(nil, line.Share.Point, "ratio", "thread.state",
				"the launching thread waits in %s of its stack samples at %s, and the device idles %s of the time",
				diagnose.WholePercent(line.Share.Point), line.Line, quantity.Percent(c.Idle))
		}
	}
	return nil
}

// heldByRanks returns the evidence that a rank of whose job no step was seen mostly waits for the others at one line of
// the program, and its device idles.
func heldByRanks(c *diagnose.Case) []diagnose.Evidence {
	line, found := c.LoopLines.FirstOf(diagnose.Collective)
	forRanks := c.LoopLines.SecondsOf(diagnose.Collective) / c.LoopLines.Seconds
	forDevice := c.LoopLines.SecondsOf(diagnose.DeviceWait) / c.LoopLines.Seconds
	much := line.Share.Low >= partlyHeld || line.Share.Low >= idleWhileHeld && line.Share.Point >= c.Idle/2 ||
		// all other waits are for the device's own work
		line.Share.Low >= leastHeld && forRanks >= c.Idle/2 && forDevice <= 1-c.Idle+leastHeld
	if !c.SeveralRanks || c.HasSteps || c.HasUnfedSteps || !found || line.Own.File == "" ||
		!(c.LoopLines.Looks >= diagnose.FewLooks) || !much || !(c.Idle >= idleWhileHeld) {
		return nil
	}
	return diagnose.AddEvidence(nil, line.Share.Point, "ratio", diagnose.SignalRanks,
		"the launching thread waits for the other ranks in %s of its stack samples at %s, and the device idles %s "+
			"of the time",
		diagnose.WholePercent(line.Share.Point), line.Line, quantity.Percent(c.Idle))
}

// heldAtLine returns the same evidence if no step was seen: the launching thread is mostly blocked by a device that
// idles much, at one line of the program or at a few, or at several that take longer in all than the device works.
func heldAtLine(c *diagnose.Case) []diagnose.Evidence {
	line, found := c.LoopLines.FirstOf(diagnose.DeviceWait)
	if c.HasSteps || c.HasUnfedSteps || !found || !(c.LoopLines.Looks >= diagnose.FewLooks) ||
		!(c.Idle >= idleWhileHeld) {
		return nil
	}
	if line.Share.Low < mostlyHeld {
		waits := c.LoopLines.SecondsOf(diagnose.DeviceWait) / c.LoopLines.Seconds
		line, found = c.LoopLines.ShortWaits()
		if !found || line.Share.Low < partlyHeld || waits-(1-c.Idle) < idleWhileHeld {
			return heldAtLines(c)
		}
	}
	if line.Own.File == "" {
		return nil
	}
	return diagnose.AddEvidence(nil, line.Share.Point, "ratio", diagnose.SignalHeld,
		"the launching thread waits for the device in %s of its stack samples at %s: at each such wait nothing else "+
			"is queued, and the device idles until the host has launched again, %s of the time",
		diagnose.WholePercent(line.Share.Point), line.Line, quantity.Percent(c.Idle))
}

// heldInstead returns the evidence that a launching thread, which seems to work while the device idles, waits: for the
// interpreter lock, or for the device, with which its work could overlap. nil if it does not.
func heldInstead(c *diagnose.Case) []diagnose.Evidence {
	for _, f := range c.Findings {
		if f.Name == diagnose.FindingInterpreterLock {
			return heldByInterpreter(f)
		}
	}
	if c.SeveralRanks || worksAtLine(c) {
		return nil
	}
	return heldAtLine(c)
}

// heldByInterpreter returns the evidence of the finding that the interpreter lock holds the launching thread.
func heldByInterpreter(f diagnose.Finding) []diagnose.Evidence {
	return diagnose.AddEvidence(nil, f.Share, "ratio", diagnose.SignalInterpreter, "%s", f.Text)
}

// worksAtLine reports whether one function of the program works for half of the device's idle time, so that it is what
// to make cheaper. Otherwise the work is spread out, and could overlap with the device's.
func worksAtLine(c *diagnose.Case) bool {
	_, most := diagnose.BusiestFunction(c.LoopLines.Lines, func(line diagnose.LoopLine) bool {
		return line.Own.File != "" && line.Kind != diagnose.DeviceWait
	})
	return most >= c.Idle/2*c.LoopLines.Seconds
}

// heldAtLines returns the same evidence of the program's lines that are each worth a word.
func heldAtLines(c *diagnose.Case) []diagnose.Evidence {
	share, at := waitsOfLines(c.LoopLines.Lines)
	if at == "" || share.Low < partlyHeld || share.Point < mostlyHeld || c.Idle < idleWhileHeld+leastHeld {
		return nil
	}
	return diagnose.AddEvidence(nil, share.Point, "ratio", diagnose.SignalHeld,
		"the launching thread waits for the device in %s of its stack samples, at %s: at each such wait nothing else "+
			"is queued, and the device idles until the host has launched again, %s of the time",
		diagnose.WholePercent(share.Point), at, quantity.Percent(c.Idle))
}

// waitsOfLines returns the share of the samples in which the thread waits for the device on the program's lines that
// are each worth a word, and these lines; "" if there is one or none.
func waitsOfLines(lines []diagnose.LoopLine) (share stoker.Interval, at string) {
	var said []string
	for _, line := range lines {
		if line.Kind == diagnose.DeviceWait && line.Own.File != "" && line.Share.Point >= leastHeld &&
			len(said) < diagnose.LinesSaid {
			share.Low, share.Point = share.Low+line.Share.Low, share.Point+line.Share.Point
			said = append(said, line.String())
		}
	}
	if len(said) < 2 {
		return share, ""
	}
	return share, strings.Join(said, ", and ")
}

// The shares of the launching thread's samples, and of the device's idle time, from which heldAtLine has evidence. [J]
const (
	mostlyHeld    = 0.5
	partlyHeld    = 0.25
	leastHeld     = 0.1 // of one of several lines
	idleWhileHeld = 0.2
)
