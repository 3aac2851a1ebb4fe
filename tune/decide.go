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
	// leastGain is what a change must promise to be worth another start of CMD.
	leastGain = 1.05

	// drift is the difference of the two halves of a run's steps from which one run
	// after the other may differ for the machine's sake.
	drift = 0.05

	// crowd is how many cores others use where that is so, too.
	crowd = 0.5
)

// Trial is one fix that was tried.
type Trial struct {
	Fix      string           `json:"fix"`
	Changes  []stoker.Change  `json:"changes"`
	Promised *stoker.Interval `json:"promised"` // nil where that is only an upper bound
	Pairs    []verify.Outcome `json:"pairs"`    // before and after, in turn
	Losses   *Losses          `json:"losses"`   // where it changes numbers
	Why      string           `json:"why"`      // it could not be compared; "" where it was
	Kept     bool             `json:"kept"`
}

// Worth is the speed-up that a trial measured, by itself; unknown where nothing was
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

// shouldKeep decides whether what was tried stays: where it was faster, and where it was
// tried twice in no pair slower and in one of them faster beyond doubt.
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

// NextTrial is what comes next: a fix to try, or why there is none.
type NextTrial struct {
	Fix     advise.Fix
	Changes []stoker.Change // of it, those that the hook sets
	Why     string          // to stop; "" to go on
}

// Best is a run with what is concluded of it. What comes next is decided by that of the best so far.
type Best struct {
	Run     *recording.Run
	Verdict diagnose.Verdict
	Plan    advise.Plan

	file   string // of the recording
	losses []float64
}

// chooseNext picks the best fix of the best run so far that the hook can set, that was not
// tried and that is allowed: of what is advised, and then of what may well be worth a start. inTurn says that each
// costs as many starts as on a noisy machine.
func chooseNext(best Best, tried []Trial, allow []string, startsLeft int, inTurn bool) NextTrial {
	refused, unset := "", ""
	_, unfit := findTarget(best.Run, best.Verdict)
	fixes := slices.DeleteFunc(slices.Clone(best.Plan.Fixes), func(f advise.Fix) bool { return f.Beside })
	slices.SortStableFunc(fixes, func(a, b advise.Fix) int { // what the script can have without us comes first
		return cmp.Compare(slices.IndexFunc(a.Changes, feeds), slices.IndexFunc(b.Changes, feeds))
	})
	if fixes = append(fixes, best.Plan.Doubtful...); len(fixes) == 0 {
		more := max(2, best.Verdict.Costs.Workers+1)
		unfit = best.Verdict.Grounds.Alters(stoker.Change{Setting: stoker.NumWorkers, To: more})
	}
	for _, fix := range fixes {
		changes := settableOf(fix.Changes)
		if unfit != "" {
			changes = slices.DeleteFunc(changes, func(c stoker.Change) bool { return !numeric(c) })
		}
		if len(changes) < len(fix.Changes) && !slices.ContainsFunc(changes, feeds) {
			fix.Forecast.Speedup = best.worth(changes)
		}
		gain := fix.Forecast.Speedup.Point
		if slices.ContainsFunc(changes, numeric) {
			gain = fix.Forecast.Speedup.High // there is no more than an upper bound
		}
		switch {
		case len(changes) == 0:
			unset = cmp.Or(unset, fmt.Sprintf("what is left is not set by the hook: %s (%s)", fix.Name, fix.Worth()))
		case !(gain >= leastGain) || slices.ContainsFunc(tried, func(t Trial) bool { return same(t.Changes, changes) }):
		case len(denied(best, changes, allow)) > 0:
			d := denied(best, changes, allow)[0]
			refused = cmp.Or(refused, fmt.Sprintf("%s promises %s, but %s: --allow %s tries it all the same", fix.Name,
				formatPromise(fix.Forecast.Speedup), d.Why, d.Allow))
		case len(order(changes, inTurn)) > startsLeft:
			return NextTrial{Why: fmt.Sprintf(
				"no more starts are allowed: to try %s takes %d, and --starts leaves %d. It would promise %s",
				fix.Name, len(order(changes, inTurn)), startsLeft, formatPromise(fix.Forecast.Speedup))}
		default:
			return NextTrial{Fix: fix, Changes: changes}
		}
	}
	return NextTrial{Why: cmp.Or(refused, unfit, unset, "nothing promises more than 5 %: the loop itself is the limit")}
}

// formatPromise prints what is promised, of which there may be an upper bound alone.
func formatPromise(worth stoker.Interval) string {
	if math.IsNaN(worth.Point) && worth.High > 0 {
		return "at most " + quantity.AboutRatio(worth.High)
	}
	return quantity.Factor(worth)
}

// InTurn is how many starts a trial takes on a noisy machine.
const InTurn = 3

// order says in which starts of a trial the changes are set. On a noisy machine what was
// best before is the first of before, after, after, before, so that what drifts evenly
// cancels. Where numbers change one more start without them tells how far two such are apart.
func order(changes []stoker.Change, inTurn bool) []bool {
	switch {
	case inTurn:
		return []bool{true, true, false}
	case slices.ContainsFunc(changes, numeric):
		return []bool{true, false}
	}
	return []bool{true}
}

// settableOf are those of a fix's changes that can be set. Where stoker feed makes the
// pictures the number of workers is that of its threads, which it finds itself.
func settableOf(changes []stoker.Change) []stoker.Change {
	if i := slices.IndexFunc(changes, feeds); i >= 0 {
		return changes[i : i+1]
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c stoker.Change) bool {
		return !slices.Contains(settable, c.Setting) && !numeric(c)
	})
}

func (b Best) worth(changes []stoker.Change) stoker.Interval {
	if len(changes) == 0 {
		return stoker.Unknown()
	}
	return measure.From(b.Run).Forecast(changes...).Speedup
}

func denied(best Best, changes []stoker.Change, allow []string) []Doubt {
	l, _ := findTarget(best.Run, best.Verdict)
	program := slices.DeleteFunc(slices.Clone(changes), func(c stoker.Change) bool { return !numeric(c) })
	return Plan{Loaders: []Loader{{Doubts: doubts(best.Run, l, changes)}}, Program: program}.Denied(allow)
}

// same reports whether two lists of changes set the same.
func same(a, b []stoker.Change) bool {
	return slices.EqualFunc(a, b, func(x, y stoker.Change) bool {
		return x.Setting == y.Setting && fmt.Sprint(x.To) == fmt.Sprint(y.To)
	})
}

// with adds changes to those that were made already. Where a setting is in both it
// goes from where it was at first to where it goes at last.
func with(made, more []stoker.Change) []stoker.Change {
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

// whyNoisy reports why one run after the other tells little here, "" where it does.
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
