package verify

import "github.com/stoker-dev/stoker"

// Outcome is the answer to "did it help". It is a plain value; a nil pointer is
// unknown, and null in JSON.
type Outcome struct {
	// Refused is a sentence that says why the runs cannot be compared; "" where
	// they were. The sides are filled as far as they are known.
	Refused string `json:"refused"`

	// Work is a sentence that says by what an epoch after the change is other work than one
	// before; "" where nothing shows that it is. It stands before every time and ratio, and no
	// promise is kept beside it.
	Work string `json:"work"`

	Basis  Basis `json:"basis"` // what the times are counted by
	Before Side  `json:"before"`
	After  Side  `json:"after"`

	Speedup *stoker.Interval `json:"speedup"` // mean time before over after, 95 % interval; nil where refused, and of other work

	// Noise is the share by which two runs like these differ at most, in 19 of 20
	// cases, though nothing was changed; never less than what starting again may do.
	Noise *float64 `json:"noise_floor"`

	Difference Difference `json:"difference"` // what the interval says

	Promise Promise `json:"promise"`
	Stall   Stall   `json:"stall"`

	// Was and Now are the classes of the verdicts before and after, such as
	// "gpu-bound": filled by the caller, who asks diagnose.
	Was string `json:"was"`
	Now string `json:"now"`

	// Run is what the change did to the whole run, row by row: filled by the caller likewise. Nil where no
	// steps were seen, and of other work.
	Run *RunChange `json:"run"`

	Changes  []stoker.Change `json:"changes"`  // settings of the judged loaders that differ
	Emulated bool            `json:"emulated"` // some device was an emulated one
	Warnings []string        `json:"warnings"`

	// Besides is what differs though the work and its settings are the same, such as what
	// other programs used. It stands among Warnings, too.
	Besides []string `json:"-"`
}

// Side is one of the two runs, in its judged window, or several runs together.
type Side struct {
	Runs    int       `json:"runs"`
	Spread  *float64  `json:"run_spread"` // standard deviation of the runs' means, as a share; nil of one run
	Steps   int       `json:"steps"`      // judged steps, n of every figure here
	Seconds float64   `json:"seconds"`    // that they took
	Samples *float64  `json:"samples"`    // per step and rank
	Epoch   Epoch     `json:"epoch"`      // the work of one pass over the data set
	Time    *Estimate `json:"time_s"`     // seconds per step, or per sample: see Outcome.Basis

	// Throughput is samples per second and rank.
	Throughput *Estimate `json:"throughput"`

	// Independent is how many independent steps would tell as much of the mean as
	// these, of which neighbours are alike.
	Independent *float64 `json:"independent"`

	// Needed is how long this run would have to be, where the runs are too short to
	// tell, or this one to be compared at all; nil where they are not, where no
	// length would do, and of several runs, of which more would tell.
	Needed *Length `json:"needed"`
}

// Length is how long a run is.
type Length struct {
	Steps   float64 `json:"steps"`
	Seconds float64 `json:"seconds"`
}

// Estimate is a mean with its 95 % interval, and the median beside it.
type Estimate struct {
	Mean   stoker.Interval `json:"mean"`
	Median float64         `json:"median"`
}

// Promise is what was forecast beside what came.
type Promise struct {
	Kept     PromiseState     `json:"kept"`
	Promised *stoker.Interval `json:"promised"` // speed-up as forecast
	Achieved *stoker.Interval `json:"achieved"` // speed-up as measured
}

// Stall is the share of a step in which the device waited for input, by its own
// clock.
type Stall struct {
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	Fell   *bool    `json:"fell"` // by more than the measurement's own error
}

// Basis is what times are counted by.
type Basis string

// The ways to compare two runs.
const (
	PerStep   Basis = "per step"
	PerSample Basis = "per sample" // the batch sizes differ
)

// Difference says whether a change can be told from noise.
type Difference string

// The possible differences.
const (
	Faster      Difference = "faster"
	Slower      Difference = "slower"
	None        Difference = "no detectable difference"
	OtherWork   Difference = "other work"        // what is trained on differs: see Outcome.Work
	TooShort    Difference = "too short to tell" // the interval holds 1, and much beside it
	NotCompared Difference = "not compared"
)

// PromiseState says whether a promise was kept: where the achieved interval lies beside the
// promised one.
type PromiseState string

// The ways in which a promise can end.
const (
	PromiseMissed PromiseState = "missed" // achieved lies wholly below
	// wholly above the low end, and its point not above the high end
	PromiseKept    PromiseState = "kept"
	PromiseReached PromiseState = "kept or better" // the same, its point above the high end
	// wholly above the promise's point, its own above the high end
	PromiseExceeded  PromiseState = "better than promised"
	PromiseUndecided PromiseState = "not decided"  // the low end lies within: longer runs would tell
	NotPromised      PromiseState = "not promised" // there was no forecast
	PromiseUntested  PromiseState = "not compared" // there was one, but the runs cannot be compared
)
