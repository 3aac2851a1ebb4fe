package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of a hang. [J] A checkpoint of a large model, or an evaluation, takes less
// than a minute without a step, or somebody of the job works at it.
const (
	hungTime   = 60.0
	hungSteps  = 20.0 // or as many steps
	hungAtWork = 0.05 // cores that the whole job uses at most
)

// hung tells of a run that made steps and then stopped to, though it goes on and nobody in
// it works: what waits for a rank, a lock or a worker that will not come.
func (l live) hung() (Finding, bool) {
	if exit := l.run.Facts.Exit; exit != nil && exit.Signal == "" || len(l.run.Steps) == 0 {
		return Finding{}, false // it ended by itself
	}
	last, periods := 0.0, []float64(nil)
	for _, s := range l.run.Steps {
		last = max(last, s.Start+max(stat.Or(s.Period, 0), stat.Or(s.Wait, 0)))
		periods = append(periods, s.Period)
	}
	to := l.run.End()
	still := to - last
	if still < max(hungTime, hungSteps*stat.Or(stat.Median(known(periods)), 0)) {
		return Finding{}, false
	}
	used := l.run.Find(recording.TreeCPU, "tree").Rate(last, to)
	disk := l.run.Find(recording.ThreadState, predict.LaunchThread(l.run, l.Costs.Window.PID)).Share(last, to, recording.OnDisk, recording.Remote)
	if !(used <= hungAtWork) || disk > 0.1 {
		return Finding{}, false
	}
	f := said("hung", fmt.Sprintf("no step was made in the last %s, though the job goes on and nobody in it works (%s cores): it waits for something that does not come, such as another rank, a lock or a worker that died", stoker.AboutSeconds(still), stoker.AboutCores(used)))
	if _, gpu := l.gpu(); l.run.Find(recording.GPUUtilisation, gpu).Mean(last, to) > 0.95 {
		f.Text += "; the device spins in a kernel all the while, as in a collective that a rank does not come to"
	}
	f.From, f.To, f.Seconds = last, to, still
	return f, true
}

func known(x []float64) (out []float64) {
	for _, v := range x {
		if v > 0 {
			out = append(out, v)
		}
	}
	return out
}
