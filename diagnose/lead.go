package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Lead is the row outside of the steps that costs a run more than its steps lose: what a verdict says
// first. Its Class is a separate word, shown with the class of the steps.
type Lead struct {
	Row
	Class  Class
	Most   float64 // by how much the run gets faster at most without what the row loses
	Recurs float64 // its share of the run without what comes once, on which Most rests; 0 of what comes once
	Every  float64 // steps from one time to the next; NaN if that is not regular
	Ranks  bool    // several ranks train
	Asker  bool    // the line's samples are of the thread that asks for batches, and another one launches
	Steps  bool    // the class of the steps says of what they lose by themselves
	Passes bool    // the run never trains
	Alone  bool    // one rank evaluates, and the others do not
	Beside string  // what else a reader has to know: who has the cores; "" nothing
}

// Headline is the class that a verdict leads with: that of the row that costs most, else that of the steps.
func (v *Verdict) Headline() Class {
	if v.Lead != nil {
		return v.Lead.Class
	}
	return v.Class
}

// ClassOfRow is the class of a row outside of the steps; "" of one that has none.
func ClassOfRow(name RowName) Class {
	return map[RowName]Class{
		RowEvaluation: InEvaluation, RowCheckpoint: InCheckpoints, RowEdge: AtEpochEdges, RowBetween: BetweenSteps,
		RowStartUp: StartUp, RowSkipping: Skipping,
	}[name]
}

// Title names the loss in a few words.
func (l *Lead) Title() string {
	switch {
	case l.Name == RowEvaluation && l.MostlyWaitsFor() == WaitInput:
		return "evaluation waits for its batches"
	case l.Name == RowEvaluation && math.IsNaN(l.Idle):
		return "evaluation takes much of the run"
	case l.Name == RowEvaluation && l.Line.Kind == OnHost:
		return "evaluation computes on the CPU, and the device idles"
	case l.Name == RowEvaluation:
		return "evaluation leaves the device idle"
	case l.Name == RowCheckpoint:
		return "the device waits while checkpoints are saved"
	case l.Name == RowEdge && l.isOnDevice():
		return "other work than training comes between the epochs"
	case l.Name == RowEdge && l.IsOwnWork():
		return l.Line.Kind.Words() + ", and the device waits"
	case l.Name == RowEdge:
		return "the device waits for the first batch of each epoch"
	case l.Name == RowSkipping:
		return "batches are fetched and thrown away"
	case l.Name == RowStartUp:
		if l.Share < LeadingOnceShare {
			return "starting takes much of the run"
		}
		return "starting takes most of the run"
	case l.Line.Kind == "":
		return "the device waits for what the loop does between its steps"
	case l.Line.Kind == Syncing: // whose words have the device
		return l.Line.Kind.Words()
	}
	return l.Line.Kind.Words() + ", and the device waits"
}

// isOnDevice reports whether a row's line launches work on the device or waits for it. Between epochs that work is
// not training.
func (l *Lead) isOnDevice() bool { return l.Line.Kind == DeviceWait || l.Line.Kind == Launching }

// IsOwnWork reports whether a row's time goes to the program's own work, or to how it uses its
// loader, rather than to the loader's workers.
func (r Row) IsOwnWork() bool {
	switch r.Line.Kind {
	case "", Awaiting, HandOver, StartingWorkers, EndingWorkers:
		return false
	default:
	}
	return true
}

// Why is the figures that show it.
func (l *Lead) Why() string {
	takes := rowTakes[l.Name]
	if l.Name == RowEdge && l.IsOwnWork() && l.Line.Kind != Sampling && l.Line.Kind != Iterating {
		takes = "what the program does between its epochs takes"
	}
	share, of := l.Share, "the run"
	if l.Recurs >= l.Share+muchOnce {
		share, of = l.Recurs, "the run without its start and end"
	}
	text := fmt.Sprintf("%s %s of %s (%s%s)", takes, quantity.Percent(share), of,
		quantity.AboutSeconds(l.Seconds), l.often())
	if l.Idle >= leastWaited*l.Seconds {
		text += ", and the device idles " + quantity.Percent(l.Idle/l.Seconds) + " of that"
	}
	if at := l.Line.String(); at != "" {
		text += ": " + at
		if l.LineShare >= leastSaid {
			whose := "the launching thread's stack samples"
			if l.Asker {
				whose = "the stack samples of the thread that asks for batches (another one launches)"
			}
			text += fmt.Sprintf(" has %s of %s", WholePercent(l.LineShare), whose)
		}
	}
	if l.Beside != "" {
		text += ". " + l.Beside
	}
	return text
}

// muchOnce is by how much what comes once lessens a row's share of the run, from which the share is of the rest. [J]
const muchOnce = 0.05

// leastSaid is the share of a row's samples from which a line's is said: little of them denies what is said of the row.
// [J]
const leastSaid = 0.1

// rowTakes begins a sentence about a row.
var rowTakes = map[RowName]string{
	RowEvaluation: "evaluation takes", RowCheckpoint: "saving checkpoints takes",
	RowEdge:     "waiting for the first batches of epochs takes",
	RowBetween:  "the loop's own work on the host, in its steps or between them, takes",
	RowSkipping: "fetching batches that are thrown away takes", RowStartUp: "starting takes",
}

// often says how often it comes.
func (l *Lead) often() string {
	switch {
	case l.Name == RowStartUp || l.Count == 0:
		return ""
	case l.Every > 1:
		return ", every " + quantity.About(math.Round(l.Every)) + " steps"
	case l.Name == RowSkipping:
		return fmt.Sprintf(", %d batch%s", l.Count, quantity.Ending(l.Count, "", "es"))
	}
	return ", " + quantity.Many(l.Count, "time")
}

// onceAtEdges are kinds of work between two epochs that need not be done again for each.
var onceAtEdges = append([]Kind{Preparing, LoopReads, Tables, DeepCopies, Drawing}, OfCode...)

// adviceOfPasses is the advice of kinds of lines for a run that never trains: each pass owes somebody its result.
var adviceOfPasses = map[Kind]string{
	Syncing: "send several inputs through the model at once, or give the device the next ones before the results of these " +
		"are read (a thread, or two batches in flight): at each read nothing else is queued",
	Locking: "it waits there for its next input: if nobody sends one, nothing is wrong. If inputs wait, let who sends them " +
		"run ahead (a queue of several), and take several at once",
	Pausing: pausingAdvice + ". A loop that gets its work there (a queue, a socket) has none at the moment, which is no fault",
}

// ofTorchSampler is what to do about one of torch's own samplers, which draw all indices of an epoch by one call.
func ofTorchSampler(function string) string {
	ahead := "draw the next epoch's indices in a thread while this one trains, and hand them to the loader as its sampler (a " +
		"list), or make epochs longer (several passes in one, num_samples)"
	if strings.HasPrefix(function, "WeightedRandomSampler") {
		return "WeightedRandomSampler sums all weights at each epoch's begin: draw by an alias table that is made once " +
			"(scipy.stats.sampling.DiscreteAliasUrn), by their running sum and searchsorted, or on the device. Or " + ahead
	}
	return ahead
}

// shareOut is said beside what a program of several ranks does every so many steps.
const shareOut = ". If one rank does it while the others wait: share it out over the ranks"

// atMaking are kinds of a constructor's lines at the edge of an epoch whose work gives the same in the next one.
var atMaking = append([]Kind{Pausing, Disk, Reading, Uploading, Queries, Growing, OfLists}, onceAtEdges...)

// MakesAnew reports whether objects that the program makes for each epoch read or compute what they hold.
func (l *Lead) MakesAnew() bool {
	constructs := strings.HasSuffix(recording.Place{Function: l.Line.Own.Function}.Outer(), "__init__")
	return l.Name == RowEdge && constructs && slices.Contains(atMaking, l.Line.Kind)
}

// Advice is what to do, in the program's own terms; "" if only the settings tell.
func (l *Lead) Advice() string {
	if l.Name == RowStartUp && l.IsOwnWork() {
		return AdviseStart(l.Line)
	}
	if l.Name == RowEdge && l.isOnDevice() {
		return BesideAdvice
	}
	if l.Name == RowEvaluation && l.Alone {
		return EvaluateOnAllAdvice
	}
	if l.Name == RowEvaluation && math.IsNaN(l.Idle) {
		return BesideAdvice + ". Metrics of the training set: add them up while it trains, instead of a second pass"
	}
	if l.MakesAnew() {
		return "each epoch makes it again: load it once before the epochs and keep it, a data set with its loader. What " +
			"differs from epoch to epoch: load the next one in a thread while this one trains"
	}
	if l.Name == RowEdge && slices.Contains(onceAtEdges, l.Line.Kind) {
		return "if it needs what the epoch trained, as an evaluation or a report: by calls on whole arrays (NumPy, torch) " +
			"instead of loops in Python, or every few epochs. If not: once, before the loop over epochs, or for the next " +
			"epoch in a thread while this one trains"
	}
	if l.Name == RowEvaluation && l.Line.Kind == Syncing {
		return "add up on the device what each batch gives, as the loss and the hits, and read it once, at the end: after " +
			"each read nothing is queued, and the device idles. Larger batches have fewer of them, and evaluation keeps " +
			"nothing for backward. A search that goes on by each value: for all of a batch together, or greedy. Any " +
			"evaluation: less often, or on fewer samples"
	}
	if l.Name == RowEvaluation && l.Line.Kind == Metrics {
		return "by calls on whole arrays or in compiled code, on the device if values come from there (torchmetrics keeps " +
			"its state there), or in worker processes while training goes on. Else on fewer samples, or more rarely: if " +
			"each epoch ends with it, once in several"
	}
	if l.Name == RowBetween && l.Every > 1 && slices.Contains(onceAtEdges, l.Line.Kind) {
		advice := "do it less often, with only what is new since the last time, or, if the next step does not need its " +
			"result, in a thread or a process beside the loop"
		if l.Ranks {
			advice += shareOut
		}
		return advice
	}
	if l.Line.Kind == Sampling && l.Line.Call.File == recording.SamplerFile {
		return ofTorchSampler(l.Line.Call.Function)
	}
	if advice := adviceOfPasses[l.Line.Kind]; l.Passes && advice != "" {
		return advice
	}
	if l.Line.Kind == Launching && l.Ranks && strings.Contains(l.Line.Call.Function, "backward") {
		return "ranks exchange their gradients there: with accumulation only in its last backward (no_sync() around the others, " +
			"with the forward pass inside), in buckets of several MB"
	}
	if advice := l.Line.Kind.Advice(); advice != "" {
		if l.Ranks && l.Every > 1 && !l.Line.Kind.IsWait() {
			advice += shareOut
		}
		if l.Name == RowEdge || l.Name == RowEvaluation { // it is done once already
			advice = strings.ReplaceAll(advice, "once an epoch", "once in several epochs")
		}
		return advice
	}
	return l.Class.Do()
}
