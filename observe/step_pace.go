package observe

import (
	"slices"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Seconds after which a process is traced whose steps are not steady.
const (
	warmTime     = 20.0 // since its first step that trains
	trainingTime = 90.0 // since its first step, where none of them trains
)

// pacedWriter passes steps on and measures their pace.
type pacedWriter struct {
	*recording.Writer
	paces map[int]*pace
}

// AddStep adds a step.
func (w pacedWriter) AddStep(s recording.Step) {
	w.Writer.AddStep(s)
	if s.First || !(s.Period > 0) {
		return
	}
	one := w.paces[s.PID]
	if one == nil {
		one = &pace{first: s.Start}
		w.paces[s.PID] = one
	}
	if s.Phase != recording.Train && s.Phase != "" {
		return
	}
	if one.n == 0 {
		one.first = s.Start
	}
	one.periods[one.n%len(one.periods)] = s.Period
	one.n++
}

// pace is how a process steps.
type pace struct {
	periods [10]float64 // of the last steps, seconds, in a ring
	n       int
	// when its first step that trains began, until then the first of another kind, seconds of the recording
	first float64
}

// warmSteps are left out of the judgement of a pace.
const warmSteps = 2

// isReady reports whether a trace of a process shows its usual steps: imports and
// preparations can take minutes. optimizes says that its optimizer was seen to step.
func (p *pace) isReady(optimizes bool, now float64) bool {
	patience := warmTime
	if p.n == 0 && !optimizes {
		patience = trainingTime
	}
	return p.isSteady() || now-p.first > patience
}

// isSteady reports whether ten steps after the first two took about the same time:
// the medians of the earlier and of the later five within half of each other.
// Medians, because every few steps one is waiting for a batch.
func (p *pace) isSteady() bool {
	if p.n < len(p.periods)+warmSteps {
		return false
	}
	at := p.n % len(p.periods)
	inOrder := append(slices.Clone(p.periods[at:]), p.periods[:at]...)
	half := len(inOrder) / 2
	early, late := stat.Median(inOrder[:half]), stat.Median(inOrder[half:])
	return early < 1.5*late && late < 1.5*early
}
