package live

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// filler fills a Case from the signals of a job: the hook, the device's meters, the
// kernel's counters.
type filler struct {
	*diagnose.Case
	run      *recording.Run
	trainers []measure.Costs // of all ranks, the judged one among them
}

func (l filler) isAbsent(what string) bool {
	return slices.ContainsFunc(l.run.Facts.Absent, func(a recording.Absence) bool { return a.What == what })
}

// countCores is how many cores the job may use; NaN unknown.
func (l filler) countCores() float64 {
	if all := l.run.Facts.Machine.Cores(); all > 0 {
		return all
	}
	return l.Costs.Cores
}

// fewSteps is the number of steps below which a verdict says how little it saw. [J]
const fewSteps = 20

// findTrainer is the first trainer's process that has a device: one that only starts the ranks has none. It is the
// first trainer if none has one, and 0 without one.
func findTrainer(run *recording.Run) (pid int) {
	for _, p := range run.Facts.Processes {
		switch {
		case p.Role != recording.RoleTrainer:
		case p.Device >= 0:
			return p.PID
		case pid == 0:
			pid = p.PID
		}
	}
	return pid
}

// measureUtil is for how much of the time kernels ran on the device that was used most.
func measureUtil(run *recording.Run, from, to float64) recording.KernelTime {
	most := recording.KernelTime{Share: math.NaN(), Copying: math.NaN()}
	for _, s := range append(run.All(recording.GPUUtilisation), run.All(recording.GPUKernels)...) {
		k := run.KernelTime(s.Subject, recording.Window{Start: from, End: to})
		if !math.IsNaN(k.Share) && !(k.Share <= most.Share) {
			most = k
		}
	}
	return most
}

// findGPU is the judged device and the subject of its signals; nil if it is not known.
func (l filler) findGPU() (*recording.GPU, string) {
	index, gpus := -1, l.run.Facts.GPUs
	if p := l.run.FindProcess(l.Costs.Window.PID); p != nil {
		index = p.Device
	}
	for i := range gpus {
		if g := &gpus[i]; g.Index == index || index < 0 && len(gpus) == 1 {
			return g, fmt.Sprintf("gpu/%d", g.Index)
		}
	}
	return nil, ""
}

// meanLevel is the mean of a gauge of a rank's device; NaN unknown.
func (l filler) meanLevel(signal recording.Signal, device int) float64 {
	if device < 0 {
		return math.NaN()
	}
	return l.run.Find(signal, fmt.Sprintf("gpu/%d", device)).Mean(l.From, l.To)
}

// measureKernels is for how much of the time kernels ran on a rank's device, as far as that is known.
func (l filler) measureKernels(device int) float64 {
	return l.run.KernelTime(fmt.Sprintf("gpu/%d", device), recording.Window{Start: l.From, End: l.To}).Share
}

func keepKnown(x []float64) (out []float64) {
	for _, v := range x {
		if v > 0 {
			out = append(out, v)
		}
	}
	return out
}

// findMount is the file system of which most files were seen open; nil if none was.
func (l filler) findMount() *recording.Mount {
	var best *recording.Mount
	for i := range l.run.Facts.Mounts {
		if m := &l.run.Facts.Mounts[i]; best == nil || m.Seen > best.Seen {
			best = m
		}
	}
	return best
}

// sumRates is the rate of a counter over all processes; NaN if none has it.
func (l filler) sumRates(signal recording.Signal) float64 {
	sum := math.NaN()
	for _, p := range l.run.Facts.Processes {
		if r := l.run.Find(signal, fmt.Sprintf("process/%d", p.PID)).Rate(l.From, l.To); !math.IsNaN(r) {
			sum = stat.Or(sum, 0) + r
		}
	}
	return sum
}
