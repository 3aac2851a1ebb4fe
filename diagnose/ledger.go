package diagnose

import (
	"math"

	"github.com/stoker-dev/stoker/recording"
)

// Ledger is where the time of a run went: each second of the judged trainer's device, from the
// start of the program to its end or to now, is in exactly one row. The rows add up to Wall.
type Ledger struct {
	Rows []Row   // those that have any time, in the order of a run
	Wall float64 // seconds
}

// RowName names a row of a Ledger.
type RowName string

// The rows, in the order in which a run comes to them.
const (
	RowEarlier    RowName = "earlier" // of a long run the time before the judged part
	RowStartUp    RowName = "start-up"
	RowWarmUp     RowName = "warm-up"
	RowTraining   RowName = "training"
	RowInference  RowName = "inference" // steps of a run that never trains
	RowBetween    RowName = "between-steps"
	RowUnasked    RowName = "no-requests"   // of a server
	RowAwaited    RowName = "requests-wait" // of a server: no core works for them
	RowRanks      RowName = "ranks"
	RowEvaluation RowName = "evaluation"
	RowCheckpoint RowName = "checkpoint"
	RowEdge       RowName = "epoch-edge"
	RowSkipping   RowName = "skipping"
	RowProfiling  RowName = "profiling"
	RowHung       RowName = "hung"
	RowUnknown    RowName = "unknown" // no step was seen, or no model makes it
	RowJudged     RowName = "judged"  // of a trace: the judged window of a program that may or may not train
	RowTail       RowName = "tail"
)

// Row is a part of a run's time. NaN is unknown.
type Row struct {
	Name    RowName
	Seconds float64
	Share   float64 // of the run's time
	Count   int     // how often: steps, evaluations, checkpoints, epochs' edges; 0 if nothing is counted
	Busy    float64 // seconds in which some kernel ran on the device
	Idle    float64 // seconds in which none did
	Waits   []Wait  // what the device waited for while it was idle, most first

	// Line is the program's own line that the time goes to, with the library's function that it
	// calls, and LineShare its share of the samples of the launching thread there; the zero Line
	// without samples.
	Line      Line
	LineShare float64

	// OwnShare is, of the start, the share of those samples on work of the program's own; 0 of other rows.
	OwnShare float64

	Saves float64   // seconds that the run would save at most without it
	Spans []Stretch // its spans, in order; neighbours that cannot be distinguished are one
}

// Wait is time of an idle device, and the reason.
type Wait struct {
	For     WaitFor
	Seconds float64
}

// WaitFor is what keeps a device idle.
type WaitFor string

// What devices wait for.
const (
	WaitInput   WaitFor = "input"  // the next batch
	WaitHost    WaitFor = "host"   // work of the launching thread's own
	WaitLaunch  WaitFor = "launch" // the host's next launch, in short gaps
	WaitCopy    WaitFor = "copy"
	WaitRanks   WaitFor = "ranks"
	WaitCore    WaitFor = "core"     // the launching thread queues for one
	WaitRequest WaitFor = "requests" // to come
	WaitOthers  WaitFor = "others"   // a lock, a timer, another service
	WaitUnknown WaitFor = "unknown"
)

// Stretch is a span of a run's time, seconds.
type Stretch struct{ From, To float64 }

// Find is the row of a name; of a row that has no time one of 0 seconds.
func (l *Ledger) Find(name RowName) Row {
	for _, r := range l.Rows {
		if r.Name == name {
			return r
		}
	}
	return Row{Name: name, Busy: math.NaN(), Idle: math.NaN(), LineShare: math.NaN()}
}

// Recurring is the time of the run that a longer one has more of: all but what comes once.
func (l *Ledger) Recurring() (seconds float64) {
	for _, r := range l.Rows {
		if !r.Name.ComesOnce() {
			seconds += r.Seconds
		}
	}
	return seconds
}

// ComesOnce reports whether a row is what a run has once, however long it trains.
func (n RowName) ComesOnce() bool {
	switch n {
	case RowEarlier, RowStartUp, RowWarmUp, RowTail, RowHung, RowUnknown, RowJudged:
		return true
	default:
	}
	return false
}

// IsSteps reports whether a row is that of the judged steps.
func (n RowName) IsSteps() bool { return n == RowTraining || n == RowInference }

// MostlyWaitsFor returns what keeps a row's device idle most; "" if it is hardly idle or the cause is unknown.
func (r Row) MostlyWaitsFor() WaitFor {
	if len(r.Waits) == 0 || !(r.Waits[0].Seconds >= leastWaited*r.Seconds) {
		return ""
	}
	return r.Waits[0].For
}

// RowOf is the row that has the steps of a phase.
func RowOf(phase recording.Phase) RowName {
	switch phase {
	case recording.Evaluate:
		return RowEvaluation
	case recording.Checkpoint:
		return RowCheckpoint
	case recording.Skip:
		return RowSkipping
	case recording.Traced:
		return RowProfiling
	case recording.WarmUp, recording.Compile, recording.Graphs:
		return RowWarmUp
	case recording.Train:
	}
	return RowTraining
}

// LedgerRows are the words of the rows, for manual and pages.
var LedgerRows = []Word{
	{string(RowEarlier), "what lies before the newest quarter of an hour of training, which is judged, or of a trace steps before the judged ones, or the time in which the device works on launches from before it", ""},
	{string(RowStartUp), "from the program's start to its first step: imports, downloads, the data set, the model, the first batch", ""},
	{string(RowWarmUp), "the first steps, as far as they take longer than later ones: compilation, caches, allocations", ""},
	{string(RowTraining), "steps that train: the device's work, and what it waits for within them", ""},
	{string(RowInference), "the same of a run that never trains", ""},
	{string(RowBetween), "what the launching thread does beside its steps while the device idles: logging, metrics, callbacks", ""},
	{string(RowUnasked), "of a server: no request is there", ""},
	{string(RowAwaited), "of a server: requests are there, the model waits, and no core works for them: a lock, a timer, another service", ""},
	{string(RowRanks), "exchanging with other ranks, and waiting for them", ""},
	{string(RowEvaluation), "evaluation between the steps, with its loader", ""},
	{string(RowCheckpoint), "saving checkpoints", ""},
	{string(RowEdge), "from an epoch's last step to the next one's first batch: workers end and start, the sampler, the first batch", ""},
	{string(RowSkipping), "batches that are fetched and thrown away", ""},
	{string(RowProfiling), "steps that a profiler recorded because Stoker asked it to", ""},
	{string(RowHung), "no step is made any more, and nobody of the job works", ""},
	{string(RowJudged), "of a trace: the judged part, if the file does not tell what it does", ""},
	{string(RowUnknown), "time in which no step was seen, or steps of a program without a model", ""},
	{string(RowTail), "from the last step to the program's end", ""},
}
