package main

import (
	"math"
	"math/rand/v2"

	"github.com/stoker-dev/stoker/diagnose"
)

// classes are those of the exam.
var classes = []diagnose.Class{
	diagnose.GPUBound, diagnose.CPUBound, diagnose.MainThread, diagnose.TooFewWorkers, diagnose.CPUExhausted,
	diagnose.Neighbour, diagnose.CgroupThrottled, diagnose.DeviceSaturated, diagnose.SmallFiles, diagnose.RemoteFS,
	diagnose.MemoryPressure, diagnose.TransferBound, diagnose.LaunchBound, diagnose.NetworkBound,
	diagnose.StragglerRank,
	diagnose.ThrottledGPU, diagnose.SharedGPU, diagnose.ComputeOnCPU, diagnose.NotTraining,
}

// dice draws random numbers from a seed.
type dice struct{ *rand.Rand }

// drawBetween draws evenly on a logarithmic scale.
func (d dice) drawBetween(low, high float64) float64 { return low * math.Pow(high/low, d.Float64()) }

func (d dice) drawCount(low, high int) int { return low + d.IntN(high-low+1) }

func (d dice) often(share float64) bool { return d.Float64() < share }

// drawJob draws until interventions give the class with a gain of 1.1 to 3.
func drawJob(d dice, class diagnose.Class) (job, float64) {
	for range 4000 {
		j := healthy(d)
		ail(d, class, &j)
		if got, gain := label(j); got == class && !(gain > 3) {
			return j, gain
		}
	}
	panic("no job of class " + string(class) + " was drawn in 4000 tries")
}

// healthy draws a job that is limited by its device, with harmless things that make diagnosis harder:
// neighbours that leave cores free, a loop with or without synchronisation, a hidden wait.
func healthy(d dice) job {
	device := d.drawBetween(0.02, 0.3)
	workers := d.drawCount(2, 12)
	j := job{
		ranks: 1, workers: workers, ahead: 2, cores: float64(4 * d.drawCount(2, 12)), training: true,
		core: device * float64(workers) * d.drawBetween(0.05, 0.6), requestBytes: 512e3,
		launches: float64(d.drawCount(40, 900)), device: device, copying: device * d.drawBetween(0.002, 0.04),
		sync: d.often(0.3), late: 1, clock: 1,
		fill: d.drawBetween(0.55, 0.95), hidden: d.drawBetween(1, 2), ownCalls: d.often(0.5), mount: d.often(0.7),
	}
	j.launch = device * d.drawBetween(0.02, 0.4)
	if j.sync {
		j.launch = device * d.drawBetween(0.005, 0.02)
	}
	j.host = device * d.drawBetween(0.002, 0.01)
	if d.often(0.4) {
		j.others = d.drawBetween(0.1, 0.3) * j.cores
	}
	if d.often(0.3) {
		j.disk, j.diskBytes = device*d.drawBetween(0.02, 0.3), d.drawBetween(1e6, 40e6)
	}
	if d.often(0.2) {
		j.workers, j.core = 0, 0.3*device // the launching thread loads, while the device has queued work
		j.sync = false
	}
	return j
}

// ail gives a job the bottleneck of a class.
func ail(d dice, class diagnose.Class, j *job) {
	margin := d.drawBetween(1.1, 3)
	if class.Starves() && class != diagnose.MainThread && j.workers == 0 {
		j.workers = d.drawCount(1, 8)
	}
	workers := float64(max(1, j.workers))
	switch class {
	case diagnose.CPUBound:
		j.sync, j.launches, j.host = true, float64(d.drawCount(1, 6)), j.device*(margin-1)
		j.launch = 50e-6 * j.launches
	case diagnose.MainThread:
		j.workers, j.sync, j.disk = 0, true, 0
		j.core = j.device * (margin - 1)
	case diagnose.TooFewWorkers:
		j.workers, j.disk = d.drawCount(1, 4), 0
		j.core = margin * j.device * float64(j.workers) * d.drawBetween(0.3, 1)
		if d.often(0.3) {
			j.asleep = 0.7 * j.core
		}
	case diagnose.CPUExhausted:
		j.cores, j.others, j.disk = float64(d.drawCount(1, 6)), 0, 0
		j.workers = int(j.cores) + d.drawCount(1, 6)
		j.core = margin * j.device * j.cores
	case diagnose.Neighbour:
		j.cores, j.disk = float64(d.drawCount(2, 12)), 0
		j.workers = int(j.cores)
		j.core = d.drawBetween(0.5, 0.95) * j.device * j.cores
		j.others = j.cores * d.drawBetween(0.5, 2)
	case diagnose.CgroupThrottled:
		j.quota, j.others, j.disk = float64(d.drawCount(1, 6))*d.drawBetween(0.5, 1), 0, 0
		j.cores = math.Max(j.cores, 4*j.quota)
		j.workers = int(j.quota) + d.drawCount(1, 6)
		j.core = margin * j.device * j.quota
	case diagnose.DeviceSaturated, diagnose.SmallFiles:
		j.disk, j.diskBytes = margin*j.device, d.drawBetween(5e6, 80e6)
		j.core = 0.2 * j.device * workers
		j.requestBytes = d.drawBetween(200e3, 900e3)
		if class == diagnose.SmallFiles {
			j.requestBytes, j.diskBytes = d.drawBetween(4e3, 60e3), d.drawBetween(1e6, 9e6)
		}
	case diagnose.RemoteFS:
		j.remote, j.disk = margin*j.device*workers, 0
		j.core = 0.2 * j.device * workers
		j.diskBytes = d.drawBetween(4e6, 40e6)
	case diagnose.MemoryPressure:
		j.faults, j.diskBytes = margin*j.device, d.drawBetween(2e6, 30e6)
		j.core = 0.2 * j.device * workers
	case diagnose.TransferBound:
		j.copying, j.blocking = j.device*(margin-1), true
		j.pageable = d.drawBetween(0.5, 2) < 1 // others are pinned, and the loop waits for them, too
		j.launch = j.device * 0.02
	case diagnose.LaunchBound:
		j.launches, j.launch = float64(d.drawCount(150, 2000)), margin*j.device
	case diagnose.NetworkBound:
		j.ranks, j.exchange = d.drawCount(2, 8), j.device*(margin-1)
	case diagnose.StragglerRank:
		j.ranks, j.late = d.drawCount(2, 8), margin
	case diagnose.ThrottledGPU:
		j.clock = 1 / margin
	case diagnose.SharedGPU:
		j.foreign = 1 - 1/margin
	case diagnose.ComputeOnCPU:
		j.onCPU = true
	case diagnose.NotTraining:
		j.training = false
	default: // a device that works has no ailment; ranks may hide their exchange behind kernels
		if class == diagnose.GPUBound && d.often(0.3) {
			j.ranks, j.covered = d.drawCount(2, 8), j.device*d.drawBetween(0.05, 0.9)
			j.cores *= float64(j.ranks)
		}
	}
}
