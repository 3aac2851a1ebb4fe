package operators

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// Ceilings are the lines that bound the work of the judged steps: device memory, the
// host's link, and what input supplies, with that work as points.
type Ceilings struct {
	predict.Roofline

	Sources []string // where each line is from, and why one is not there
}

// Bounds of what a trace says of a line. [J]
const (
	leastCopied = 1e6  // bytes copied to the device, from which their rate counts
	leastWaited = 0.05 // share that the device is waiting for input, from which input's rate is a ceiling
	mostDrawn   = 5    // operators, in addition to the work as a whole
)

// FindCeilings draws them for a device's judged window, of which the share stall is waiting for
// input (NaN unknown). nil where no peak of the device is known, or no work was seen.
func (r *Roofline) FindCeilings(all *idle.Analysis, d *idle.Device, stall float64) *Ceilings {
	var best Point
	for _, p := range r.Points {
		if p.Peak > 0 && !(p.Peak <= best.Peak) {
			best = p
		}
	}
	steps := r.within(d)
	if best.Peak == 0 || !(steps.FLOP > 0) {
		return nil
	}
	down, window := all.SumCopies(d).ToDevice, float64(d.WindowLength())/1e9
	c := &Ceilings{Sources: []string{fmt.Sprintf("peak, %s and device memory, %s: %s", best.Precision,
		quantity.AboutRate(r.GPU.MemoryRate.Value), r.GPU.MemoryRate.Source)}}
	link := c.linkRate(r.GPU, down)
	supply := c.supply(down, window, stall)
	lines, err := predict.RooflineOf(r.GPU, best.Precision, link, supply)
	if err != nil {
		return nil
	}
	c.Roofline = lines
	c.points(r, steps, down, window, supply)
	return c
}

// within adds up what was launched in a device's window.
func (r *Roofline) within(d *idle.Device) (sum Point) {
	for _, w := range r.done {
		if w.device == d.Index && w.start >= d.From && w.start < d.To {
			sum.FLOP, sum.Bytes, sum.Seconds = sum.FLOP+w.flop, sum.Bytes+w.bytes, sum.Seconds+float64(w.time)/1e9
		}
	}
	return sum
}

// linkRate is the rate of the host's link: as this run's copies ran, else as the table has it.
func (c *Ceilings) linkRate(gpu hardware.GPU, down idle.Direction) float64 {
	if down.Bytes >= leastCopied {
		c.Sources = append(c.Sources, fmt.Sprintf("host link, %s: as this run's copies to the device ran, %s in all",
			quantity.AboutRate(down.Rate()), quantity.AboutBytes(float64(down.Bytes))))
		return down.Rate()
	}
	link, known := hardware.FindLink(hardware.MachineOf(gpu.Name).Link.Name)
	if !known {
		c.Sources = append(c.Sources, "host link: unknown, next to nothing was copied")
		return math.NaN()
	}
	c.Sources = append(c.Sources, fmt.Sprintf("host link, %s: %s, next to nothing was copied here",
		quantity.AboutRate(link.Pinned.Value), link.Pinned.Source))
	return link.Pinned.Value
}

// supply is the rate at which input comes, in copied bytes; NaN where the device does not
// wait for it, so that it could come faster.
func (c *Ceilings) supply(down idle.Direction, window, stall float64) float64 {
	switch rate := float64(down.Bytes) / window; {
	case !(stall >= leastWaited):
		c.Sources = append(c.Sources, fmt.Sprintf("input supply: no line, the device waits for input %s of the "+
			"time, so nobody saw how much could come", quantity.Percent(stall)))
	case down.Bytes < leastCopied:
		c.Sources = append(c.Sources, "input supply: unknown, next to nothing was copied to the device")
	default:
		c.Sources = append(c.Sources, fmt.Sprintf("input supply, %s: what came to the device while it waited for "+
			"input %s of the time, as copied bytes", quantity.AboutRate(rate), quantity.Percent(stall)))
		return rate
	}
	return math.NaN()
}

// points are the judged steps' work, and the operators that take most time, those of
// slower precisions with their peaks.
func (c *Ceilings) points(r *Roofline, steps Point, down idle.Direction, window, supply float64) {
	for i := range c.Diagonals {
		if c.Diagonals[i].Name == predict.InputSupply {
			c.Diagonals[i].Over = "copied bytes" // what was stored is not in a trace
		}
	}
	whole := predict.Workpoint{
		Name: "all of the judged steps", Batch: math.NaN(), Device: steps.FLOP / steps.Bytes, Copied: math.NaN(),
		Stored:   math.NaN(),
		Attained: stoker.Exactly(steps.FLOP / steps.Seconds), Delivered: stoker.Exactly(steps.FLOP / window),
	}
	if down.Bytes >= leastCopied {
		whole.Copied = steps.FLOP / float64(down.Bytes)
	}
	if supply > 0 {
		whole.Stored = whole.Copied
	}
	c.Points = []predict.Workpoint{whole}
	for _, p := range r.Points[:min(mostDrawn, len(r.Points))] {
		if !(p.Peak > 0) {
			continue
		}
		c.Points = append(c.Points, predict.Workpoint{
			Name: fmt.Sprintf("%s, %s", p.Name, p.Precision), Batch: math.NaN(), Device: p.Intensity,
			Copied: math.NaN(), Stored: math.NaN(),
			Attained: stoker.Exactly(p.Attained), Delivered: stoker.Unknown(),
		})
		slower := predict.SlowerPrecision{Precision: p.Precision, Peak: p.Peak}
		if p.Peak < c.Peak && !slices.Contains(c.Slower, slower) {
			c.Slower = append(c.Slower, slower)
		}
	}
}
