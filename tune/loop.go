package tune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/verify"
)

// Options configure a tuning.
type Options struct {
	Allow   []string // values of --allow
	Most    int      // greatest number of starts of the command
	Version string

	// Start runs the command once with the changes of a plan, which is nil for none. An error
	// says why the run cannot be judged.
	Start func(ctx context.Context, name string, plan *Plan) (Attempt, error)

	// Read returns the text of a script.
	Read func(file string) ([]byte, error)

	// Say reports the next action and its reason. Best receives the plan of all kept changes
	// each time a change is kept.
	Say  func(text string)
	Best func(Plan)
}

// Attempt is one run of the command.
type Attempt struct {
	Run    *recording.Run
	File   string    // path of its recording
	Losses []float64 // its first losses; none if they were not recorded
}

// Result is the result of a tuning.
type Result struct {
	Stopped  string          `json:"stopped"` // why nothing more was tried
	Starts   int             `json:"starts"`
	Noisy    string          `json:"noisy"` // why each trial is run twice in turn; "" if it is not
	Trials   []Trial         `json:"trials"`
	Outcome  *verify.Outcome `json:"outcome"` // the first run compared with the best; nil if nothing was kept
	Plan     Plan            `json:"plan"`
	Baseline string          `json:"baseline"` // recording
	Emulated bool            `json:"emulated"`
}

// Object is the result of a tuning as stoker tune --json prints it and stoker report reads it.
type Object struct {
	Schema int `json:"schema"`
	Result

	Patch string   `json:"patch"`
	Left  []string `json:"left"` // what the patch could not change
}

// tuning is the state of one tuning.
type tuning struct {
	Options
	result Result
	first  Best
	best   Best
	made   []stoker.Change // the changes kept so far
	also   []string        // lines of other loaders that get some of them
	plan   *Plan           // the plan that sets them; nil if there are none
}

// Run tunes a command. If ctx ends, it returns the best result so far and says so in Stopped.
// It returns an error if the unchanged command cannot be judged.
func Run(ctx context.Context, o Options) (Result, error) {
	l := tuning{Options: o, result: Result{Trials: []Trial{}}}
	first, err := l.start(ctx, "baseline", nil)
	if err != nil {
		return l.result, err
	}
	run := first.Run
	l.first, l.best, l.result.Baseline, l.result.Emulated = first, first, first.file, run.Emulated()
	if l.result.Plan, err = planOf(run, l.first.Verdict, nil, first.file, o.Version, o.Read); err != nil {
		return l.result, err
	}
	l.result.Noisy = whyNoisy(stepTimes(run), l.first.Verdict.Costs.Others)
	if l.result.Noisy != "" {
		l.Say("before and after are run in turn, twice each: " + l.result.Noisy)
	}
	for l.result.Stopped == "" {
		l.turn(ctx)
	}
	if l.plan != nil {
		o := compare(l.first, l.best, l.promisedForecast())
		l.result.Outcome, l.result.Plan = &o, *l.plan
	}
	return l.result, nil
}

// promisedForecast returns the predicted speed-up of all kept changes; unknown if one of them
// changes numbers.
func (l *tuning) promisedForecast() predict.Forecast {
	if slices.ContainsFunc(l.made, isNumeric) {
		return predict.Forecast{Speedup: stoker.Unknown()}
	}
	return measure.From(l.first.Run).Forecast(l.made...)
}

// judgeBest returns a run with its verdict and its ranked advice.
func judgeBest(s Attempt) Best {
	verdict := judge.Judge(s.Run)
	return Best{s.Run, verdict, advise.Rank(s.Run, verdict), s.File, s.Losses}
}

// stepTimes returns the times of a run's judged steps; nil if the run cannot be judged.
func stepTimes(run *recording.Run) []float64 {
	costs, ok := measure.Slowest(run)
	if !ok {
		return nil
	}
	return run.Whole(costs.Window).StepTimes()
}

// start runs the command once and judges the run. It returns an error if the run has too few
// steady steps.
func (l *tuning) start(ctx context.Context, name string, plan *Plan) (Best, error) {
	l.result.Starts++
	l.Say(fmt.Sprintf("start %d of at most %d: %s", l.result.Starts, l.Most, name))
	s, err := l.Start(ctx, name, plan)
	switch {
	case err != nil:
		return Best{}, err
	case ctx.Err() != nil:
		return Best{}, ctx.Err()
	case len(stepTimes(s.Run)) < leastSteps/3: // verify needs that many at least
		return Best{}, fmt.Errorf(
			"judge the run: %d steady training steps were seen in %.0f s: some %.0f s of them are needed: CMD has to "+
				"train for that long, and --longest has to leave it the time", len(stepTimes(s.Run)), s.Run.End(),
			leastSteps/6+leastSeconds)
	}
	return judgeBest(s), nil
}

// turn tries the next fix, or sets Stopped if none is left.
func (l *tuning) turn(ctx context.Context) {
	inTurn := l.result.Noisy != ""
	next := chooseNext(l.best, l.result.Trials, l.Allow, l.Most-l.result.Starts, inTurn)
	if next.Why != "" {
		l.result.Stopped = next.Why
		return
	}
	made := addChanges(l.made, next.Changes)
	also := slices.Concat(l.also, next.Fix.Also)
	plan, err := planOf(l.first.Run, l.first.Verdict, made, l.result.Baseline, l.Version, l.Read)
	if err == nil {
		err = plan.keepOthers(l.first.Run, also, l.Read)
	}
	if err != nil {
		l.result.Stopped = err.Error()
		return
	}
	trial := Trial{Fix: next.Fix.Name, Changes: next.Changes, Pairs: []verify.Outcome{}}
	if worth := next.Fix.Forecast.Speedup; worth.Known() {
		trial.Promised = &worth
	}
	last := l.try(ctx, &trial, &plan, inTurn)
	if ctx.Err() != nil {
		l.result.Stopped = "it was interrupted: this is the best so far"
		return
	}
	if trial.Kept = trial.Why == "" && shouldKeep(trial.Pairs) &&
		(trial.Losses == nil || trial.Losses.Within); trial.Kept {
		l.made, l.also, l.plan, l.best = made, also, &plan, last
		l.Best(plan)
	}
	l.result.Trials = append(l.result.Trials, trial)
	l.Say(trial.sentence())
}

// try runs the command with a plan and, if order asks for it, again with and without it. It
// fills in t and returns the first run with the plan.
func (l *tuning) try(ctx context.Context, t *Trial, plan *Plan, inTurn bool) (after Best) {
	var done []Best
	for _, set := range orderStarts(t.Changes, inTurn) {
		p, name := plan, "with "+t.SettingsText()
		if !set {
			p, name = l.plan, "without "+t.SettingsText()+", once more"
		}
		run, err := l.start(ctx, name, p)
		if err != nil {
			t.Why = err.Error()
			return Best{}
		}
		done = append(done, run)
	}
	promise := predict.Forecast{Speedup: t.PromisedRange()}
	t.Pairs = append(t.Pairs, compare(l.best, done[0], promise))
	if last := len(done) - 1; last > 0 {
		t.Pairs = append(t.Pairs, compare(done[last], done[last-1], promise))
	}
	var err error
	// stoker feed changes no setting of the loader, so that fix is exempt.
	if o := t.Pairs[0]; o.Refused == "" && len(o.Changes) == 0 && !slices.ContainsFunc(t.Changes, usesOwnLoader) {
		t.Why = "the settings were not set: what the hook said of it is in the log of that run"
	} else if slices.ContainsFunc(t.Changes, isNumeric) {
		if t.Losses, err = compareLosses(l.best.losses, done[len(done)-1].losses, done[0].losses); err != nil {
			t.Why = err.Error()
		}
	}
	return done[0]
}

// compare compares two runs and fills in their verdicts.
func compare(before, after Best, promise predict.Forecast) verify.Outcome {
	o := verify.Compare(before.Run, after.Run, promise)
	o.Was, o.Now = string(before.Verdict.Headline()), string(after.Verdict.Headline())
	o.Run = verify.CompareRuns(before.Verdict, after.Verdict)
	return o
}

// sentence describes the result of a trial in one sentence.
func (t Trial) sentence() string {
	what := t.SettingsText() + " is not kept: "
	if t.Kept {
		what = t.SettingsText() + " is kept: "
	}
	worth, losses := t.Worth(), ""
	if t.Losses != nil {
		losses = ", " + t.Losses.Sentence()
	}
	switch {
	case t.Why != "":
		return what + t.Why
	case math.IsNaN(worth.Point):
		return what + t.Pairs[0].Refused
	}
	return what + quantity.Factor(worth) + ", promised " + formatPromise(t.PromisedRange()) + losses
}

// PromisedRange returns the promised speed-up; unknown if only an upper bound was promised.
func (t Trial) PromisedRange() stoker.Interval {
	if t.Promised == nil {
		return stoker.Unknown()
	}
	return *t.Promised
}

// SettingsText lists the changes of a trial, separated by commas.
func (t Trial) SettingsText() string {
	words := make([]string, len(t.Changes))
	for i, c := range t.Changes {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}
