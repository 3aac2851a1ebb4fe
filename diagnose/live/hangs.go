package live

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of hangs in a run. [J] Half a second is what people notice in a log.
const (
	hangTime  = 0.5 // seconds above the median
	fewHangs  = 3
	hangShare = 0.01 // of the window
	// worksInHangs is the share of long steps in which kernels run, from which the thread waits for the device.
	worksInHangs = 0.9
)

// findHangs tells of steps that take half a second and more longer than the others.
func (l filler) findHangs() (diagnose.Finding, bool) {
	w := l.Costs.Window
	var times []float64
	for _, s := range w.Steps {
		times = append(times, s.Period)
	}
	median := stat.Median(keepKnown(times))
	if !(median < hangTime) {
		return diagnose.Finding{}, false // steps that are as long by themselves tell nothing
	}
	_, gpu := l.findGPU()
	n, lost, waited, seen, busy, starts := 0, 0.0, 0.0, 0.0, 0.0, []float64(nil)
	for _, s := range w.Steps {
		if over := s.Period - median; over >= hangTime && !s.First {
			n, lost, starts = n+1, lost+over, append(starts, s.Start)
			long := recording.Window{Start: s.Start, End: s.Start + s.Period}
			if share := l.run.KernelTime(gpu, long).Share; !math.IsNaN(share) {
				seen, busy = seen+over, busy+over*share
			}
			waited += max(0, min(over, s.Wait-l.Costs.Wait))
		}
	}
	share := lost / (w.End - w.Start)
	if n < fewHangs || share < hangShare {
		return diagnose.Finding{}, false
	}
	if busy/seen >= worksInHangs { // the loop launches ahead, and waits for the device at times
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingHangs,
		fmt.Sprintf("%d of %d steps take half a second or more longer than the median of %s: %s of the time in all",
			n, len(w.Steps), quantity.AboutSeconds(median), quantity.Percent(share)))
	switch part := waited / lost; {
	case part > diagnose.WaitsOfHangs:
		f.Text += ": they wait for a batch"
	case part < diagnose.OthersOfHangs:
		f.Text += ": not for a batch, but between the batches (a checkpoint, logging, an allocation, garbage " +
			"collection, another rank)"
	}
	if every := findBeat(starts); every > 0 {
		f.Text += fmt.Sprintf(", one comes every %s", quantity.AboutSeconds(every))
	}
	f.Seconds, f.Share, f.Saves = lost, share, share
	return f, true
}

// findBeat is the time between events that come regularly; 0 if they do not.
func findBeat(at []float64) float64 {
	var apart []float64
	for i := 1; i < len(at); i++ {
		apart = append(apart, at[i]-at[i-1])
	}
	if cv := stat.CV(apart); len(apart) < fewHangs || math.IsNaN(cv) || cv > diagnose.RegularHangs {
		return 0
	}
	return stat.Mean(apart)
}

// Start values of a hang. [J] A checkpoint of a large model, or an evaluation, takes less
// than a minute without a step, or somebody of the job works at it.
const (
	hungTime   = 60.0
	hungSteps  = 20.0 // or as many steps
	hungAtWork = 0.05 // cores that the whole job uses at most
)

// findHung tells of a run that made steps and then stopped, though the program continues: nothing in
// it works, as it is waiting for a rank, a lock or a worker.
func (l filler) findHung() (diagnose.Finding, bool) {
	if exit := l.run.Facts.Exit; exit != nil && exit.Signal == "" || !recording.ShowLoop(l.run.Steps) {
		return diagnose.Finding{}, false // it ended normally
	}
	last, periods := 0.0, []float64(nil)
	for _, s := range l.run.Steps {
		last = max(last, s.Start+max(stat.Or(s.Period, 0), stat.Or(s.Wait, 0)))
		periods = append(periods, s.Period)
	}
	to := l.run.End()
	still := to - last
	if still < max(hungTime, hungSteps*stat.Or(stat.Median(keepKnown(periods)), 0)) {
		return diagnose.Finding{}, false
	}
	used := l.run.Find(recording.TreeCPU, "tree").Rate(last, to)
	disk := l.run.Find(recording.ThreadState, measure.LaunchThread(l.run, l.Costs.Window.PID)).Share(last, to,
		recording.OnDisk, recording.Remote)
	if !(used <= hungAtWork) || disk > diagnose.HungOnDisk {
		return diagnose.Finding{}, false
	}
	if none := measure.ReadRequests(l.run, l.Costs.Window, last, to).None; none >= diagnose.Mostly {
		return diagnose.Finding{}, false // nobody asks the server
	}
	f := diagnose.NewTextFinding(diagnose.FindingHung,
		fmt.Sprintf("no step was made in the last %s, though the job goes on and nobody in it works (%s cores): it "+
			"waits for something that does not come, such as another rank, a lock or a worker that died",
			quantity.AboutSeconds(still), quantity.AboutCores(used)))
	_, gpu := l.findGPU()
	if l.run.KernelTime(gpu, recording.Window{Start: last, End: to}).Share > diagnose.AllInAKernel {
		f.Text += ". The device spins in a kernel all the while, as in a collective that a rank does not come to"
	}
	f.From, f.To, f.Seconds = last, to, still
	return f, true
}
