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

// Options say how to tune.
type Options struct {
	Allow   []string // words that accept what changes batches
	Most    int      // starts of the command
	Version string

	// Start runs the command once with the changes of a plan, nil without any. An error
	// says why nothing of it can be judged.
	Start func(ctx context.Context, name string, plan *Plan) (Attempt, error)

	// Read reads a script.
	Read func(file string) ([]byte, error)

	// Say is told what is done next, and why; Best the plan of what was kept, each time it grows.
	Say  func(text string)
	Best func(Plan)
}

// Attempt is one run of the command.
type Attempt struct {
	Run    *recording.Run
	File   string    // its recording
	Losses []float64 // its first; none where nobody asked for them
}

// Result is what came of it.
type Result struct {
	Stopped  string          `json:"stopped"` // why nothing more was tried
	Starts   int             `json:"starts"`
	Noisy    string          `json:"noisy"` // why before and after were run in turn; "" where they were not
	Trials   []Trial         `json:"trials"`
	Outcome  *verify.Outcome `json:"outcome"` // the first run beside the best; nil where nothing was kept
	Plan     Plan            `json:"plan"`
	Baseline string          `json:"baseline"` // recording
	Emulated bool            `json:"emulated"`
}

// Object is a result as stoker tune --json prints it, and stoker report reads it.
type Object struct {
	Schema int `json:"schema"`
	Result

	Patch string   `json:"patch"`
	Left  []string `json:"left"` // what the patch could not change
}

// tuning is one tuning.
type tuning struct {
	Options
	result Result
	first  Best
	best   Best
	made   []stoker.Change // that were kept
	plan   *Plan           // of them; nil without any
}

// Run tunes. Where ctx ends it returns the best so far, and says so in Stopped. An
// error means that the command as it is could not be judged.
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
		o := compare(l.first, l.best, l.promised())
		l.result.Outcome, l.result.Plan = &o, *l.plan
	}
	return l.result, nil
}

// promised is what the law promises for all that was kept; of numbers it knows nothing.
func (l *tuning) promised() predict.Forecast {
	if slices.ContainsFunc(l.made, numeric) {
		return predict.Forecast{Speedup: stoker.Unknown()}
	}
	return measure.From(l.first.Run).Forecast(l.made...)
}

func judged(s Attempt) Best {
	verdict := judge.Judge(s.Run)
	return Best{s.Run, verdict, advise.Rank(s.Run, verdict), s.File, s.Losses}
}

// stepTimes are those of the judged steps of a run; none where nothing can be judged.
func stepTimes(run *recording.Run) []float64 {
	costs, ok := measure.Slowest(run)
	if !ok {
		return nil
	}
	return run.Whole(costs.Window).StepTimes()
}

func (l *tuning) start(ctx context.Context, name string, plan *Plan) (Best, error) {
	l.result.Starts++
	l.Say(fmt.Sprintf("start %d of at most %d: %s", l.result.Starts, l.Most, name))
	s, err := l.Start(ctx, name, plan)
	switch {
	case err != nil:
		return Best{}, err
	case ctx.Err() != nil:
		return Best{}, ctx.Err()
	case len(stepTimes(s.Run)) < leastSteps/3: // verify's own least
		return Best{}, fmt.Errorf(
			"judge the run: %d steady training steps were seen in %.0f s: some %.0f s of them are needed: CMD has to "+
				"train for that long, and --longest has to leave it the time", len(stepTimes(s.Run)), s.Run.End(),
			leastSteps/6+leastSeconds)
	}
	return judged(s), nil
}

// turn tries the next fix, or says why it is the end.
func (l *tuning) turn(ctx context.Context) {
	inTurn := l.result.Noisy != ""
	next := chooseNext(l.best, l.result.Trials, l.Allow, l.Most-l.result.Starts, inTurn)
	if next.Why != "" {
		l.result.Stopped = next.Why
		return
	}
	made := with(l.made, next.Changes)
	plan, err := planOf(l.first.Run, l.first.Verdict, made, l.result.Baseline, l.Version, l.Read)
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
		l.made, l.plan, l.best = made, &plan, last
		l.Best(plan)
	}
	l.result.Trials = append(l.result.Trials, trial)
	l.Say(trial.sentence())
}

// try runs the command with a plan, and where that is needed once more with and without it.
func (l *tuning) try(ctx context.Context, t *Trial, plan *Plan, inTurn bool) (after Best) {
	var done []Best
	for _, set := range order(t.Changes, inTurn) {
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
	// pictures that are made later change no setting
	if o := t.Pairs[0]; o.Refused == "" && len(o.Changes) == 0 && !slices.ContainsFunc(t.Changes, feeds) {
		t.Why = "the settings were not set: what the hook said of it is in the log of that run"
	} else if slices.ContainsFunc(t.Changes, numeric) {
		if t.Losses, err = compareLosses(l.best.losses, done[len(done)-1].losses, done[0].losses); err != nil {
			t.Why = err.Error()
		}
	}
	return done[0]
}

func compare(before, after Best, promise predict.Forecast) verify.Outcome {
	o := verify.Compare(before.Run, after.Run, promise)
	o.Was, o.Now = string(before.Verdict.Headline()), string(after.Verdict.Headline())
	o.Run = verify.CompareRuns(before.Verdict, after.Verdict)
	return o
}

// sentence is what became of a trial, in a sentence.
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

// PromisedRange is what a trial was promised; unknown where that is only an upper bound.
func (t Trial) PromisedRange() stoker.Interval {
	if t.Promised == nil {
		return stoker.Unknown()
	}
	return *t.Promised
}

// SettingsText are the changes of a trial in words.
func (t Trial) SettingsText() string {
	words := make([]string, len(t.Changes))
	for i, c := range t.Changes {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}
