package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
)

// Crowded says why more workers would only wait for each other: the job itself, or its
// quota, has all cores that it gets, or its workers are too many already. "" where they
// would not, also where other programs have the cores: a worker more takes its share.
func (v *Verdict) Crowded() string {
	switch {
	case v.EnoughWorkers() > 0:
		return "the workers are more than the cores already, and wait for them"
	case v.Class == CPUExhausted:
		return "the cores are used up: more workers only queue for them"
	case v.Class == CgroupThrottled:
		return "the CPU quota is used up: more workers only share it"
	}
	return ""
}

// EnoughWorkers is how many workers do as much, where they are found to be too many; 0
// where they are not.
func (v *Verdict) EnoughWorkers() int {
	for _, f := range v.Findings {
		if f.Name == FindingTooManyWorkers {
			enough, _ := f.Settings[0].To.(int)
			return enough
		}
	}
	return 0
}

// Source says how a stall is known, in order of trust.
type Source string

// The sources of a stall.
const (
	DeviceEvents  Source = "device-events" // the device's own clock at the input boundary
	FromTrace     Source = "trace"         // gaps on a profiler's timeline
	HostWait      Source = "host-wait"     // the host hardly waited, so the device did not either
	Utilisation   Source = "utilisation"   // idle by GPU-Util: an upper bound
	KernelCounter Source = "kernels"       // idle by the device's counter of kernels: an upper bound
	NoSource      Source = ""
)

// State says how much a verdict rests on.
type State string

// The states of a verdict.
const (
	Provisional State = "provisional" // less than 30 stationary seconds so far
	Final       State = "final"       // the last 30 seconds were one regime
)

// StillShort ends the note of a verdict that is provisional because the run is short.
const StillShort = "a final verdict needs 30"

// Verdict is the answer for one run. Ratios are 0 to 1; NaN is unknown.
type Verdict struct {
	Class      Class
	RunnerUp   Class   // the second best rule, "" if none scored
	Confidence float64 // how often the published exam's verdicts of this evidence were right; NaN if it has none
	State      State

	Rank        int     // the rank that was judged: the most starved one
	Device      int     // index into Timeline.Devices of the device that was judged; -1 without a trace
	Stall       float64 // share of the window in which the device waited for input
	StallSource Source
	Idle        float64 // share of the window in which nothing ran on the device
	// Unexplained is the share of the window in which nothing ran on the device, and nothing that was
	// measured says why.
	Unexplained float64
	Recorder    float64 // share of the window that is idle because a profiler recorded the host
	Shares      Shares
	Costs       measure.Costs // what the verdict was computed from; without steps its Window is empty
	HasSteps    bool          // of a loader (Costs.Fed) or of the loop itself

	Measured Measured // the figures behind it
	Ledger   Ledger   // where the time of the run went
	Lead     *Lead    // what costs the run most, where that is no loss of its steps

	Most   float64 // by how much the step gets shorter at most without what the class names; NaN unknown
	Causes []Cause // causes of idle time, most first; nil without a trace
	Lines  []Line  // on which preparing a batch spends its time, most first; nil without samples
	Cost   Cost    // what the idle share costs
	Traced *Traced // what a trace of the same run adds; nil without, see Merge

	Grounds Grounds       // what advice the recording can carry
	Paced   bool          // the host takes as long to launch as a busy device to compute: a faster one gains nothing
	Replay  *replay.Trace // of the run that was judged, if the answer needed one: advice plays it on
	Ending  *Ending       // how the command ended; nil if with 0, or not as far as was seen

	Evidence  []Evidence // most causal first
	Findings  []Finding  // shown with the class
	Questions []Question // what was asked, the classic three first
	Scores    []Score    // every rule's, best first
	Doubts    []string   // why figures may not be the program's: damage, missing ranks. Warnings begin with them
	Warnings  []string
}

// Shares are parts of the judged window and sum to 1; NaN is unknown.
type Shares struct {
	Kernel, Copy, Communication, Idle float64
}

// Evidence is one measured reason for the class.
type Evidence struct {
	Text   string
	Signal string // its origin
	Value  float64
	Unit   string
}

// SignalHeld is the signal of an evidence that says how much of a step waits for the device.
const SignalHeld = "step.syncs"

// SignalSampler is that of an evidence that says how long the sampler draws indices in the launching thread.
const SignalSampler = "thread.sampler"

// SignalRanks is that of an evidence that says how long the launching thread waits for other ranks.
const SignalRanks = "thread.ranks"

// SignalRestarts is that of an evidence that says how long processes start that follow each other.
const SignalRestarts = "process.restarts"

// SignalInterpreter is that of an evidence that says how often the launching thread awaits the interpreter lock.
const SignalInterpreter = "thread.interpreter"

// SignalGlimpse is the signal of an evidence that says how little of a recording the judged device's work takes.
const SignalGlimpse = "trace.window"

// SignalPageable is the signal of an evidence that says which copies come from pageable memory.
const SignalPageable = "trace.pageable"

// SignalScores is the signal of an evidence that says which rules fit about equally well.
const SignalScores = "scores"

// Cause is a part of the judged window's idle time: what the host or the device
// did in the gaps. The causes of a window add up to its idle time.
type Cause struct {
	Cause   string  `json:"cause"`   // a word of idle.Cause
	Seconds float64 `json:"seconds"` // of the judged window
	Share   float64 `json:"share"`   // of the window
}

// Finding is something worth saying that does not name the class. Its place and
// worth are filled in if they are known, and NaN if not. Most findings of live runs have
// only a name and a text.
type Finding struct {
	Name string // as in Findings
	Text string

	From, To float64 // where to look, seconds of the run; equal where there is no one place
	Thread   string  // of the host, "" unknown
	Kernel   string  // or copy, as recorded; "" unknown
	Source   string  // the user's innermost line there, "train.py(41): forward"; "" unknown
	Seconds  float64 // of the judged window that it is about
	Share    float64 // of the window
	Saves    float64 // at most, share of the window
	Settings []stoker.Change
	Advice   string // the exact setting in words, if it is more than a change of a Setting
}

// Question is what a rule asked and what the run answered.
type Question struct {
	Rule   Class // "" for the classic three
	Text   string
	Answer string  // with the figure: "yes, 97 %", "unknown"
	Score  float64 // how much of a yes, 0 to 1
	Note   string  // where the question misleads
}

// Score is how well a rule fits, 0 to 1.
type Score struct {
	Class Class
	Value float64
}

// Traced is what a trace of a few steps of a live run adds to the run's verdict.
// Ratios are of the trace's own window; NaN is unknown.
type Traced struct {
	Class          Class
	Rank           int
	Stall, Idle    float64
	Shares         Shares
	Steps          int  // that could be told apart
	HostOnly       bool // no work of a device was recorded
	Evidence       []Evidence
	Contradictions []string // sentences; nil if live and trace agree
}

// Do is what to do about a verdict's class: its word on the list, if the machine can follow it and the file does not
// show it done.
func (v *Verdict) Do() string {
	if v.Class == NetworkBound {
		return v.Grounds.FitExchange(v.do())
	}
	return v.do()
}

func (v *Verdict) do() string {
	if v.Class == BatchTooSmall && !v.Measured.Requests.Known() {
		return severalJobs
	}
	if v.Class == ComputeOnCPU && v.Grounds.Hidden {
		return "let the program see a GPU: " + showDevice
	}
	if v.Class == ComputeOnCPU && v.Grounds.Refuse(stoker.ComputeOn) != "" {
		return "find the GPU first: none is visible to this program. " + v.Grounds.findDevice()
	}
	if v.Class == NetworkBound && v.Grounds.LateRank != "" {
		return v.Grounds.ExchangeAdvice()
	}
	if v.Class == Unknown && (v.Grounds.Record != "" || v.Device >= 0) { // a trace is here
		return v.Grounds.Record
	}
	if f := v.Grounds.Framework; v.Class == Unknown && f != "" {
		how, _ := TakeTrace(f)
		return how
	}
	if v.Class == ComputeOnCPU && v.Grounds.useDevice() != "" {
		return v.Grounds.useDevice()
	}
	if do := v.Grounds.adviseOnTraffic(); v.Class == TransferBound && do != "" {
		return do
	}
	cure := cureOf[v.Class]
	if v.Grounds.Loads && cure == FindingDataLoaderWait { // the loader is PyTorch's
		cure = ""
	}
	if f := v.Grounds.Framework; f != "" && cure != "" {
		advice := Translate(Finding{Name: cure}, f).Advice
		if cure == FindingLaunchBound {
			advice = v.Grounds.FitLaunches(advice)
		}
		return advice
	}
	if v.Class == NetworkBound && v.Device >= 0 && v.Grounds.Refuse(stoker.Accumulation) != "" {
		return v.Grounds.ExchangeAdvice()
	}
	if do := cmp.Or(v.adviseOnUnevenRanks(), v.adviseOnOwnExchange()); v.Class == NetworkBound && do != "" {
		return do
	}
	if do := v.Grounds.fewerBytes(); v.Class == TransferBound && do != "" {
		return do
	}
	if do := v.adviseBeyondBatch(); v.Class == TransferBound && do != "" {
		return do
	}
	if v.Class == CPUBound && v.Grounds.HostWork.Waits {
		return "see what that call waits for (stoker trace --timeline FILE shows all threads and devices)"
	}
	if v.Class == CPUBound && v.Grounds.HostWork.Keeps {
		return v.Grounds.KeepMemory()
	}
	seen := v.findOut()
	if k := v.Shares.Kernel + v.Shares.Copy; v.Class == CPUBound && v.Device >= 0 && k > 0 && k < littleToHide {
		return seen + fmt.Sprintf("do less of it, or make it faster: the device works %s of the window, too little to hide it "+
			"behind", quantity.Percent(k))
	}
	if v.Headline() == WaitsOutside {
		return v.adviseOnWait()
	}
	return seen + v.Grounds.keepData(v.Class, cmp.Or(v.Grounds.onChip(v.Class), v.Class.Do()))
}

// adviseOnWait returns what to do about a wait for something outside of the job, with the line that waits most.
func (v *Verdict) adviseOnWait() string {
	line, _ := BusiestFunction(v.Measured.LoopLines.Lines, func(line LoopLine) bool {
		return line.Own.File != "" && !line.Kind.IsWait() && line.Kind != Syncing
	})
	at := line.Short()
	switch {
	case at == "":
		return WaitsOutside.Do()
	case line.Kind == Locking || line.Kind == Retrying: // where a server takes its requests
		return at + ": " + WaitsOutside.Do()
	}
	return at + ": " + asksItself
}

// asksItself is what to do about a line that waits and takes nothing out of a queue.
const asksItself = "what a step needs from there, as from a service or a disk: ask for several things at once, or in a thread for the " +
	"next step while the device works. What it only sends, as logs or plots: from a thread, or more rarely. If it is a pause " +
	"until somebody asks: give this GPU more requests, or other work beside them"

// severalJobs is what to do about a worker of a queue that takes one job a pass.
const severalJobs = "look at the length of the queue (Redis: LLEN). If several jobs wait, take them at once (Redis: LPOP with a " +
	"count), and give them to the model in one pass (torch.stack)"

// adviseBeyondBatch returns what to do about large copies that are not the loader's batch, with the line that copies
// most, and about those of a live run without a loader; "" of others.
func (v *Verdict) adviseBeyondBatch() string {
	line, _ := BusiestFunction(v.Measured.LoopLines.Lines, func(line LoopLine) bool {
		return line.Kind == Copying && line.Own.File != ""
	})
	at := line.Short()
	for _, f := range v.Findings {
		switch {
		case f.Name != FindingPageableCopies || f.Advice != BeyondBatchAdvice:
		case at == "":
			return f.Advice
		default:
			return at + ": " + f.Advice
		}
	}
	if at == "" || v.Device >= 0 || v.Grounds.Loads || v.Grounds.Loader != nil {
		return ""
	}
	return at + ": " + line.Kind.Advice()
}

// findOut is what comes before advice on the host's own work if nothing of that was recorded; "" if something was.
func (v *Verdict) findOut() string {
	if v.Class != CPUBound || v.Device < 0 || !v.Grounds.HostWork.Unseen {
		return ""
	}
	_, _, how := v.Grounds.RecordMore()
	what := "Python"
	if IsBare(v.Grounds.Framework) {
		what = "the program's own code"
	}
	return "find out what it is (" + how + "): no operator and no call was recorded in it, so it is a sleep, a wait " +
		"or " + what + ". Then "
}

// ownExchange is the share of the launching thread's time in collectives that lines of the program itself call, from
// which these are the exchange, and not gradients. [J]
const ownExchange = 0.1

// adviseOnOwnExchange returns the advice for values that the program itself exchanges, with the line; "" if it
// exchanges few. Fewer gradients would not help, and change what is trained.
func (v *Verdict) adviseOnOwnExchange() string {
	lines := v.Measured.LoopLines
	line, found := lines.FirstOf(Collective)
	if !found || lines.Looks < FewLooks || lines.SecondsOf(Collective) < ownExchange*lines.Seconds {
		return ""
	}
	return line.Short() + ": " + Collective.Advice()
}

const (
	// mostlyWaits is the part of the mean exchange that is beyond the median one, from which ranks mostly wait for
	// each other. [J] The same bytes take about the same time in each step.
	mostlyWaits     = 0.5
	fewestExchanges = 10 // timed steps that tell [J]
)

// adviseOnUnevenRanks returns the advice for ranks with unequal work: most of their exchanges are short and some long,
// because a rank waits for one whose batch takes longer. "" if they take about as long, or too few were timed.
func (v *Verdict) adviseOnUnevenRanks() string {
	var took []float64
	for _, inside := range v.Costs.Window.Insides() {
		if inside.Exchange > 0 {
			took = append(took, inside.Exchange)
		}
	}
	if len(took) < fewestExchanges {
		return ""
	}
	median, mean := stat.Quantile(took, 0.5), stat.Mean(took)
	if !(mean-median >= mostlyWaits*mean) {
		return ""
	}
	return fmt.Sprintf("give each rank as much work in a step (as many tokens, or samples of like length), not as many "+
		"samples: half of the exchanges take %s at most, and the mean is %s, so a rank mostly waits there for one whose "+
		"batch takes longer",
		quantity.AboutSeconds(median), quantity.AboutSeconds(mean))
}

// littleToHide is the share of the window in the device's work below which nothing is gained by work of the host
// beside it. [J] As a gain of 5 %.
const littleToHide = 0.05

// cureOf names the finding whose advice other frameworks take for that of a class: the
// class's own words are PyTorch's.
var cureOf = map[Class]string{
	TransferBound: FindingSerialCopies, LaunchBound: FindingLaunchBound, NetworkBound: FindingExposedCommunication,
	MainThread: FindingDataLoaderWait, TooFewWorkers: FindingDataLoaderWait, GPUPrecision: FindingNoTensorCores,
}

// Has reports whether a verdict has a finding.
func (v *Verdict) Has(finding string) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Name == finding })
}

// SignalPiped is that of an evidence that says how long the launching thread reads batches from a pipe.
const SignalPiped = "thread.piped"

// SignalHostTensors is that of an evidence that says how long copies of tensors take that a step makes on the CPU.
const SignalHostTensors = "step.host_tensors"
