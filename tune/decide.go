package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/verify"
)

const (
	// leastGain is the least speed-up a change must promise to justify another start of CMD.
	leastGain = 1.05

	// drift is the relative difference between the two halves of a run's steps from which the
	// machine counts as noisy: two runs one after the other may then differ because the machine
	// changed.
	drift = 0.05

	// crowd is the number of cores used by other programs from which the machine counts as
	// noisy, too.
	crowd = 0.5
)

// Trial is the result of trying one fix.
type Trial struct {
	Fix      string           `json:"fix"`
	Changes  []stoker.Change  `json:"changes"`
	Promised *stoker.Interval `json:"promised"` // nil if only an upper bound was promised
	Pairs    []verify.Outcome `json:"pairs"`    // comparisons of a run before and one after
	Losses   *Losses          `json:"losses"`   // set if the fix changes numbers
	Why      string           `json:"why"`      // why it could not be compared; "" if it was compared
	Kept     bool             `json:"kept"`
}

// Worth returns the mean speed-up that the trial measured; unknown if nothing could be
// compared.
func (t Trial) Worth() stoker.Interval {
	low, point, high, n := 0.0, 0.0, 0.0, 0.0
	for _, o := range t.Pairs {
		if o.Speedup != nil {
			low, point, high, n = low+math.Log(o.Speedup.Low), point+math.Log(o.Speedup.Point), high+
				math.Log(o.Speedup.High), n+1
		}
	}
	if n == 0 {
		return stoker.Unknown()
	}
	return stoker.Interval{Low: math.Exp(low / n), Point: math.Exp(point / n), High: math.Exp(high / n)}
}

// shouldKeep reports whether a fix is kept: if at least one pair is faster beyond doubt and no
// pair is slower or could not be compared.
func shouldKeep(pairs []verify.Outcome) bool {
	faster := 0
	for _, o := range pairs {
		switch o.Difference {
		case verify.Faster:
			faster++
		case verify.Slower, verify.NotCompared, verify.OtherWork:
			return false
		case verify.None, verify.TooShort:
		}
	}
	return faster > 0
}

// NextTrial is the fix to try next, or the reason to stop.
type NextTrial struct {
	Fix     advise.Fix
	Changes []stoker.Change // those of the fix that the hook can set
	Why     string          // why to stop; "" to go on
}

// Best is a run with its verdict and its advice. The next trial is chosen from the best run so
// far.
type Best struct {
	Run     *recording.Run
	Verdict diagnose.Verdict
	Plan    advise.Plan

	file   string // path of the recording
	losses []float64
}

// chooseNext picks the next fix to try from the advice for the best run so far: first the
// recommended fixes, then the doubtful ones. It skips fixes that the hook cannot set, that were
// tried already, or that --allow does not permit. inTurn says that each trial takes as many
// starts as on a noisy machine.
func chooseNext(best Best, tried []Trial, allow []string, startsLeft int, inTurn bool) NextTrial {
	refused, unset := "", ""
	_, unfit := findTarget(best.Run, best.Verdict)
	fixes := slices.DeleteFunc(slices.Clone(best.Plan.Fixes), func(f advise.Fix) bool { return f.Beside })
	slices.SortStableFunc(fixes, func(a, b advise.Fix) int { // fixes that need no stoker feed come first
		return cmp.Compare(slices.IndexFunc(a.Changes, usesOwnLoader), slices.IndexFunc(b.Changes, usesOwnLoader))
	})
	if fixes = append(fixes, best.Plan.Doubtful...); len(fixes) == 0 {
		more := max(2, best.Verdict.Costs.Workers+1)
		unfit = best.Verdict.Grounds.Alters(stoker.Change{Setting: stoker.NumWorkers, To: more})
	}
	for _, fix := range fixes {
		changes := settableOf(fix.Changes)
		if unfit != "" {
			changes = slices.DeleteFunc(changes, func(c stoker.Change) bool { return !isNumeric(c) })
		}
		if len(changes) < len(fix.Changes) && !slices.ContainsFunc(changes, usesOwnLoader) {
			fix.Forecast.Speedup = best.worth(changes)
		}
		gain := fix.Forecast.Speedup.Point
		if slices.ContainsFunc(changes, isNumeric) {
			gain = fix.Forecast.Speedup.High // only an upper bound is known
		}
		switch {
		case len(changes) == 0:
			unset = cmp.Or(unset, fmt.Sprintf("what is left is not set by the hook: %s (%s)", fix.Name, fix.Worth()))
		case !(gain >= leastGain) || slices.ContainsFunc(tried, func(t Trial) bool { return same(t.Changes, changes) }):
		case len(findDenied(best, changes, allow)) > 0:
			d := findDenied(best, changes, allow)[0]
			refused = cmp.Or(refused, fmt.Sprintf("%s promises %s, but %s: --allow %s tries it all the same", fix.Name,
				formatPromise(fix.Forecast.Speedup), d.Why, d.Allow))
		case len(orderStarts(changes, inTurn)) > startsLeft:
			return NextTrial{Why: fmt.Sprintf(
				"no more starts are allowed: to try %s takes %d, and --starts leaves %d. It would promise %s",
				fix.Name, len(orderStarts(changes, inTurn)), startsLeft, formatPromise(fix.Forecast.Speedup))}
		default:
			return NextTrial{Fix: fix, Changes: changes}
		}
	}
	return NextTrial{Why: cmp.Or(refused, unfit, unset, "nothing promises more than 5 %: the loop itself is the limit")}
}

// formatPromise formats a promised speed-up, which may be an upper bound only.
func formatPromise(worth stoker.Interval) string {
	if math.IsNaN(worth.Point) && worth.High > 0 {
		return "at most " + quantity.AboutRatio(worth.High)
	}
	return quantity.Factor(worth)
}

// InTurn is the number of starts of a trial on a noisy machine.
const InTurn = 3

// orderStarts returns the starts of a trial: true for each start with the changes, false for each
// without. On a noisy machine the best run so far and these starts form the sequence before,
// after, after, before, so that a linear drift cancels out. If the changes alter numbers, one
// start without them follows, to measure how far two unchanged runs differ.
func orderStarts(changes []stoker.Change, inTurn bool) []bool {
	switch {
	case inTurn:
		return []bool{true, true, false}
	case slices.ContainsFunc(changes, isNumeric):
		return []bool{true, false}
	}
	return []bool{true}
}

// settableOf returns those changes of a fix that can be set. If stoker feed makes the pictures,
// that is its change alone: it chooses its number of threads itself.
func settableOf(changes []stoker.Change) []stoker.Change {
	if i := slices.IndexFunc(changes, usesOwnLoader); i >= 0 {
		return changes[i : i+1]
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c stoker.Change) bool {
		return !slices.Contains(settable, c.Setting) && !isNumeric(c)
	})
}

func (b Best) worth(changes []stoker.Change) stoker.Interval {
	if len(changes) == 0 {
		return stoker.Unknown()
	}
	return measure.From(b.Run).Forecast(changes...).Speedup
}

func findDenied(best Best, changes []stoker.Change, allow []string) []Doubt {
	l, _ := findTarget(best.Run, best.Verdict)
	program := slices.DeleteFunc(slices.Clone(changes), func(c stoker.Change) bool { return !isNumeric(c) })
	return Plan{Loaders: []Loader{{Doubts: doubts(best.Run, l, changes)}}, Program: program}.Denied(allow)
}

// same reports whether two lists set the same settings to the same values.
func same(a, b []stoker.Change) bool {
	return slices.EqualFunc(a, b, func(x, y stoker.Change) bool {
		return x.Setting == y.Setting && fmt.Sprint(x.To) == fmt.Sprint(y.To)
	})
}

// addChanges adds changes to those already made. A setting that is in both keeps its original value
// in From and gets the new value in To.
func addChanges(made, more []stoker.Change) []stoker.Change {
	all := slices.Clone(made)
	for _, c := range more {
		if i := slices.IndexFunc(all, func(had stoker.Change) bool { return had.Setting == c.Setting }); i >= 0 {
			all[i].To = c.To
		} else {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b stoker.Change) int {
		return cmp.Compare(slices.Index(settable, a.Setting), slices.Index(settable, b.Setting))
	})
	return all
}

// whyNoisy returns why two runs one after the other cannot be compared on this machine; "" if
// they can.
func whyNoisy(times []float64, others float64) string {
	if others >= crowd {
		return fmt.Sprintf("other programs use %s cores", quantity.About(others))
	}
	if half := len(times) / 2; half > 0 {
		first, second := stat.Mean(times[:half]), stat.Mean(times[half:])
		if off := math.Abs(first/second - 1); off >= drift {
			return "the two halves of the first run differ by " + quantity.Percent(off)
		}
	}
	return ""
}
