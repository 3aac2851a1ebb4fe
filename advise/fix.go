package advise

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
)

// Plan is what to do, most worth first, and what not to do.
type Plan struct {
	Fixes    []Fix
	Rejected []Rejected // what people would try next, and why not

	// Doubtful are those of the rejected that may well be worth it: a run would tell.
	Doubtful []Fix

	// Replay is a trace's replay without a change: a sanity check, no accuracy. Nil
	// where nothing was replayed.
	Replay *replay.Check

	// Law is the law's own account of the job as it is. Nil if it was not asked.
	Law *Explained
}

// Explained is a measured step and the step that the law computes from its costs, seconds.
// What that leaves out is inside of every forecast's interval.
type Explained struct{ Measured, Law float64 }

// Residual is 1 where the costs explain all of a step.
func (e Explained) Residual() float64 { return e.Measured / e.Law }

// Fix is one piece of advice.
type Fix struct {
	Name     string // the setting that gives it its name: "num_workers"
	Title    string
	Changes  []stoker.Change
	Forecast predict.Forecast
	Effort   Effort
	Risk     Risk
	Saves    string   // the saving of a change that need not be faster
	Where    string   // file:line of the DataLoader whose settings change; "" of none, or unknown
	Also     []string // those of other DataLoaders in which the same changes
	At       string   // file:line of the program that it is about, where that makes no DataLoader; "" unknown
	Notes    []string // how many and why not more; the traps checked

	// Kind is what the program's line does that a loop without a DataLoader loses most on; "" of other changes.
	Kind diagnose.Kind

	Beside bool // it changes another loader than the one whose steps are judged, that of evaluation
	Cause  bool // it takes away the cause that was named, and comes first

	// Run is the gain of the whole run, if that differs from its steps: of another row the
	// only gain. NaN if it does not differ.
	Run stoker.Interval

	// Mind is what to look at before the change is made; "" if nothing calls for it.
	Mind string

	// Untested says that no pair of runs, before and after such a change, was held
	// against its gain.
	Untested bool

	Lossless bool // no loss is known to be read: a change is said without the word
}

// InWords is a change that no line of a program makes, in words. Whose cores a job is to have, and
// how it gets them, the title says. A program that reads no loss has another reason to wait for the
// device. False of other changes.
func (f Fix) InWords(c stoker.Change) (string, bool) {
	switch n := fmt.Sprint(c.To); {
	case c.Setting == stoker.Cores && f.Name == string(stoker.Cores):
		return fmt.Sprintf("%s (%s)", f.Title, c), true
	case c.Setting == stoker.SyncEvery && f.Title == takeOut:
		return f.Title, true
	case c.Setting == stoker.SyncEvery && f.Lossless && n != "0":
		return fmt.Sprintf("wait for the device every %s steps instead of every step, if the step does not need the result", n), true
	}
	return "", false
}

// Worth is what the fix is worth, in words.
func (f Fix) Worth() string {
	if f.Untested && !math.IsNaN(f.Forecast.Speedup.High) {
		return f.gain() + ", not validated"
	}
	return f.gain()
}

func (f Fix) gain() string {
	s, faster := f.Forecast.Speedup, "faster"
	if len(f.Changes) > 0 && f.Changes[0].Setting == stoker.BatchSize { // a step takes no less
		faster = "as many samples a second"
	}
	if s.Point < 1 && faster == "faster" {
		faster = "as fast"
	}
	switch {
	case math.IsNaN(s.High) && f.Run.High > 0:
		return "the run at most " + quantity.AboutRatio(f.Run.High) + " faster"
	case math.IsNaN(s.High):
		return "worth unknown"
	case math.IsNaN(s.Point):
		return fmt.Sprintf("at most %s %s", quantity.AboutRatio(s.High), faster)
	case f.Saves != "" && s.Point < leastGain:
		return fmt.Sprintf("as fast: %s, and saves %s", quantity.Factor(s), f.Saves)
	}
	return fmt.Sprintf("%s %s (%.2f to %.2f)", quantity.AboutRatio(s.Point), faster, s.Low, s.High)
}

// Rejected is a change that is not worth it here.
type Rejected struct {
	Name string `json:"fix"`
	Why  string `json:"why"`
	Gate Gate   `json:"gate,omitempty"` // that a gain of a trace did not pass; "" if the gain is too small
}

// foreign reports whether a rejection is of a setting that the program's framework does not have:
// a change that does not exist here.
func (r Rejected) foreign() bool { return r.Why == diagnose.ForeignSetting }

// Gate is a check that a gain of a trace must pass before it is shown.
type Gate string

// The gates.
const (
	Physics  Gate = "physics"  // what the device and its link can do
	Program  Gate = "program"  // what the program is, and what its device can do
	Evidence Gate = "evidence" // what of the file carries it
)

// Effort is what a change takes.
type Effort string

// The efforts, least first.
const (
	Flag    Effort = "flag"    // an argument
	Code    Effort = "code"    // a line of the loop
	Data    Effort = "data"    // moving the data set
	Machine Effort = "machine" // another machine or quota
)

var efforts = []Effort{Flag, Code, Data, Machine}

// Risk is what a change may break.
type Risk string

// The risks.
const (
	NoRisk     Risk = "none"
	MemoryRisk Risk = "memory" // takes host memory

	SeedRisk     Risk = "seed"     // random numbers differ, as with another seed
	NumericsRisk Risk = "numerics" // results differ in their last digits, or more
	LearningRisk Risk = "learning" // the optimizer sees other batches: the learning rate follows
)

// riskOfLine is what making a line cheaper may break, by what the line does.
func riskOfLine(kind diagnose.Kind) Risk {
	switch kind {
	case diagnose.Drawing:
		return SeedRisk
	default:
		return NoRisk
	}
}

// mindOfLine is what to know before a line is made cheaper, by what the line does; "" nothing.
func mindOfLine(kind diagnose.Kind) string {
	if kind == diagnose.Simulating || kind == diagnose.Rendering || kind == diagnose.Acting {
		return "whether there are several environments already: more of them than now alter training, more processes do not"
	}
	return ""
}

// leastGain is the speed-up below which a change is not advised: forecasts of
// the closed law are wrong by several per cent, so less cannot be promised.
const leastGain = 1.05
