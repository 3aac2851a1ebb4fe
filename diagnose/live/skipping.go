package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// findSkipping reports a loop that fetches batches and discards them, as frameworks do to resume
// in the middle of an epoch. Such batches are a separate phase (recording.Skip) and no steps.
func (l filler) findSkipping() (diagnose.Finding, bool) {
	n, seconds, trains := 0, 0.0, false
	f := diagnose.NewFinding(diagnose.FindingSkippingBatches)
	for _, s := range l.run.Steps {
		if s.PID != l.Costs.Window.PID {
			continue
		}
		trains = trains || s.Phase == recording.Train
		if s.Phase != recording.Skip {
			continue
		}
		if n == 0 {
			f.From = s.Start
			f.Source = l.whereIterated(s)
		}
		took := s.Period
		if !(took > 0) {
			took = s.Wait
		}
		n, seconds, f.To = n+1, seconds+took, s.Start+took
	}
	if n == 0 {
		return diagnose.Finding{}, false
	}
	until := "before the first was trained with"
	if !trains {
		until = "and none was trained with yet"
	}
	where := ""
	if f.Source != "" {
		where = " at " + f.Source
	}
	f.Text = fmt.Sprintf("%d batches were fetched%s and thrown away in %s, %s: behind them no optimizer stepped and the "+
		"device did nothing, as when a run is resumed in the middle of an epoch. They count in no figure above. A "+
		"sampler that begins there skips them without preparing them", n, where, quantity.AboutSeconds(seconds), until)
	f.Seconds, f.Advice = seconds, diagnose.ResumeAdvice
	return f, true
}

// whereIterated is the line that asks for a step's batches; "" if it is not known.
func (l filler) whereIterated(s recording.Step) string {
	if loader := l.run.FindLoader(s.PID, s.Loader); loader != nil {
		return loader.Where
	}
	return ""
}

// onlySkips reports whether the judged process fetches batches and has done nothing with any.
func (l filler) onlySkips() bool {
	skips := false
	for _, s := range l.run.Steps {
		if s.PID == l.Costs.Window.PID && s.Phase != recording.Skip {
			return false
		}
		skips = skips || s.Phase == recording.Skip
	}
	return skips
}
