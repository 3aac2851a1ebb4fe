package live

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values [J]: a fifth of the time, and a clock below 92 % of the highest, so that
// full speed is worth a tenth or so at least.
const (
	slowedShare = 0.2
	slowedClock = 0.92
)

// fillSurroundings takes what rules ask about the device and its place: its clock, who else uses it, the other
// ranks, whether it computes all the time.
func (l filler) fillSurroundings() {
	l.ClockHeldDown, l.DeviceShared = l.askClockHeldDown(), l.askDeviceShared()
	l.compareRanks()
	l.DeviceBusy = l.askDeviceBusy()
}

// askClockHeldDown is whether heat or the board's protection keeps the judged device's clock down.
func (l filler) askClockHeldDown() diagnose.Quantity {
	g, subject := l.findGPU()
	reasons := l.run.Find(recording.GPUSlowed, subject).Between(l.From, l.To)
	if g == nil || g.MaxClock == nil || len(reasons.V) == 0 {
		return diagnose.Quantity{}
	}
	l.ClockShare = l.run.Find(recording.GPUClock, subject).Mean(l.From, l.To) / *g.MaxClock
	heat, hardware := 0.0, 0.0
	for _, v := range reasons.V {
		if r := recording.Slowed(v); r&recording.ByHeat != 0 {
			heat++
		} else if r&recording.ByHardware != 0 {
			hardware++
		}
	}
	n := float64(len(reasons.V))
	why := "because it is too hot"
	if hardware > heat {
		why = "because its board protects itself (power supply, external brake)"
	}
	share := (heat + hardware) / n
	answer := fmt.Sprintf("%s of the time, at %s of its highest clock", quantity.Percent(share),
		quantity.Percent(l.ClockShare))
	return diagnose.AskFact("Is the device's clock held down by heat or its board?",
		share >= slowedShare && l.ClockShare < slowedClock, answer).
		WithEvidence(share, "ratio", string(recording.GPUSlowed), "the device slows itself down %s of the time %s",
			quantity.Percent(share), why).
		WithEvidence(l.ClockShare, "ratio", string(recording.GPUClock),
			"its clock is %s of the highest: without that, kernels would take %.2fx less at most",
			quantity.Percent(l.ClockShare), 1/l.ClockShare)
}

// sharedTime is the share of the device's time that others take from which it is theirs
// as well. [J]
const sharedTime = 0.1

// askDeviceShared is whether processes outside the job compute on the judged device.
func (l filler) askDeviceShared() diagnose.Quantity {
	_, subject := l.findGPU()
	l.OtherJobsShare = l.run.Find(recording.GPUOthers, subject).Mean(l.From, l.To)
	if !(l.OtherJobsShare >= 0) {
		return diagnose.Quantity{}
	}
	strangers := l.run.Find(recording.GPUStrangers, subject).Mean(l.From, l.To)
	return diagnose.AskFact("Do programs outside the job compute on the device?", l.OtherJobsShare >= sharedTime,
		quantity.Percent(l.OtherJobsShare)+" of its time").
		WithEvidence(l.OtherJobsShare, "ratio", string(recording.GPUOthers),
			"kernels of other programs run %s of the time: what is said of the device's utilisation counts theirs",
			quantity.Percent(l.OtherJobsShare)).
		WithEvidence(strangers, "processes", string(recording.GPUStrangers),
			"%s process%s outside this job hold the device", quantity.About(strangers),
			quantity.Ending(int(strangers+0.5), "", "es"))
}

// findStrangers tells of processes that hold the device without a word on their use of it.
func (l filler) findStrangers() (diagnose.Finding, bool) {
	_, subject := l.findGPU()
	n := l.run.Find(recording.GPUStrangers, subject).Mean(l.From, l.To)
	if l.DeviceShared.CanBeAsked() || !(n >= diagnose.AStranger) {
		return diagnose.Finding{}, false
	}
	return diagnose.NewTextFinding(diagnose.FindingSharedGPU,
		fmt.Sprintf("%s process%s outside this job hold the device. How much they compute on it is unknown, and "+
			"its utilisation counts their kernels as well",
			quantity.About(n), quantity.Ending(int(n+0.5), "", "es"))), true
}

// askDeviceBusy is whether the device computes all the time.
func (l filler) askDeviceBusy() diagnose.Quantity {
	unknown := diagnose.UnknownScore
	if l.OnlyRingKnown() { // the loader's own side does not tell the device from other work of the trainer
		unknown = diagnose.Unlikely
	}
	q := diagnose.AskShareOr(unknown, "Does some kernel run nearly all the time?", l.Util, diagnose.DeviceBusy, "").
		AddMeter(l.Case, l.Util, "some kernel runs %s of the time", quantity.Percent(l.Util)).
		WithEvidence(l.Stall, "ratio", "step.idle", "the device waits for input %s of the time, by its own clock",
			quantity.Percent(l.Stall))
	q.Score *= 1 - l.CollectivesRunAlone.Score // a kernel that is waiting for other ranks counts as running
	if wait := l.Costs.Wait / l.Costs.HostStep; wait > diagnose.CoveredWait && l.Stall < diagnose.CoveredStall {
		q = q.WithEvidence(wait, "ratio", "step.wait",
			"the host waits %s of its time in next(), but work queued on the device covers it: host wait is "+
				"not starvation", quantity.Percent(wait))
	}
	return q
}

// askCountedCopies is whether copies take a good part of the time, by the device's counters.
func (l filler) askCountedCopies() diagnose.Quantity {
	part := l.Costs.Copying
	q := diagnose.AskShare("Do copies take a good part of the time?", part, diagnose.CopyTime, "").
		WithEvidence(part, "ratio", string(recording.GPUKernels),
			"the device copies %s of the time, while no kernel runs: GPU-Util counts both, and a counter the kernels "+
				"alone",
			quantity.Percent(part))
	return l.addLinkRate(q)
}

// stages is how much of its time a thread that stages copies is on a core. [J]
const stages = 0.75

// askStagedCopies is whether copies from pageable memory keep the launching thread busy, in a run without the
// hook whose samples find that thread outside of fetches. The CPU stages such copies, so that the device's counters
// show a seventh of their time.
func (l filler) askStagedCopies() diagnose.Quantity {
	in, slowest := l.measureLink(recording.GPULinkIn), measure.MachineOf(l.run).Link.Pageable[0].Value
	if l.HasSteps || !l.inputRests() || !(in > 0) || !(slowest > 0) || l.measureWhereabouts().OnCore < stages {
		return diagnose.Quantity{}
	}
	q := diagnose.AskShare("Would copies from pageable memory fill the time in which no kernel runs?",
		min(1, in/slowest/l.Idle), diagnose.StagedCopies, "other work of the launching thread may have it as well").
		WithEvidence(in, "bytes/s", string(recording.GPULinkIn),
			"PCIe brings %s/s to the device: from pageable memory, at %s/s and more, that takes %s of the time at most",
			quantity.AboutBytes(in), quantity.AboutBytes(slowest), quantity.Percent(min(1, in/slowest))).
		AddMeter(l.Case, l.Idle, "no kernel runs %s of the time, and the launching thread is on a core",
			quantity.Percent(l.Idle))
	q.Score *= diagnose.IdleByMeter.Score(l.Idle)
	return q
}

// addLinkRate says what PCIe carries meanwhile, where the device counts it.
func (l filler) addLinkRate(q diagnose.Quantity) diagnose.Quantity {
	in := l.measureLink(recording.GPULinkIn)
	if !math.IsNaN(in) {
		q = q.WithEvidence(in, "bytes/s", string(recording.GPULinkIn), "PCIe brings %s/s to the device",
			quantity.AboutBytes(in))
	}
	if out := l.measureOutward(in); !math.IsNaN(out) {
		q = q.WithEvidence(out, "bytes/s", string(recording.GPULinkOut),
			"PCIe carries %s/s from the device: results go to host memory (.cpu(), a checkpoint, offloading)",
			quantity.AboutBytes(out))
	}
	return q
}

// What PCIe carries from a device that copies results out. [J] Its requests for what comes in are a
// sixteenth of that, by the counters of an H100 (bench/gpu/RESULTS.md).
const (
	leastOutward = 500e6 // bytes/s: a hundredth of what the link can from page-locked memory
	requests     = 0.125 // share of what comes in
)

// measureOutward is the rate, bytes/s, at which results leave the device, without the batches that come in; NaN if none
// do, if they are not counted, and if ranks may exchange them.
func (l filler) measureOutward(in float64) float64 {
	p := l.run.FindProcess(l.Costs.Window.PID)
	out := l.measureLink(recording.GPULinkOut)
	if p != nil && p.World > 1 || !(out >= leastOutward+requests*stat.Or(in, 0)) {
		return math.NaN()
	}
	return out
}

// measureLink is the mean of a counter of the judged device's PCIe; NaN unknown.
func (l filler) measureLink(way recording.Signal) float64 {
	_, subject := l.findGPU()
	return l.Costs.Window.Mean(l.run.Find(way, subject))
}

// fillCopies estimates what copies take of a step, from the batch's size and the link.
func (l filler) fillCopies() {
	if in, ok := sumInsides(l.Costs.Window); ok {
		l.CopiesTakeTime = l.askMeasuredCopies(in)
		return
	}
	counted := diagnose.Quantity{}
	if !math.IsNaN(l.Costs.Copying) {
		counted = l.askCountedCopies()
	}
	if staged := l.askStagedCopies(); staged.Score > counted.Score {
		l.CopiesTakeTime = staged
		l.yieldTo(staged)
		return
	}
	if counted.CanBeAsked() {
		l.CopiesTakeTime = counted
		return
	}
	b := l.Costs.MakeBaseline(l.run)
	if !l.HasSteps || !b.Copy.Known() || !(l.Costs.Step > 0) {
		l.CopiesTakeTime = diagnose.AskFact("Is the size of the copies known?", false,
			"unknown: no batch was seen on its way to a device")
		return
	}
	part := b.Copy.Point / l.Costs.Step
	l.InputShortBeside = l.InputShort
	l.CopiesTakeTime = diagnose.AskShare("Does the copy take a good part of the step?", part, diagnose.CopyTime, "").
		WithEvidence(part, "ratio", "loader.batch_bytes",
			"copying a batch of %s takes about %s of a %s step (%s to %s)",
			quantity.AboutBytes(b.BatchBytes()), quantity.AboutSeconds(b.Copy.Point),
			quantity.AboutSeconds(l.Costs.Step),
			quantity.AboutSeconds(b.Copy.Low), quantity.AboutSeconds(b.Copy.High)).
		WithEvidence(1-l.Util, "ratio", l.MeterSignal(),
			"no kernel runs %s of the time, and it waits for input %s", quantity.Percent(1-l.Util),
			quantity.Percent(l.Stall))
	loader := l.run.FindLoader(l.Costs.Window.PID, l.Costs.Window.Loader)
	if loader == nil || loader.Pinned == nil || !*loader.Pinned {
		l.CopiesTakeTime = l.CopiesTakeTime.WithEvidence(b.BatchBytes(), "bytes", "loader.pinned",
			"batches arrive in pageable memory: %s",
			l.Grounds.Staging("the copy is staged by the CPU and blocks the launching thread"))
	}
	l.RoomForCopies = diagnose.AskShare("Is there time in which no kernel runs, though input is there?",
		1-l.Util-stat.Or(l.Stall, 0), diagnose.FreeForCopies, "")
}
