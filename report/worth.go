package report

import (
	"fmt"

	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
)

// DescribeWorth says in a line each the losses, and the gain of each change.
func DescribeWorth(w question.Worth) [][2]string {
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
		lines = append(lines, [2]string{row.What, fmt.Sprintf("%s, then it computes %s of the time%s",
			quantity.Around(row.Speedup, times), quantity.Around(row.Utilization, quantity.Percent),
			describeEnough(row))})
	}
	return lines
}

// describeEnough says how many of the workers that were asked for do as much, and what the others take.
func describeEnough(row question.WorthRow) string {
	if row.Enough == 0 {
		return ""
	}
	text := fmt.Sprintf(". %s do as much", quantity.Many(row.Enough, "worker"))
	if row.Memory > 0 {
		text += fmt.Sprintf(", in %s less memory", quantity.AboutBytes(row.Memory))
	}
	return text
}
