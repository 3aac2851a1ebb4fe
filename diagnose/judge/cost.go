package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// CostOf is the cost of a verdict's idle share. Prices that are not set come from
// the device's row, the average grid and the average building. Judge calls it
// without own prices; call it again with those that a user gave.
func CostOf(run *recording.Run, v diagnose.Verdict, own predict.Prices) diagnose.Cost {
	c := diagnose.Cost{Share: v.Idle, Assumed: run.Emulated(), Watts: stoker.Unknown()}
	if math.IsNaN(c.Share) {
		c.Share = v.Stall
	}
	device, found := judgedDevice(run, v)
	if !found || v.Class == diagnose.ComputeOnCPU || !showsAnHour(run, v) {
		c.Share = math.NaN() // no device is waiting
	}
	row, _ := hardware.FindGPU(device.Name)
	c.Prices = predict.PricesOf(row).With(own)
	c.Watts, c.Source = measureWaiting(run, v, device, row)
	if c.Assumed && c.Source == "measured" {
		c.Source = "emulated"
	}
	c.Hour = predict.IdleAt(c.Watts, stoker.Exactly(c.Share), 1, c.Prices)
	return c
}

// leastOfHour is the number of a trace's steps from which an hour is said to go on like them. [J]
const leastOfHour = 3

// showsAnHour reports whether what was judged may go on for an hour: a trace of a start, or of a step or two, shows
// what comes once.
func showsAnHour(run *recording.Run, v diagnose.Verdict) bool {
	if v.Device < 0 {
		return true
	}
	return v.Class != diagnose.StartUp && run.Facts.MarksSteps() && len(v.Costs.Window.Steps) >= leastOfHour
}

// judgedDevice is the device of the rank that was judged; of a run with one device,
// that one.
func judgedDevice(run *recording.Run, v diagnose.Verdict) (recording.GPU, bool) {
	index := -1
	if p := run.FindProcess(v.Costs.Window.PID); p != nil {
		index = p.Device
	}
	for _, g := range run.Facts.GPUs {
		if g.Index == index || len(run.Facts.GPUs) == 1 {
			return g, true
		}
	}
	return recording.GPU{}, false
}

const (
	fewReadings = 10  // power readings below which the row is asked
	muchIdle    = 0.3 // idle share from which the lowest tenth of readings is waiting
)

// measureWaiting is the device's power while it is waiting, watts. Where its power was
// read, that is no more than the mean in the window, and no less than the device
// without a job or the lowest reading. Idle times that are shorter than the meter
// averages do not show: the lowest tenth of readings is taken only where the
// device idled much of the time.
func measureWaiting(run *recording.Run, v diagnose.Verdict, device recording.GPU, row hardware.GPU) (stoker.Interval,
	string,
) {
	prior := predict.WaitingPower(row)
	w := v.Costs.Window
	read := run.Find(recording.GPUPower, fmt.Sprintf("gpu/%d", device.Index)).Between(w.Start, w.End)
	watts := slices.DeleteFunc(slices.Clone(read.V), func(v float64) bool { return !(v > 0) })
	if len(watts) < fewReadings {
		if !prior.Known() {
			return prior, ""
		}
		return prior, "row"
	}
	low, high := slices.Min(watts), stat.Mean(watts)
	if row.IdlePower.Known() {
		low = min(low, row.IdlePower.Value)
	}
	point := stat.Quantile(watts, 0.1)
	if !(v.Idle >= muchIdle) && prior.Known() {
		point = prior.Point
	}
	return stoker.Interval{Low: low, Point: min(high, max(low, point)), High: high}, "measured"
}
