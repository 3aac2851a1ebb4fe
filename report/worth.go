package report

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// Worth is the gain of another machine for a running job, for all output formats.
type Worth struct {
	Title       string
	GPU         hardware.GPU    // the zero value if unknown
	Utilization stoker.Interval // share of time in which the device computes
	AtMost      stoker.Interval // gain without any waiting
	Rows        []WorthRow
	Waste       *predict.Waste // for Hours
	Hours       float64
	Notes       []string
}

// WorthRow is one change of the machine.
type WorthRow struct {
	What string
	predict.Worth
}

// Add adds a change.
func (w *Worth) Add(what string, worth predict.Worth) { w.Rows = append(w.Rows, WorthRow{what, worth}) }

// DescribeWorth says in a line each the losses, and the gain of each change.
func DescribeWorth(w Worth) [][2]string {
	times := func(v float64) string { return quantity.About(v) + "x" }
	lines := [][2]string{{"computes", quantity.Around(w.Utilization, quantity.Percent) + " of the time"}}
	if w.Waste != nil {
		idle := fmt.Sprintf("%s of %s GPU hours", quantity.Around(w.Waste.GPUHours, quantity.About),
			quantity.About(w.Hours))
		if w.Waste.Dollars.Known() {
			idle += ", $" + quantity.Around(w.Waste.Dollars, quantity.About)
		}
		if w.Waste.KWh.Known() {
			idle += ", " + quantity.Around(w.Waste.KWh, quantity.About) + " kWh"
		}
		lines = append(lines, [2]string{"waits", idle})
	}
	lines = append(lines, [2]string{"at most", quantity.Around(w.AtMost, times) + " faster, if nothing waits"})
	for _, row := range w.Rows {
		lines = append(lines, [2]string{row.What, fmt.Sprintf("%s, then it computes %s of the time",
			quantity.Around(row.Speedup, times), quantity.Around(row.Utilization, quantity.Percent))})
	}
	return lines
}
