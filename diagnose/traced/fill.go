package traced

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/quantity"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// FillCase fills a Case whose device was seen by its work, over what live signals told.
// Rules cannot ask for facts that a trace does not hold, such as cores and disks.
func FillCase(c *diagnose.Case, run *recording.Run, gaps *idle.Analysis) {
	c.IsTraining = true // somebody ran a profiler over it
	none := diagnose.Quantity{}
	c.LoadingWaitsForStorage, c.LoadingLacksCores = none, none
	c.QuotaTakesCores, c.OthersTakeCores, c.LaunchingLacksCore = none, none, none
	c.FetchEvidence, c.CoreEvidence = nil, nil
	c.Warnings, c.Doubts = slices.Clone(run.Facts.Notes), slices.Clone(run.Facts.Damage)
	t := chooseDevice(run, gaps)
	if t == nil {
		fillWithoutWork(c, run)
		return
	}
	t.grounds.Loader, t.grounds.Traffic = c.Grounds.Loader, t.findTraffic()
	c.Grounds = t.grounds
	t.fillWindow(c, run)
	t.fillDevice(c)
	t.fillInput(c, run)
	t.fillRest(c, run)
	t.readLongWork()
	c.Rows = t.listRows(run)
	c.RankComparison, c.Findings, c.TooFewSteps = t.describeRanks(), t.findAll(), false
	t.grounds.HostWork.Waits = t.holdsHost() || 2*t.d.LongWork > t.d.Long && t.long.waitsInSystem()
	t.grounds.HostWork.Silent = 2*t.d.LongWork > t.d.Long && t.long.isSilent() && diagnose.IsBare(t.grounds.Framework)
	t.grounds.HostWork.Keeps = 2*t.d.LongAllocator > t.d.Long
	t.grounds.HostWork.Unseen = len(t.t.Frames.Start) == 0 &&
		2*(t.d.Causes[idle.Python]+t.d.Causes[idle.Unrecorded]) > t.d.Idle
	var leftOut string
	if leftOut, t.grounds.HostWork.Before = t.findLeftOut(run); t.grounds.HostWork.Before {
		c.Grounds.Record = "record more steps. If one such step comes again: " + c.Grounds.KeepMemory()
	}
	c.Grounds.HostWork = t.grounds.HostWork
	for i := range c.Findings {
		c.Findings[i] = t.applyGrounds(c.Findings[i])
	}
	c.Warnings = slices.Concat(t.listWarnings(run), run.Facts.Notes)
	c.Doubts = t.listDoubts(run, leftOut)
}

// findDeviceSign is what shows that a program used a device whose work is not in the file: an
// operator that only a GPU runs, else a GPU that the file lists.
func findDeviceSign(run *recording.Run) (sign string, listed bool) {
	h := &run.Timeline.Host
	for i, kind := range h.Kind {
		if name := run.Timeline.Names[h.Name[i]]; kind != recording.Runtime && recording.DeviceSign(name) {
			return name + " runs on a GPU alone", false
		}
	}
	for _, g := range run.Facts.GPUs {
		if g.PeakBytes != nil && *g.PeakBytes > 0 {
			return fmt.Sprintf("tensors took %s of its memory", quantity.AboutBytes(*g.PeakBytes)), false
		}
	}
	if len(run.Facts.GPUs) > 0 {
		return run.Facts.GPUs[0].Name, true
	}
	return "", false
}

// countLaunchCalls is how many calls of the runtime launch work.
func countLaunchCalls(t *recording.Timeline) (n float64) {
	for i, kind := range t.Host.Kind {
		if kind == recording.Runtime && recording.LaunchesWork(t.Names[t.Host.Name[i]]) {
			n++
		}
	}
	return n
}

// fillWindow takes the costs of the judged steps, on the device's clock.
func (t *filler) fillWindow(c *diagnose.Case, run *recording.Run) {
	d := t.d
	c.From, c.To, c.Device, c.Util = toSeconds(d.From), toSeconds(d.To), int(d.Index), t.kernel+d.Share(d.Communication)
	c.UtilFrom, c.Stall, c.StallSource = "", t.parts.Input, diagnose.FromTrace
	if t.parts.Input < loaderTrigger && t.hidesHost() {
		c.Stall, c.StallSource = math.NaN(), diagnose.NoSource
	}
	w := recording.Window{PID: c.Costs.Window.PID, Rank: t.judgedRank(), Start: c.From, End: c.To}
	if c.HasSteps = len(d.Steps) > 0; c.HasSteps {
		first := run.Steps[d.Steps[0].Index]
		w.PID, w.Rank, w.Loader, w.WarmUp = first.PID, first.Rank, first.Loader, d.Seen-len(d.Steps)
	}
	for _, on := range d.Steps {
		s := run.Steps[on.Index]
		s.DevicePeriod = toSeconds(on.To - on.From)
		w.Steps = append(w.Steps, s)
	}
	c.Costs = measure.Measure(run, w)
	c.Costs.Busy, c.Costs.BusyFrom = c.Util, ""
	if c.HasSteps {
		c.Costs.Idle = c.Stall * c.Costs.Step
		c.Costs.Queued = max(0, c.Costs.Wait-c.Costs.Idle)
	}
	t.costs, t.hasSteps = c.Costs, c.HasSteps
}

// hidesHost reports whether the file does not tell what the host did in much of the idle time.
func (t *filler) hidesHost() bool {
	return diagnose.HidesHost(t.d.Share(t.d.Causes[idle.Unlinked]), t.d.Share(t.d.Idle))
}

// ofStart are phases that come once, as a program starts.
var ofStart = []recording.Phase{recording.WarmUp, recording.Compile, recording.Graphs}

// fillDevice takes what the gaps tell.
func (t *filler) fillDevice(c *diagnose.Case) {
	d, k := t.d, t.kernels
	c.Shares = diagnose.Shares{
		Kernel: t.kernel, Copy: d.Share(d.Copy), Communication: d.Share(d.Communication),
		Idle: d.Share(d.Idle),
	}
	c.Idle = c.Shares.Idle
	c.WorksRecorded, c.WorksJudged, c.IsStartUp, c.Parts = float64(len(t.t.Device.Start)), float64(d.Works),
		d.StartUp && d.Apart == "" || slices.Contains(ofStart, d.Apart), t.parts
	c.InsteadOfSteps, c.IsTrial, c.Glimpse = string(d.Apart), t.isTrial(), t.measureGlimpse()
	all := float64(max(1, k.Time))
	moving := k.Family[idle.Elementwise] + k.Family[idle.Reduction] + k.Family[idle.Fused] + k.Family[idle.Moving]
	if 2*k.SmallFor > k.Time { // kernels that leave most of the device empty do not fill its memory's rate
		moving = -k.Vector
	}
	c.Kernels = diagnose.KernelShares{
		Plain: float64(k.Plain) / all, Tensor: float64(k.Tensor) / all, Major: t.major,
		Moving: float64(moving+k.Vector) / all, Vector: float64(k.Vector) / all,
	}
	c.Recorder = t.recorder
	c.Once = diagnose.Once{
		Compiles: d.Share(d.Compiles), Allocates: d.Share(d.Allocates), Meets: t.parts.Exchange,
		SetsUp: d.Share(d.Causes[idle.WarmUp] - d.Compiles - d.Allocates - d.Around), Around: d.Share(d.Around),
	}
	c.RankLateBy, c.Causes, c.GapEvidence = t.measureLate(), t.listCauses(), t.describeGaps()
	c.WarmUpEvidence = t.describePlace(idle.WarmUp)
	for _, place := range t.d.Places {
		if gap := place.To - place.From; 2*gap > t.d.Idle {
			c.LoneGap = toSeconds(gap)
		}
	}
}

// A few pieces of work tell what limits a program if they take long and the device does little else. [J]
// Copies and kernels that only try something take a millisecond, and 0.9 is where gpu-bound is certain.
const (
	longTrial = 40e6 // ns of work
	fullTrial = 0.9  // of the window
)

// isTrial reports whether the window holds so little work that it tells nothing of the program.
func (t *filler) isTrial() bool {
	busy := t.d.Busy()
	return t.measureGlimpse() > 0 ||
		t.d.Works < diagnose.FewWorks && !(busy >= longTrial && t.d.Share(busy) >= fullTrial)
}

// leastGlimpse is the share of a recording that a window without steps takes at least, if several devices worked, for
// it to tell of the program. [J] A twentieth: what the others do and wait for is in the rest.
const leastGlimpse = 0.05

// measureGlimpse is the share of a recording of several devices that the judged one's window takes, if it shows no
// steps and is less than that; else 0.
func (t *filler) measureGlimpse() float64 {
	all := t.t.End - t.t.Start
	if len(t.all.Devices) < 2 || len(t.d.Steps) > 1 || all <= 0 {
		return 0
	}
	if share := float64(t.d.WindowLength()) / float64(all); share < leastGlimpse {
		return share
	}
	return 0
}

// fillInput takes what rules about input ask: from here on of gaps in the loader.
func (t *filler) fillInput(c *diagnose.Case, run *recording.Run) {
	none := diagnose.Quantity{}
	c.InputShortBeside, c.WorkersSaturated, c.LaunchThreadAtWork = none, none, none
	c.InputShort = diagnose.AskShare("Does the device wait for input (gaps in the trace inside the loader)?", c.Stall,
		diagnose.InputStall,
		"loading that no loader's span marks is charged to Python").
		WithEvidence(c.Stall, "ratio", "trace.data-loader",
			"the device waits for input %s of the window: %s in gaps while the loop is inside its loader",
			quantity.Percent(c.Stall), quantity.AboutSeconds(c.Stall*(c.To-c.From)))
	if t.hasSteps {
		c.InputShort = c.InputShort.WithEvidence(t.costs.Wait, "seconds", "step.wait",
			"the loop is inside its loader %s of a %s step, and work queued on the device covers %s of it",
			quantity.AboutSeconds(t.costs.Wait), quantity.AboutSeconds(t.costs.Step),
			quantity.AboutSeconds(t.costs.Queued))
	}
	c.InputShort.Evidence = slices.Concat(c.InputShort.Evidence, c.GapEvidence, t.describePlace(idle.DataLoader))
	c.LaunchThreadLoads, c.WorkersLoad = t.askLoading(run)
	t.itself = c.LaunchThreadLoads.Score
}

// fillRest takes what the other rules ask.
func (t *filler) fillRest(c *diagnose.Case, run *recording.Run) {
	own := t.kernel + t.d.Share(t.d.Copy-t.d.Crossing)
	busy := diagnose.DeviceAtWork
	// next to nothing else takes the rest: it is work of the device's, too
	if !c.Parts.LoseTimeBeside(t.parts.Copies) && t.parts.Exchange < diagnose.LittleAtAll {
		busy = diagnose.DeviceAtWorkAlone
	}
	c.DeviceBusy = diagnose.AskShare("Does the device do work of its own nearly all the time?", own, busy, "")
	leads := t.parts.ScoreDeviceLead(own)
	if leads > c.DeviceBusy.Score && t.pacesSteps(run) {
		leads = 0
	}
	c.Paced = c.DeviceBusy.Score+leads > 0 && t.keepsPace(run)
	c.Replay = t.played
	unled := 1 - leads // of copies: those that take less than a faster device brings limit nothing
	// A short wait for input limits nothing where a faster device brings more.
	c.InputShort.Score *= 1 - leads*(1-diagnose.InputBesideDevice.Score(t.parts.Input))
	if leads > c.DeviceBusy.Score {
		c.DeviceBusy = diagnose.AskShare(diagnose.AskDeviceLead, own, diagnose.DeviceLeads.AtNo(), "")
		c.DeviceBusy.Score = leads
	}
	c.DeviceBusy = c.DeviceBusy.
		WithEvidence(t.kernel, "ratio", "trace.kernel", "kernels run %s of the window (median %s, %d of them)",
			quantity.Percent(t.kernel), quantity.AboutSeconds(toSeconds(t.kernels.Median)), t.kernels.Count).
		WithEvidence(t.kernel, "ratio", "trace.kernels", "of kernel time: %s", t.describeFamilies())
	c.DeviceWaitsForLaunch = diagnose.AskShare("Does the device wait for the next launch, in gaps below "+
		diagnose.LongGapText+"?", t.parts.Host, diagnose.HostGaps, "").
		WithEvidence(t.parts.Host, "ratio", "trace.host",
			"the device waits for the host to launch %s of the window, %d kernels of %s median%s",
			quantity.Percent(t.parts.Host), t.kernels.Count, quantity.AboutSeconds(toSeconds(t.kernels.Median)),
			t.describeLongBeside())
	c.LaunchOutlastsKernel = diagnose.AskShare("Are kernels shorter than a launch (median, of 10 us)?",
		t.measureShortness(),
		diagnose.ShortKernel, "long kernels hide launches only while the host runs ahead")
	c.DeviceWaitsInLongGaps = diagnose.AskShare("Does the device wait for the host in gaps of "+diagnose.LongGapText+
		" and more?", t.parts.Long, diagnose.HostGaps, "").
		WithEvidence(t.parts.Long, "ratio", "trace.host",
			"the device waits for the host %s of the window in gaps of %s%s%s", quantity.Percent(t.parts.Long),
			t.describeLongGaps(), t.describeHeldHost(), t.leaveOutRecorder())
	for _, q := range []*diagnose.Quantity{&c.DeviceWaitsForLaunch, &c.DeviceWaitsInLongGaps} {
		q.Score *= 1 - c.DeviceBusy.Score // the gaps of a device that works nearly all the time limit nothing
	}
	held := t.d.Share(t.d.Causes[idle.DeviceWait])
	holds := diagnose.HoldsQueue(held, c.Idle)
	if holds { // what was launched does not start
		c.InputShort.Score, c.DeviceWaitsForLaunch.Score, c.DeviceWaitsInLongGaps.Score = 0, 0, 0
	}
	c.CollectivesRunAlone = diagnose.AskShare("Do collectives run without computation beside them?", t.parts.Exchange,
		diagnose.ExchangeAlone, "").
		WithEvidence(t.parts.Exchange, "ratio", "trace.communication",
			"collectives run alone or are waited for %s of the window%s", quantity.Percent(t.parts.Exchange),
			t.describeOpening())
	if holds && held > t.parts.Exchange { // they wait for devices that somebody else holds, too
		c.CollectivesRunAlone.Score = 0
	}
	c.CopiesTakeTime, c.RoomForCopies = t.askCopies(), diagnose.Quantity{}
	c.CopiesTakeTime.Score *= unled
	c.OneRankLate = t.askOneRankLate()
	for _, q := range []*diagnose.Quantity{
		&c.DeviceBusy, &c.DeviceWaitsForLaunch, &c.DeviceWaitsInLongGaps,
		&c.CollectivesRunAlone, &c.CopiesTakeTime, &c.OneRankLate,
	} {
		q.Evidence = slices.Concat(q.Evidence, c.GapEvidence)
	}
	short, long := worstCause(&t.d.Short), worstCause(&t.d.Places)
	c.DeviceWaitsForLaunch.Evidence = slices.Concat(c.DeviceWaitsForLaunch.Evidence,
		t.describeGap(t.d.Short[short], short))
	c.DeviceWaitsInLongGaps.Evidence = slices.Concat(c.DeviceWaitsInLongGaps.Evidence,
		t.describeGap(t.d.Places[long], long))
}

// measureShortness is how short the median kernel is, 1 where a launch outlasts it; NaN
// without kernels.
func (t *filler) measureShortness() float64 {
	if t.kernels.Count == 0 {
		return math.NaN()
	}
	return min(1, shortKernel/max(1e-9, toSeconds(t.kernels.Median)))
}

// describeCopies says what crosses the link, the direction that takes more time first.
func describeCopies(down, up idle.Direction) string {
	type way struct {
		idle.Direction
		to string
	}
	ways := []way{{down, "device"}, {up, "host"}}
	if up.Alone > down.Alone {
		slices.Reverse(ways)
	}
	text := ""
	for i, w := range ways {
		if w.Alone <= 0 {
			break
		}
		took := quantity.AboutSeconds(toSeconds(w.Alone))
		if i == 0 {
			text = fmt.Sprintf("%d cop%s to the %s take%s %s while no kernel runs", w.Count,
				quantity.Ending(w.Count, "y", "ies"), w.to, quantity.Ending(w.Count, "s", ""), took)
		} else {
			text += fmt.Sprintf(", %d to the %s %s", w.Count, w.to, took)
		}
		if w.Bytes > 0 {
			text += fmt.Sprintf(" (%s at %s)", quantity.AboutBytes(float64(w.Bytes)), quantity.AboutRate(w.Rate()))
		}
	}
	return text
}

// askCopies is whether copies over the host's link that nothing covers take the window.
func (t *filler) askCopies() diagnose.Quantity {
	part, down, up := t.parts.Copies, t.copies.ToDevice, t.copies.ToHost
	q := diagnose.AskShare("Do copies between host and device run while no kernel does?", part, diagnose.CopyTime, "").
		WithEvidence(part, "ratio", "trace.copy",
			"copies between host and device run alone or are being issued %s of the window", quantity.Percent(part))
	if said := describeCopies(down, up); said != "" {
		q = q.WithEvidence(max(down.Rate(), up.Rate()), "bytes/s", "trace.copies", "%s", said)
	}
	if n := t.copies.Pageable.Count; n > 0 {
		q = q.WithEvidence(float64(n), "copies", diagnose.SignalPageable,
			"%d large cop%s to the device come%s from pageable memory: %s", n, quantity.Ending(n, "y", "ies"),
			quantity.Ending(n, "s", ""),
			t.grounds.Staging("staged by the CPU, and the launching thread waits"))
	}
	return q
}
