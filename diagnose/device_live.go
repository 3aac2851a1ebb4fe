package diagnose

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// The published procedure's bounds: a fifth of the time, and a clock below 85 % of the
// highest.
const (
	slowedShare = 0.2
	slowedClock = 0.85
)

// slowed is whether heat or the board's protection keeps the judged device's clock down.
func (l live) slowed() quantity {
	g, subject := l.gpu()
	reasons := l.run.Find(recording.GPUSlowed, subject).Between(l.From, l.To)
	if g == nil || g.MaxClock == nil || len(reasons.V) == 0 {
		return quantity{}
	}
	l.Clock = l.run.Find(recording.GPUClock, subject).Mean(l.From, l.To) / *g.MaxClock
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
	answer := fmt.Sprintf("%s of the time, at %s of its highest clock", stoker.Percent(share), stoker.Percent(l.Clock))
	return fact("Is the device's clock held down by heat or its board?", share >= slowedShare && l.Clock < slowedClock, answer).
		saw(share, "ratio", string(recording.GPUSlowed), "the device slows itself down %s of the time %s", stoker.Percent(share), why).
		saw(l.Clock, "ratio", string(recording.GPUClock), "its clock is %s of the highest: without that, kernels would take %.2fx less at most", stoker.Percent(l.Clock), 1/l.Clock)
}

// gpu is the judged device and the subject of its signals; nil where it is not known.
func (l live) gpu() (*recording.GPU, string) {
	index, gpus := -1, l.run.Facts.GPUs
	if p := l.run.Process(l.Costs.Window.PID); p != nil {
		index = p.Device
	}
	for i := range gpus {
		if g := &gpus[i]; g.Index == index || index < 0 && len(gpus) == 1 {
			return g, fmt.Sprintf("gpu/%d", g.Index)
		}
	}
	return nil, ""
}

// surroundings takes what rules ask about the device's place: its clock, who else uses
// it, the other ranks.
func (l live) surroundings() {
	l.Slowed, l.Shared = l.slowed(), l.shared()
	l.compareRanks()
}

// level is the mean of a gauge of a rank's device; NaN unknown.
func (l live) level(signal recording.Signal, device int) float64 {
	if device < 0 {
		return math.NaN()
	}
	return l.run.Find(signal, fmt.Sprintf("gpu/%d", device)).Mean(l.From, l.To)
}

// sharedTime is the share of the device's time that others take from which it is theirs
// as well: the published procedure's bound.
const sharedTime = 0.1

// shared is whether processes outside the job compute on the judged device.
func (l live) shared() quantity {
	_, subject := l.gpu()
	l.Others = l.run.Find(recording.GPUOthers, subject).Mean(l.From, l.To)
	if !(l.Others >= 0) {
		return quantity{}
	}
	strangers := l.run.Find(recording.GPUStrangers, subject).Mean(l.From, l.To)
	return fact("Do programs outside the job compute on the device?", l.Others >= sharedTime, stoker.Percent(l.Others)+" of its time").
		saw(l.Others, "ratio", string(recording.GPUOthers), "kernels of other programs run %s of the time: what is said of the device's utilisation counts theirs", stoker.Percent(l.Others)).
		saw(strangers, "processes", string(recording.GPUStrangers), "%s process%s outside this job hold the device", stoker.About(strangers), stoker.Ending(int(strangers+0.5), "", "es"))
}

// strangers tells of processes that hold the device where nobody says what they do.
func (l live) strangers() (Finding, bool) {
	_, subject := l.gpu()
	n := l.run.Find(recording.GPUStrangers, subject).Mean(l.From, l.To)
	if l.Shared.known() || !(n >= 0.5) {
		return Finding{}, false
	}
	return said("shared-gpu", fmt.Sprintf("%s process%s outside this job hold the device; how much they compute on it is unknown, and its utilisation counts their kernels as well",
		stoker.About(n), stoker.Ending(int(n+0.5), "", "es"))), true
}
