package text

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// leastPart is the share of a step from which a part of it gets a line.
const leastPart = 0.005

// writeInside prints a step as a tree, and its requests to the device.
func (p *page) writeInside(w recording.Window) {
	parts, clock := w.StepParts()
	if parts == nil {
		return
	}
	whole := 0.0
	for _, part := range parts {
		whole += part.Mean
	}
	p.writeRow("inside", fmt.Sprintf("%s, in %d of %s", report.DescribeClock(clock), len(w.Insides()),
		quantity.Many(len(w.Steps), "step")))
	rows := [][]string{{"part", "mean", "share", "p95"}}
	for _, part := range parts {
		if part.Mean >= leastPart*whole {
			rows = append(rows, []string{
				part.Name, quantity.AboutSeconds(part.Mean), quantity.Percent(part.Mean / whole),
				quantity.AboutSeconds(part.P95),
			})
		}
	}
	p.writeTable(rows, "lrrr")
	if asks := asksText(w.Asks()); asks != "" {
		p.writeRow("per step", asks)
	}
}

// asksText lists the requests of a step to the device.
func asksText(a recording.DeviceAsks) string {
	var said []string
	add := func(n float64, one, many string, seconds float64) {
		if n >= 0.05 {
			said = append(said, fmt.Sprintf("%s %s (%s)", quantity.About(n), quantity.Ending(n, one, many),
				quantity.AboutSeconds(seconds)))
		}
	}
	add(a.Launches, "launch", "launches", a.LaunchTime)
	add(a.Syncs, "wait for the device", "waits for the device", a.SyncTime)
	if a.Copies >= 0.05 {
		said = append(said, fmt.Sprintf("%s of copies in, %s of them pageable", quantity.AboutBytes(a.CopyBytes),
			quantity.Percent(a.Pageable/a.CopyBytes)))
	}
	return strings.Join(said, ", ")
}
