package watch

import (
	"fmt"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// How long what a screen concludes stays, in seconds of the run. People read it and act on it,
// and a fix is no better for being another one at every look.
const (
	// holdTime is for how long another conclusion must be that of every look before it takes the
	// place of the shown one. [J] Somebody has read a line and found the place in the code by then,
	// and a neighbour's program that comes and goes does so within it. It is a third of the 30 s
	// of which a final verdict is made.
	holdTime = 10.0

	// settleTime is that of a conclusion that nobody can act on, because it has no fix, and of one
	// that rests on less than holdTime of steady steps. [J] Two looks and more agree by then.
	settleTime = 3.0

	// mostStale is how old what is shown may be while looks contradict it, and each other: one window of a
	// final verdict, of which then no second is left.
	mostStale = 30.0

	// startUp is for how long a program that has made no step yet is taken to begin. [J] Importing
	// PyTorch on a loaded machine was seen to take 26 s.
	startUp = 30.0
)

// held is a conclusion and what it is held against.
type held struct {
	key       string  // what is shown: the class and the best fix; "" nothing so far
	confirmed float64 // when a look last came to the same, seconds of the run
	other     string  // what the looks since come to, where they agree
	since     float64 // since when
}

// conclude takes what a look at the run came to, or keeps what is shown where that is to hold.
func (s *State) conclude(v diagnose.Verdict, plan advise.Plan) {
	now, key := s.Run.End(), keyOf(v, plan)
	if s.held.other != key {
		s.held.other, s.held.since = key, now
	}
	switch {
	case s.held.key == "", key == s.held.key:
	case v.HasSteps && !s.Verdict.HasSteps, s.Verdict.Class == diagnose.NotTraining: // the first that rests on steps
	case s.Run.Facts.Exit != nil: // the last word
	case now < s.held.confirmed: // another run under the same name
	case now-s.held.since >= s.patience(), now-s.held.confirmed >= mostStale:
	default:
		return
	}
	s.Verdict, s.Plan = v, plan
	s.held = held{key: key, confirmed: now}
}

// patience is for how long others must contradict what is shown.
func (s *State) patience() float64 {
	w := s.Verdict.Costs.Window
	if len(s.Plan.Fixes) == 0 || w.End-w.Start < holdTime {
		return settleTime
	}
	return holdTime
}

// keyOf tells conclusions apart: by the class and what the best fix changes, whatever that is
// worth at the moment.
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

// beginning says that a run may not have come to its first steps yet; "" if it has.
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
