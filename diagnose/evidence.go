package diagnose

import (
	"fmt"
	"math"

	"stoker/predict"
	"stoker/recording"
)

// stallEvidence is what every verdict about input begins with.
func (c *Case) stallEvidence() {
	switch {
	case !math.IsNaN(c.Stall):
		c.because(c.Stall, "ratio", "step.idle", "the device waits for input %s of the time (%s of a %s step, by the device's own clock)",
			percent(c.Stall), ms(c.Costs.Idle), ms(c.Costs.Step))
	case !math.IsNaN(c.Idle):
		c.because(c.Idle, "ratio", "gpu.utilisation", "no kernel runs %s of the time (GPU-Util; waiting for input is at most that)", percent(c.Idle))
	}
}

func (c *Case) workersEvidence() {
	k := c.Costs
	if busy := c.saturated(); !math.IsNaN(busy) {
		c.because(busy, "ratio", "thread.state", "%d worker%s at work %s of the time", k.Workers, plural(k.Workers), percent(busy))
	}
	if !math.IsNaN(k.Fetch) {
		c.because(k.Fetch, "seconds", "fetch.wall", "preparing one batch takes a worker %s%s", ms(k.Fetch), cpuOf(k.FetchCPU, k.Fetch))
	}
}

// us prints nanoseconds as microseconds, from a millisecond on as milliseconds.
func us(ns int64) string {
	if ns >= 1e6 {
		return ms(seconds(ns))
	}
	return fmt.Sprintf("%.1f us", float64(ns)/1e3)
}

// plural is the ending and verb of "n workers are".
func plural(n int) string {
	if n == 1 {
		return " is"
	}
	return "s are"
}

func cpuOf(cpu, wall float64) string {
	if math.IsNaN(cpu) || !(wall > 0) {
		return ""
	}
	return fmt.Sprintf(" (%s of it on a core)", percent(min(1, cpu/wall)))
}

func workersText(n int, set bool) string {
	if set {
		return fmt.Sprintf("num_workers=%d", n)
	}
	return fmt.Sprintf("%d worker processes seen", n)
}

// launcherParked is the share of time in which the launching thread slept.
func (c *Case) launcherParked() float64 {
	series := c.Run.Find(recording.ThreadState, predict.LaunchThread(c.Run, c.Costs.Window.PID))
	return series.Share(c.From, c.To, recording.Parked, recording.Asleep)
}

func (c *Case) torchSeen() bool {
	return c.Run.Facts.Software.Torch != "" || c.hooked()
}

func (c *Case) hooked() bool {
	for _, p := range c.Run.Facts.Processes {
		if p.Hooked {
			return true
		}
	}
	return false
}
