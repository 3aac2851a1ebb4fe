package main

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
)

// sight is what an observer may see of a job.
type sight struct {
	Name     string
	hook     bool // steps, loaders, fetches, the device's own clock
	launches bool // how many launches a step has: today only the emulated device tells
	effort   bool // SM activity and power
	host     bool // threads, processes, disks, network, pressure
}

// relief is one intervention: a resource that is no longer short.
type relief struct {
	class  diagnose.Class
	change func(*job)
}

// easier is how many times as much of a resource an intervention gives.
const easier = 8

// reliefs are the interventions, the deepest cause first: where one gains nearly as much as a
// later, more general one, it is the cause.
var reliefs = []relief{
	{diagnose.MemoryPressure, func(j *job) { j.faults = 0 }},
	{diagnose.CgroupThrottled, func(j *job) { j.quota = 0 }},
	{diagnose.Neighbour, func(j *job) { j.others = 0 }},
	{diagnose.IOBound, func(j *job) { j.disk /= easier }},
	{diagnose.RemoteFS, func(j *job) { j.remote /= easier }},
	{diagnose.CPUExhausted, func(j *job) { j.cores *= easier }},
	{diagnose.StragglerRank, func(j *job) { j.late = 1 }},
	{diagnose.ThrottledGPU, func(j *job) { j.clock = 1 }},
	{diagnose.SharedGPU, func(j *job) { j.foreign = 0 }},
	{diagnose.NetworkBound, func(j *job) { j.exchange /= easier }},
	{diagnose.TransferBound, func(j *job) { j.copying /= easier; j.pageable, j.blocking = false, false }},
	{diagnose.LaunchBound, func(j *job) { j.launch /= easier }},
	{diagnose.CPUBound, func(j *job) { j.host /= easier }},
	{diagnose.TooFewWorkers, func(j *job) { j.workers *= easier }},
	{diagnose.MainThread, func(j *job) {
		if j.workers == 0 {
			j.workers, j.ahead = easier, 2
		}
	}},
}

// The limits of a gain and of no gain. A job between the two has no label: it is drawn again.
const (
	someGain = 1.1
	noGain   = 1.03
	asGood   = 0.85 // of the best gain, as a logarithm
)

// label returns the class of a job by intervention, and the gain of its relief; "" if no relief is
// decisive. A job is gpu-bound if only a faster device helps.
func label(j job) (diagnose.Class, float64) {
	switch {
	case !j.training:
		return diagnose.NotTraining, math.NaN()
	case j.onCPU:
		return diagnose.ComputeOnCPU, math.NaN()
	}
	before := playJob(j)
	gains := make([]float64, len(reliefs))
	best := 1.0
	for i, r := range reliefs {
		after := j
		r.change(&after)
		if after == j {
			gains[i] = 1
			continue
		}
		p := playJob(after)
		gains[i] = p.rate() / before.rate()
		best = math.Max(best, gains[i])
	}
	if best <= noGain {
		return diagnose.GPUBound, 1
	}
	if best < someGain {
		return "", best
	}
	for i, r := range reliefs {
		if math.Log(gains[i]) >= asGood*math.Log(best) {
			return r.tellKind(j), gains[i]
		}
	}
	return "", best
}

// tellKind returns the kind of an exhausted disk: by bytes or by requests.
func (r relief) tellKind(j job) diagnose.Class {
	if r.class != diagnose.IOBound {
		return r.class
	}
	if j.requestBytes < 128<<10 {
		return diagnose.SmallFiles
	}
	return diagnose.DeviceSaturated
}

// cannotTell returns why a sight does not distinguish the class of a job from others; "" if it does.
// If it does not, "unknown" is the right verdict.
func cannotTell(class diagnose.Class, j job, s sight) string {
	timed := s.hook && j.ownCalls && j.exchange > 0
	effort := j.fill * j.device / (j.device + j.exchange)
	atWork := effort < mostlyWaits || effort > leavesNoRoom
	staged := class == diagnose.TransferBound && !s.hook && !s.effort // PCIe is counted with the effort
	host := class == diagnose.LaunchBound || class == diagnose.CPUBound || staged
	switch {
	case !s.host && class != diagnose.GPUBound:
		return "GPU-Util knows no cause"
	case host && !s.launches:
		return "the launching thread is at work, be it launches, copies or code of the loop's own"
	case class == diagnose.StragglerRank && !timed && !s.effort && j.ranks > 1:
		return "a kernel that waits for another rank counts as running"
	case (class == diagnose.NetworkBound || j.covered > 0) && !timed && (!s.effort || !atWork):
		return "the exchange runs beside kernels or alone, and nothing times it"
	}
	return ""
}

// SM activity of a busy device whose kernels mostly wait, and of one whose kernels cannot be waiting.
const (
	mostlyWaits  = 0.5
	leavesNoRoom = 0.85
)
