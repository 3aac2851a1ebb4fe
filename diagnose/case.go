package diagnose

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
)

// Case is what rules ask: quantities of the judged window, each filled by live.go from
// the signals of a live job or by traced.go from a profiler's gaps. A rule sees
// nothing else, and cannot tell which of the two it was. NaN is unknown; a Quantity
// that nobody can ask of the run is the zero one.
type Case struct {
	Costs    predict.Costs
	HasSteps bool    // steps over a loader are known
	Paced    bool    // steps of a loop are known that no loader feeds
	From, To float64 // the judged seconds: the window, else the run's second half

	Stall       float64 // share of the window in which the device waited for input
	StallSource Source
	Idle        float64 // share of the window in which nothing ran on the device
	Util        float64 // share of the window in which some kernel ran
	Shares      Shares
	Device      int // as in Verdict

	// What was seen of the device, by its work.
	Recorded float64      // pieces of its work in the whole recording
	Works    float64      // pieces of its work in the window
	StartUp  bool         // a program's start: most idle time is what happens once
	Apart    string       // what the recording shows in the place of steady steps, "graph capture"; "" where it has some
	Parts    parts        // what the window went into
	Kernels  kernelShares // what its kernels were busy with
	LateBy   float64      // share of the window in which other ranks wait for one that is late
	Causes   []Cause      // causes of idle time, most first
	Gaps     []Evidence
	WarmUp   []Evidence

	// What was seen of the program and the machine.
	Training bool // this is training: a profiler ran over steps, or a loader served batches
	Model    *modelFacts
	GPUs     int    // in the machine, as far as they can be seen
	Torch    bool   // PyTorch is loaded
	Hooked   bool   // and the hook is in it
	Blind    bool   // the hook is not in the program that is judged
	NoPython bool   // the job's processes were watched, and none of them is a Python program
	Holds    bool   // a process of the job holds the device
	Loaded   bool   // a DataLoader was iterated
	Where    string // where the launching thread's time goes, a sentence; "" unknown
	Memory   []float64
	Few      bool       // steps were seen, too few to judge
	Seen     []Evidence // of steps and loaders, where nothing tells that it is training

	// What rules about input ask.
	Starved   quantity // input is short
	Alone     quantity // the launching thread loads by itself
	Workers   quantity // worker processes load
	Saturated quantity // they always have a batch to prepare
	Storage   quantity // loading waits for storage
	Cores     quantity // loading wants a core, and none is left
	// Who has the cores, where none is left: one of the two at most.
	Throttled  quantity   // a quota keeps them from the job
	Neighbours quantity   // other programs use them
	Delayed    quantity   // launching waits for a core, and the device for that
	Beside     []Evidence // what keeps cores from the job: other programs, a quota
	Fetching   []Evidence // how long a fetch takes, and where its time goes
	Lines      []Line     // of code on which it goes, most first
	Launcher   quantity   // the launching thread is always at work
	Own        quantity   // no DataLoader is there, and the program's own code keeps the device waiting

	// Of which kind waiting for storage is.
	Pressed   quantity // memory is short
	Far       quantity // over a network, or from a program
	Exhausted quantity // the disk is used up
	Small     quantity // requests are small

	// What the others ask.
	Busy      quantity // the device computes all the time
	Copied    quantity // copies take a good part of the step
	Before    quantity // input is short, where Parts do not tell which of the two leads
	Uncovered quantity // there is time for copies to take
	Launching quantity // the device waits for the next launch
	Short     quantity // a launch outlasts a kernel
	Stretches quantity // the device waits for the host in long gaps
	Exchange  quantity // collectives run alone
	Late      quantity // the other ranks wait for one
	Slowed    quantity // heat or the board's protection keeps the clock down
	Shared    quantity // programs outside the job compute on the device
	Clock     float64  // mean clock of the device over its highest
	Others    float64  // share of the time in which kernels of other jobs ran

	Ranks    string // how the ranks compare, a sentence; "" where there is one
	Found    []Finding
	Pattern  []Finding // what GPU-Util looks like, said last
	Warnings []string

	rule      Class
	questions []Question
	evidence  map[Class][]Evidence
}

// parts are what the window went into, as shares of it. They overlap with nothing
// and, with what is missing here, add up to 1. In Queued the launching thread waits for
// a core; Unnamed is idle time of which nobody knows more.
type parts struct {
	Input, Host, Long, Copies, Exchange, Queued, Unnamed float64
}

// unknownParts are those of a window whose gaps nobody saw.
func unknownParts() parts {
	nan := math.NaN()
	return parts{Input: nan, Host: nan, Long: nan, Copies: nan, Exchange: nan, Queued: nan, Unnamed: nan}
}

// kernelShares are shares of the time in which kernels of computation ran.
type kernelShares struct {
	Plain  float64 // matrix work without Tensor Cores
	Tensor float64 // matrix work on them
	Moving float64 // kernels that move data
	Major  float64 // compute capability of the device; NaN where it is not NVIDIA's, too
}

// modelFacts is where the model's parameters lie.
type modelFacts struct{ Device, DType string }

// quantity is something that a rule asks: the question in the words of where its
// answer comes from, how much of a yes that is, and what was seen of it.
type quantity struct {
	Question
	Seen []Evidence
}

// known reports whether the run can be asked at all; the answer may still be unknown.
func (q quantity) known() bool { return q.Text != "" }

// as is the quantity asked in a rule's own words.
func (q quantity) as(text, note string) quantity {
	if q.known() {
		q.Text, q.Note = text, note
	}
	return q
}

// saw adds what was seen of a quantity; what is unknown is no evidence.
func (q quantity) saw(value float64, unit, signal, format string, args ...any) quantity {
	q.Seen = seen(q.Seen, value, unit, signal, format, args...)
	return q
}

func seen(list []Evidence, value float64, unit, signal, format string, args ...any) []Evidence {
	if math.IsNaN(value) {
		return list
	}
	return append(list, Evidence{Text: fmt.Sprintf(format, args...), Signal: signal, Value: value, Unit: unit})
}

// share is a question whose answer is a share. It scores 0 below low, 1 above high, in
// between in proportion (low > high asks for less). An unknown one scores half: it
// neither convinces nor rules out.
func share(text string, value, low, high float64, note string) quantity {
	return shareOr(0.5, text, value, low, high, note)
}

// unlikely is the score of an unknown answer to a question that would rule the
// case out, or that the case rests on alone: without evidence it is taken for a
// probable no.
const unlikely = 0.2

// shareOr is share with its own score for an unknown value.
func shareOr(unknown float64, text string, value, low, high float64, note string) quantity {
	q := Question{Text: text, Answer: "unknown", Score: unknown, Note: note}
	if !math.IsNaN(value) {
		q.Score = stat.Ramp(value, low, high)
		q.Answer = yesNo(q.Score) + ", " + stoker.Percent(value)
	}
	return quantity{Question: q}
}

// fact is a question with a plain answer.
func fact(text string, yes bool, answer string) quantity {
	score := 0.0
	if yes {
		score = 1
	}
	return quantity{Question: Question{Text: text, Answer: yesNo(score) + ", " + answer, Score: score}}
}

// yes asks, and returns how much of a yes the answer is; 0 where nobody can be asked.
func (c *Case) yes(q quantity) float64 {
	if !q.known() {
		return 0
	}
	q.Rule = c.rule
	c.questions = append(c.questions, q.Question)
	return q.Score
}

// no asks, and returns how much of a no the answer is.
func (c *Case) no(q quantity) float64 { return 1 - c.yes(q) }

// because takes what was seen for evidence of the rule that is being asked.
func (c *Case) because(lists ...[]Evidence) {
	for _, list := range lists {
		c.evidence[c.rule] = append(c.evidence[c.rule], list...)
	}
}

// leads is how much x leads the other parts of the window that something could
// be done about: 1 where it is the largest, falling with the square of its part
// of the largest. [J] The square keeps two of about the same size apart. Where
// nobody knows the parts, nothing leads.
func (c *Case) leads(x float64) float64 {
	p := c.Parts
	most := max(p.Input, p.Host, p.Long, p.Copies, p.Exchange, p.Queued)
	switch {
	case math.IsNaN(most):
		return 1
	case most <= 0:
		return 0
	}
	return min(1, x/most*x/most)
}

// inputLeads is leads of input. Half as much again as the largest rival still counts
// as much as it: what input leaves uncovered shows up as other causes. Idle time without
// a name is a rival like others.
func (c *Case) inputLeads() float64 {
	p := c.Parts
	lead := 1.0
	if most := max(p.Host, p.Long, p.Copies, p.Exchange, p.Queued, p.Unnamed); most > 0 && !math.IsNaN(p.Input) {
		lead = min(1, 1.5*p.Input/most)
	}
	return lead * lead
}

// Where input takes a fifth of the window, work between launches and copies that
// nothing covers are mostly what its lack left uncovered: XProf calls 5 % of the
// step moderately and 20 % highly input-bound. [J] Three tenths are left, so that
// the runner-up is named.
func besideInput(input float64) float64 { return 1 - 0.7*stat.Ramp(input, 0.05, 0.20) }

// besideInput is that of a part of the window. [J] One of three times what is lost for
// input is not what its lack left.
func (c *Case) besideInput(part float64) float64 {
	input := c.Parts.Input
	own := 0.0
	if part > 0 && input > 0 {
		own = stat.Ramp(part/input, 1.5, 3)
	}
	return 1 - (1-besideInput(input))*(1-own)
}

// Rule is one ailment: words and one pure function.
type Rule struct {
	Class  Class
	Title  string
	Text   string // what is wrong and why it starves the device
	Limits string // where the rule misleads
	check  func(*Case) float64
	refine func(*Case) Class   // the kind of the ailment, where the rule won; nil: there are none
	most   func(*Case) float64 // by how much the step gets shorter at most without it; nil: unknown
}

// RuleOf returns the rule that explains a class, for a kind of an ailment that of
// the ailment; false for "unknown".
func RuleOf(class Class) (Rule, bool) {
	for _, rule := range slices.Concat(rules, ioKinds) {
		if class == rule.Class {
			return rule, true
		}
	}
	for _, rule := range rules {
		if class.Is(rule.Class) {
			return rule, true
		}
	}
	return Rule{}, false
}

// rules are all rules, in the order in which they are explained.
var rules = []Rule{
	gpuBound, mainThreadLoader, tooFewWorkers, cpuExhausted, neighbour, cgroupThrottled, ioBound, transferBound, launchBound, cpuBound, networkBound,
	straggler, throttled, sharedGPU, computeOnCPU, notTraining,
}

// ring reports whether what is known is the loader's own side alone: it tells how
// long the trainer waited for batches and when its ring was full, and nothing
// tells what the device did meanwhile.
func (c *Case) ring() bool {
	return c.HasSteps && c.Costs.Feed != nil && c.StallSource != DeviceEvents && math.IsNaN(c.Util)
}

// waits is the share of the time in which the trainer waited for batches: an upper
// bound of waiting for input, since queued work may cover it. Where the trainer
// does not tell, the ring decides what it can.
func (c *Case) waits() float64 {
	share := c.Costs.Wait / c.Costs.HostStep
	full, empty := c.Costs.Feed.Full, c.Costs.Feed.Empty
	switch {
	case !math.IsNaN(share):
		return min(1, share)
	case full >= fullRing:
		return max(0, 1-full)
	case empty >= 1-fullRing:
		return min(1, empty)
	}
	return math.NaN()
}

// fullRing is the share of the time from which a full ring says that the trainer
// is the slower one, and the share below which an empty one says nothing. [J]
const fullRing = 0.9

func yesNo(score float64) string {
	switch {
	case score >= 0.75:
		return "yes"
	case score <= 0.25:
		return "no"
	}
	return "partly"
}
