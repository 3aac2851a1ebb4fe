package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// Start values for loops that no DataLoader feeds. [J]
const (
	leastTold = 0.01 // share of a thread's time that is worth a word
	mostAway  = 0.4  // share of the device's idle time from which a thread counts as waiting for others
	busyCores = 0.25 // that others of the job use, from which it is them that it waits for
)

// whereabouts is where a thread's time goes, as shares of the window that may overlap
// by what sampling is off; NaN is unknown.
type whereabouts struct {
	OnCore, Queued, Disk, Remote, Asleep, Parked float64
	Others                                       float64 // cores that everything else of the job uses
}

// launching looks where the launching thread's time goes.
func (l live) launching() whereabouts {
	subject := predict.LaunchThread(l.run, l.Costs.Window.PID)
	states := l.run.Find(recording.ThreadState, subject)
	share := func(s recording.State) float64 { return states.Share(l.From, l.To, s) }
	w := whereabouts{
		OnCore: l.run.Find(recording.ThreadCPU, subject).Rate(l.From, l.To),
		Queued: l.run.Find(recording.ThreadQueue, subject).Rate(l.From, l.To),
		Disk:   share(recording.OnDisk), Remote: share(recording.Remote), Asleep: share(recording.Asleep), Parked: share(recording.Parked),
	}
	if math.IsNaN(w.OnCore) {
		w.OnCore = share(recording.Running) - stat.Or(w.Queued, 0)
	}
	w.OnCore = min(1, w.OnCore)
	w.Others = max(0, l.Costs.CoresUse-stat.Or(w.OnCore, 0))
	return w
}

// away is the share of the device's idle time in which the thread waits for somebody
// else, at least: while the device works it may wait for that.
func (w whereabouts) away(idle float64) float64 {
	return max(0, w.Asleep+w.Parked-(1-idle)) / idle
}

// String is a sentence; "" where nothing is known.
func (w whereabouts) String() string {
	var parts []string
	add := func(share float64, text string) {
		if share >= leastTold {
			parts = append(parts, stoker.Percent(share)+" "+text)
		}
	}
	add(w.OnCore, "on a core")
	add(w.Queued, "waiting for a core")
	add(w.Disk, "in reads from storage")
	add(w.Remote, "in reads from the network")
	add(w.Asleep, "asleep (a timer, a program that it runs)")
	add(w.Parked, "waiting to be given something (a queue, a lock, a pipe, a socket)")
	if len(parts) == 0 {
		return ""
	}
	text := "the launching thread's time goes: " + strings.Join(parts, ", ")
	switch {
	case w.Others >= 0.05:
		text += fmt.Sprintf("; everything else of the job uses %.2f cores", w.Others)
	case w.Asleep+w.Parked >= mostAway:
		text += "; nothing else of the job works, so that what it waits for lies outside: requests, a timer, the device"
	}
	return text
}

// own is whether the program's own code keeps the device waiting, in a loop that no
// DataLoader feeds: the launching thread works all the time, or waits for others of
// the job that do. A thread that waits for the device may spin, so what it does while
// the device works is no work.
func (l live) own(w whereabouts) quantity {
	atWork := 1 - w.Asleep - w.Parked
	alone := max(0, atWork-stat.Or(l.Util, 0)) / l.Idle
	q := share("Is the launching thread at work while the device is idle?", min(1, alone), 0.5, 0.75, "a thread that launches many small kernels looks the same")
	if away := w.away(l.Idle); away >= mostAway && w.Others >= busyCores {
		q = share("Does the launching thread wait while others of the job work?", away, mostAway/2, mostAway, "what they do is unknown")
	}
	q = q.saw(atWork, "ratio", "thread.state", "no DataLoader was seen; %s", w).
		saw(l.Idle, "ratio", "gpu.utilisation", "no kernel runs %s of the time", stoker.Percent(l.Idle))
	if l.Costs.Others > 0.3 {
		q = q.saw(l.Costs.Others, "cores", "machine.cpu", "other programs use %.1f cores", l.Costs.Others)
	}
	return q
}

// used is how much of a yes it is that the device is in use at all.
func (c *Case) used() float64 {
	if c.Model != nil || math.IsNaN(c.Util) {
		return 1
	}
	return 1 - c.unused()
}

// unused is how much of a yes it is that the device is not in use. One that a process of
// the job holds is in use at less: a host that keeps it waiting leaves it little to do.
func (c *Case) unused() float64 {
	least, most := 0.03, 0.06
	if c.Holds {
		least, most = 0.01, 0.02
	}
	return c.yes(share("Is the GPU unused?", c.Util, most, least, ""))
}

// other takes what rules may ask of a loop whose input is no DataLoader: how long it
// waits is known, and nothing of workers, of settings or of what a batch costs.
func (l live) other() {
	l.Alone, l.Workers, l.Saturated, l.Fetching = quantity{}, quantity{}, quantity{}, nil
	l.Own = fact("Is the input something else than a DataLoader?", true, l.Costs.Other(l.run))
	l.Own.Seen = append(slices.Clone(l.Starved.Seen), seen(nil, l.Costs.Wait, "seconds", "step.wait",
		"the loop waits %s of a %s step for its next batch, which no DataLoader prepares: how is unknown", stoker.AboutSeconds(l.Costs.Wait), stoker.AboutSeconds(l.Costs.HostStep))...)
}

// unfed takes what rules may ask of a loop in which no DataLoader was seen, though the
// hook was not kept out (it says nothing of a loop without an optimizer): there is
// nothing to say of workers, of settings or of what a batch costs.
func (l live) unfed() {
	w := l.launching()
	l.Alone, l.Workers, l.Saturated, l.Cores, l.Launcher = quantity{}, quantity{}, quantity{}, quantity{}, quantity{}
	if !math.IsNaN(l.Idle) && w.String() != "" {
		l.Own = l.own(w)
	}
}
