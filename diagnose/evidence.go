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
	case c.ring():
		c.because(c.waits(), "ratio", "step.wait", "the trainer waits for batches %s of the time; how much of that its device had work for is not known here (stoker observe tells)", percentOr(c.waits()))
		c.because(c.Costs.Feed.Full, "ratio", "feed.full", "the loader's ring is full %s of the time", percentOr(c.Costs.Feed.Full))
	}
}

// ringEvidence says what the loader's own side tells where that names no ailment.
func (c *Case) ringEvidence() []Evidence {
	c.rule = Unknown
	f, waits := c.Costs.Feed, c.waits()
	if waits < littleWait {
		c.because(waits, "ratio", "step.wait", "the loader keeps up: the trainer waits for batches %s of the time. Faster input is worth nothing; what limits the trainer is not seen from here: stoker observe looks at the device", percent(waits))
	} else {
		c.because(waits, "ratio", "step.wait", "the trainer waits for batches %s of the time; how much of that its device had work for is not known here: stoker observe tells", percentOr(waits))
	}
	c.because(f.Full, "ratio", "feed.full", "the loader's ring is full %s of the time", percentOr(f.Full))
	c.threadsEvidence()
	return c.evidence[Unknown]
}

// threadsEvidence says what the threads of stoker's loader do.
func (c *Case) threadsEvidence() {
	k, f := c.Costs, c.Costs.Feed
	if busy := c.saturated(); !math.IsNaN(busy) {
		c.because(busy, "ratio", "feed.threads", "%d thread%s at work in stoker's loader %s of the time", k.Workers, plural(k.Workers), percent(busy))
	}
	c.because(k.Fetch, "seconds", "feed.batches", "preparing one batch takes a thread %s%s: reading %s, decoding %s, transforming %s",
		ms(k.Fetch), cpuOf(k.FetchCPU, k.Fetch), ms(f.Read), ms(f.Decode), ms(f.Transform))
}

func (c *Case) workersEvidence() {
	if c.Costs.Feed != nil {
		c.threadsEvidence()
		return
	}
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

func workersText(k predict.Costs) string {
	switch {
	case k.Feed != nil:
		return fmt.Sprintf("stoker's loader has %d threads", k.Workers)
	case k.Set:
		return fmt.Sprintf("num_workers=%d", k.Workers)
	}
	return fmt.Sprintf("%d worker processes seen", k.Workers)
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
