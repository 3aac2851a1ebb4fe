package diagnose

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"stoker/diagnose/idle"
)

var gpuBound = Rule{
	Class:  GPUBound,
	Title:  "The device is the limit",
	Text:   "Kernels run nearly all the time and the device does not wait for input. A faster loader is worth nothing.",
	Limits: "GPU-Util cannot tell a filled device from one tiny kernel after another.",
	Check: func(c *Case) float64 {
		if c.traced != nil {
			return c.gpuTraced()
		}
		starved := c.starved()
		unknown := 0.5
		if c.ring() { // the loader's own side does not tell the device from other work of the trainer
			unknown = unlikely
		}
		busy := c.askOr(unknown, "Does some kernel run nearly all the time?", c.Util, 0.82, 0.93, "")
		k := c.Costs
		if !math.IsNaN(c.Util) {
			c.because(c.Util, "ratio", "gpu.utilisation", "some kernel runs %s of the time", percent(c.Util))
		}
		if !math.IsNaN(c.Stall) {
			c.because(c.Stall, "ratio", "step.idle", "the device waits for input %s of the time, by its own clock", percent(c.Stall))
		}
		if wait := k.Wait / k.HostStep; wait > 0.2 && c.Stall < 0.05 {
			c.because(wait, "ratio", "step.wait",
				"the host waits %s of its time in next(), but work queued on the device covers it: host wait is not starvation", percent(wait))
		}
		return busy * (1 - starved)
	},
	Refine: func(c *Case) Class {
		if c.traced == nil {
			return GPUBound
		}
		return c.traced.kind()
	},
}

func (c *Case) gpuTraced() float64 {
	t := c.traced
	starved := c.starved()
	busy := c.ask("Does some kernel of computation run nearly all the time?", t.kernel, 0.82, 0.93, "")
	c.because(t.kernel, "ratio", "trace.kernel", "kernels run %s of the window (median %s, %d of them)",
		percent(t.kernel), us(t.kernels.Median), t.kernels.Count)
	c.because(t.kernel, "ratio", "trace.kernels", "of kernel time: %s", t.composition())
	c.gapEvidence()
	return busy * (1 - starved) * (1 - c.lagging())
}

// composition says which kinds of kernels the time goes into.
func (t *traced) composition() string {
	type part struct {
		family idle.Family
		time   int64
	}
	var parts []part
	for f, time := range t.kernels.Family {
		if time > 0 && idle.Family(f) != idle.Exchange {
			parts = append(parts, part{idle.Family(f), time})
		}
	}
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].time > parts[j].time })
	var words []string
	for i, p := range parts {
		if i == 4 {
			break
		}
		words = append(words, fmt.Sprintf("%s %s", p.family, percent1(float64(p.time)/float64(max(1, t.kernels.Time)))))
	}
	return strings.Join(words, ", ")
}

// Start values for the kinds of gpu-bound.
const (
	plainShare  = 0.2 // of kernel time in matrix work without Tensor Cores: the trigger of the published procedure
	memoryShare = 0.5 // [J] of kernel time in kernels that move data
	tensorShare = 0.3 // KempnerPulse and the published procedure call 30 % tensor-active tensor-bound
)

// kind is what kernels are busy with.
func (t *traced) kind() Class {
	k := t.kernels
	all := float64(max(1, k.Time))
	moving := float64(k.Family[idle.Elementwise]+k.Family[idle.Reduction]+k.Family[idle.Fused]+k.Family[idle.Moving]) / all
	switch {
	case float64(k.Plain)/all >= plainShare && t.major >= 7:
		return GPUPrecision
	case moving >= memoryShare:
		return GPUMemory
	case float64(k.Tensor)/all >= tensorShare:
		return GPUTensor
	}
	return GPUBound
}
