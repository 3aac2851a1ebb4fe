package watch

import (
	"fmt"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// How long the conclusion on the screen stays, in seconds of the run. People read it and act on
// it, so it should not change at every refresh.
const (
	// holdTime is how long every refresh must reach another conclusion before that replaces the
	// displayed one. [J] By then a reader has read the line and found the place in the code, and
	// short disturbances by other programs have passed. It is a third of the 30 s that a final
	// verdict needs.
	holdTime = 10.0

	// settleTime is the same for a displayed conclusion without a fix, which calls for no action,
	// and for one based on less than holdTime of steady steps. [J] It covers two refreshes or
	// more.
	settleTime = 3.0

	// mostStale is the greatest age of a displayed conclusion that refreshes contradict, even if
	// they contradict each other: one window of a final verdict, which by then has no second in
	// common with it.
	mostStale = 30.0

	// startUp is how long a program without steps counts as starting. [J] Importing PyTorch on a
	// loaded machine took 26 s.
	startUp = 30.0
)

// Judged returns a state with the conclusions from a run. The displayed verdict changes with
// delay: see conclude.
func Judged(s State, run *recording.Run) State {
	s.Run, s.Note = run, ""
	v := judge.Judge(run)
	s.conclude(v, advise.Rank(run, v))
	if len(run.Warnings) > 0 {
		s.Note = run.Warnings[0]
	}
	s.parts = nil
	if s.Verdict.HasSteps {
		s.parts = partsOf(measure.From(run).Setup)
	}
	return s
}

// conclude displays a new conclusion, or keeps the displayed one if it must be held.
func (s *State) conclude(v diagnose.Verdict, plan advise.Plan) {
	now, key := s.Run.End(), keyOf(v, plan)
	if s.held.other != key {
		s.held.other, s.held.since = key, now
	}
	switch {
	case s.held.key == "", key == s.held.key:
	// the first conclusion from steps
	case v.HasSteps && !s.Verdict.HasSteps, s.Verdict.Class == diagnose.NotTraining:
	case s.Run.Facts.Exit != nil: // the final one
	case now < s.held.confirmed: // another run with the same name
	case now-s.held.since >= s.patience(), now-s.held.confirmed >= mostStale:
	default:
		return
	}
	s.Verdict, s.Plan = v, plan
	s.held = held{key: key, confirmed: now}
}

// patience returns how long another conclusion must last to replace the displayed one.
func (s *State) patience() float64 {
	w := s.Verdict.Costs.Window
	if len(s.Plan.Fixes) == 0 || w.End-w.Start < holdTime {
		return settleTime
	}
	return holdTime
}

// keyOf identifies a conclusion: the class and what the best fix changes, without its present
// speed-up.
func keyOf(v diagnose.Verdict, plan advise.Plan) string {
	key := string(v.Class)
	if len(plan.Fixes) > 0 {
		best := plan.Fixes[0]
		key += " " + best.Name
		for _, c := range best.Changes {
			key += fmt.Sprintf(" %s=%v", c.Setting, c.To)
		}
	}
	return key
}

// beginning says that a run may not have reached its first steps yet; "" if it has.
func (s *State) beginning() string {
	undecided := s.Verdict.Class == diagnose.NotTraining || s.Verdict.Class == diagnose.Unknown
	switch n := len(s.Run.Steps); {
	case s.Run.Facts.Exit != nil || s.Verdict.HasSteps || !undecided || s.Run.End() >= startUp:
		return ""
	case n > 0:
		return quantity.Many(n, "step") + " so far"
	default:
		return "no step so far"
	}
}
