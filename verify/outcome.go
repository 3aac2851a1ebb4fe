package verify

import "github.com/stoker-dev/stoker"

// Outcome is the answer to the question whether a change helped. A nil pointer, null in JSON,
// means unknown.
type Outcome struct {
	// Refused says in a sentence why the runs cannot be compared; "" if they were. The sides are
	// filled in as far as known.
	Refused string `json:"refused"`

	// Work says in a sentence how an epoch after the change is other work than one before; "" if
	// nothing shows that. It is reported before all times and ratios, and the promise is then
	// not compared.
	Work string `json:"work"`

	Basis  Basis `json:"basis"` // unit of the times
	Before Side  `json:"before"`
	After  Side  `json:"after"`

	// mean time before over after, with 95 % interval; nil if refused or if the work differs
	Speedup *stoker.Interval `json:"speedup"`

	// Noise is the relative difference that two such runs exceed in only 1 of 20 cases if
	// nothing was changed; at least the effect of a restart.
	Noise *float64 `json:"noise_floor"`

	Difference Difference `json:"difference"` // what the interval proves

	Promise Promise `json:"promise"`
	Stall   Stall   `json:"stall"`

	// Was and Now are the classes of the verdicts before and after, such as "gpu-bound". The
	// caller fills them in from diagnose.
	Was string `json:"was"`
	Now string `json:"now"`

	// Run is the effect of the change on the whole run, row by row. The caller fills it in. Nil
	// if no steps were recorded or the work differs.
	Run *RunChange `json:"run"`

	Changes  []stoker.Change `json:"changes"`  // settings in which the judged loaders differ
	Emulated bool            `json:"emulated"` // a device was emulated
	Warnings []string        `json:"warnings"`

	// Besides lists other differences, such as the cores used by other programs, if work and
	// settings are the same. They are in Warnings, too.
	Besides []string `json:"-"`
}

// Side is one side of the comparison, in its judged window: one run or several.
type Side struct {
	Runs int `json:"runs"`
	// standard deviation of the runs' means relative to their mean; nil for one run
	Spread  *float64  `json:"run_spread"`
	Steps   int       `json:"steps"`   // judged steps: the n of every figure here
	Seconds float64   `json:"seconds"` // duration of the judged steps
	Samples *float64  `json:"samples"` // per step and rank
	Epoch   Epoch     `json:"epoch"`   // the work of one pass over the data set
	Time    *Estimate `json:"time_s"`  // seconds per step, or per sample: see Outcome.Basis

	// Throughput is in samples per second and rank.
	Throughput *Estimate `json:"throughput"`

	// Independent is the number of independent steps that would determine the mean as well as
	// these correlated ones.
	Independent *float64 `json:"independent"`

	// Needed is how long this run would have to be for a decision, or to be compared at all; nil
	// if it is long enough, if no length would suffice, and for several runs, of which more
	// would decide.
	Needed *Length `json:"needed"`
}

// Length is the length of a run.
type Length struct {
	Steps   float64 `json:"steps"`
	Seconds float64 `json:"seconds"`
}

// Estimate is a mean with its 95 % interval, and the median.
type Estimate struct {
	Mean   stoker.Interval `json:"mean"`
	Median float64         `json:"median"`
}

// Promise compares the forecast with the measurement.
type Promise struct {
	Kept     PromiseState     `json:"kept"`
	Promised *stoker.Interval `json:"promised"` // speed-up that was forecast
	Achieved *stoker.Interval `json:"achieved"` // speed-up that was measured
}

// Stall is the share of a step in which the device waited for input, by the device clock.
type Stall struct {
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	Fell   *bool    `json:"fell"` // by more than the error of measurement
}

// Basis is the unit of work that times are for.
type Basis string

// The ways to compare two runs.
const (
	PerStep    Basis = "per step"
	PerSample  Basis = "per sample"  // the batch sizes differ
	PerRequest Basis = "per request" // to a server: what one takes
	PerAnswer  Basis = "per answer"  // of a server that is busy: the time since the answer before
)

// Difference says whether a change can be distinguished from noise.
type Difference string

// The possible differences.
const (
	Faster      Difference = "faster"
	Slower      Difference = "slower"
	None        Difference = "no detectable difference"
	OtherWork   Difference = "other work"        // the training data differ: see Outcome.Work
	TooShort    Difference = "too short to tell" // the interval contains 1 and is wide
	NotCompared Difference = "not compared"
)

// PromiseState compares the interval of the measured speed-up with that of the promise.
type PromiseState string

// The possible states of a promise.
const (
	PromiseMissed PromiseState = "missed" // the measured interval is wholly below the promise
	// the measured interval is wholly above the low end, its point not above the high end
	PromiseKept    PromiseState = "kept"
	PromiseReached PromiseState = "kept or better" // the same, but the point is above the high end
	// the measured interval is wholly above the point of the promise, its point above the high
	// end
	PromiseExceeded  PromiseState = "better than promised"
	PromiseUndecided PromiseState = "not decided"  // the interval contains the low end: longer runs would decide
	NotPromised      PromiseState = "not promised" // there was no forecast
	PromiseUntested  PromiseState = "not compared" // there was a forecast, but the runs cannot be compared
)

// Epoch is the work of one pass over the data set: the median of the passes that were recorded
// from their first step to the first step of the next. Nil means unknown.
type Epoch struct {
	Steps   *float64 `json:"steps"`
	Samples *float64 `json:"samples"` // repeated ones included
	// Distinct is the number of different samples, known if Repeats is.
	Distinct *float64 `json:"distinct_samples"`
	Repeats  *int     `json:"repeats"` // how often each sample occurs, by the class of the data set
}
