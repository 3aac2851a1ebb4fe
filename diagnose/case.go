package diagnose

import (
	"fmt"
	"math"

	"stoker/diagnose/idle"
	"stoker/internal/stat"
	"stoker/predict"
	"stoker/recording"
)

// Case is a run prepared for the rules: its costs, what is known of the device,
// and the questions asked so far.
type Case struct {
	Run      *recording.Run
	Costs    predict.Costs
	HasSteps bool

	From, To float64 // the judged seconds: the window, else the run's second half

	Stall       float64 // by the device's clock or a trace; NaN where neither is there
	StallSource Source
	Idle        float64 // share of time in which nothing ran on the device; NaN where unknown
	Util        float64 // share of time in which some kernel ran; NaN where unknown
	Shares      Shares

	trainers  []predict.Costs // of all ranks, Costs among them
	traced    *traced         // what a Timeline tells; nil without one or without a device's work in it
	hostOnly  bool            // there is a Timeline, and no device's work in it
	rule      Class
	questions []Question
	evidence  map[Class][]Evidence
}

// Rule is one ailment: words and one pure function.
type Rule struct {
	Class  Class
	Title  string
	Text   string // what is wrong and why it starves the device
	Limits string // where the rule misleads
	Check  func(*Case) float64
	Refine func(*Case) Class // the kind of the ailment, where the rule won; nil: there are none
}

// RuleOf returns the rule that explains a class, for a kind of an ailment that of
// the ailment; false for "unknown".
func RuleOf(class Class) (Rule, bool) {
	for _, rule := range Rules {
		if class == rule.Class {
			return rule, true
		}
	}
	for _, rule := range Rules {
		if class.Is(rule.Class) {
			return rule, true
		}
	}
	return Rule{}, false
}

// Rules are all rules, in the order in which they are explained.
var Rules = []Rule{
	gpuBound, mainThreadLoader, tooFewWorkers, cpuExhausted, ioBound, transferBound, launchBound, cpuBound, networkBound,
	straggler, computeOnCPU, notTraining,
}

func newCase(run *recording.Run, gaps *idle.Analysis) *Case {
	c := &Case{Run: run, Stall: math.NaN(), Idle: math.NaN(), Util: math.NaN(), evidence: map[Class][]Evidence{}}
	c.trainers = predict.Trainers(run)
	c.Costs, c.HasSteps = predict.Starved(c.trainers)
	if c.HasSteps {
		c.From, c.To = c.Costs.Window.Start, c.Costs.Window.End
		c.Util = c.Costs.Busy
	} else {
		c.To = run.End()
		c.From = c.To / 2 // without steps the start cannot be told from the rest
		c.Costs = predict.Measure(run, recording.Window{PID: trainer(run), Start: c.From, End: c.To})
		c.Util = meanUtil(run, c.From, c.To)
	}
	c.device(gaps)
	return c
}

// ring reports whether what is known is the loader's own side alone: it tells how
// long the trainer waited for batches and when its ring was full, and nothing
// tells what the device did meanwhile.
func (c *Case) ring() bool {
	return c.HasSteps && c.Costs.Feed != nil && c.traced == nil && c.StallSource != DeviceEvents && math.IsNaN(c.Util)
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

// trainer is the first trainer's process, 0 where there is none.
func trainer(run *recording.Run) int {
	for _, p := range run.Facts.Processes {
		if p.Role == recording.RoleTrainer {
			return p.PID
		}
	}
	return 0
}

// meanUtil is the utilisation of the device that was used most.
func meanUtil(run *recording.Run, from, to float64) float64 {
	most := math.NaN()
	for _, s := range run.All(recording.GPUUtilisation) {
		if v := s.Mean(from, to); !math.IsNaN(v) && !(v <= most) {
			most = v
		}
	}
	return most
}

// device settles stall, idle and shares in the order of trust of design.md.
func (c *Case) device(gaps *idle.Analysis) {
	c.Shares = Shares{Kernel: c.Util, Copy: math.NaN(), Communication: math.NaN(), Idle: math.NaN()}
	if !math.IsNaN(c.Util) {
		c.Idle = 1 - c.Util
		c.estimateCopies()
	}
	if c.HasSteps && !math.IsNaN(c.Costs.Idle) {
		c.Stall, c.StallSource = c.Costs.Idle/c.Costs.Step, DeviceEvents
	}
	if c.Run.Timeline != nil {
		c.trace(gaps)
	}
	if c.traced == nil && !math.IsNaN(c.Stall) && !math.IsNaN(c.Idle) {
		// Utilisation is sampled: where it claims less idle than the device's own
		// clock measured at the input boundary alone, the clock is right.
		c.Idle = math.Max(c.Idle, c.Stall)
		if !math.IsNaN(c.Shares.Idle) {
			c.Shares.Idle = c.Idle
			c.Shares.Copy = min(c.Shares.Copy, 1-c.Idle)
			c.Shares.Kernel = 1 - c.Idle - c.Shares.Copy
		}
	}
}

// estimateCopies takes the estimated time of the copies off the idle time: GPU-Util
// counts kernels only. With several ranks, communication stays unknown.
func (c *Case) estimateCopies() {
	p := c.Run.Process(c.Costs.Window.PID)
	if !c.HasSteps || p == nil || p.World > 1 {
		return
	}
	copied := c.Costs.Baseline(c.Run).Copy
	if !copied.Known() {
		return
	}
	c.Shares.Copy, c.Shares.Communication = min(copied.Point/c.Costs.Step, 1-c.Util), 0
	c.Shares.Idle = 1 - c.Util - c.Shares.Copy
	c.Idle = c.Shares.Idle
}

// ask records a question whose answer is a share, and returns its score: 0 below
// low, 1 above high, in between in proportion (low > high asks for less). An
// unknown value scores half: it neither convinces nor rules out.
func (c *Case) ask(text string, value, low, high float64, note string) float64 {
	return c.askOr(0.5, text, value, low, high, note)
}

// unlikely is the score of an unknown answer to a question that would rule the
// case out, or that the case rests on alone: without evidence it is taken for a
// probable no.
const unlikely = 0.2

// askOr is ask with its own score for an unknown value.
func (c *Case) askOr(unknown float64, text string, value, low, high float64, note string) float64 {
	q := Question{Rule: c.rule, Text: text, Answer: "unknown", Score: unknown, Note: note}
	if !math.IsNaN(value) {
		q.Score = stat.Ramp(value, low, high)
		q.Answer = yesNo(q.Score) + ", " + percent(value)
	}
	c.questions = append(c.questions, q)
	return q.Score
}

// askFact records a question with a plain answer.
func (c *Case) askFact(text string, yes bool, answer string) float64 {
	score := 0.0
	if yes {
		score = 1
	}
	c.questions = append(c.questions, Question{Rule: c.rule, Text: text, Answer: yesNo(score) + ", " + answer, Score: score})
	return score
}

// because adds evidence for the rule that is being asked; what is unknown is no
// evidence.
func (c *Case) because(value float64, unit, signal, format string, args ...any) {
	if math.IsNaN(value) {
		return
	}
	c.evidence[c.rule] = append(c.evidence[c.rule], Evidence{
		Text: fmt.Sprintf(format, args...), Signal: signal, Value: value, Unit: unit,
	})
}

func yesNo(score float64) string {
	switch {
	case score >= 0.75:
		return "yes"
	case score <= 0.25:
		return "no"
	}
	return "partly"
}

// percent rounds to whole ones; what is not all is not called 100 %.
func percent(v float64) string {
	if v >= 0.995 && v < almostAll {
		return fmt.Sprintf("%.1f %%", math.Floor(1000*v)/10)
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}

// almostAll is where a share is taken for all: sums of shares are that wrong.
const almostAll = 1 - 1e-9

// ms prints seconds as milliseconds with about three digits.
func ms(seconds float64) string {
	switch v := 1e3 * seconds; {
	case v >= 100:
		return fmt.Sprintf("%.0f ms", v)
	case v >= 10:
		return fmt.Sprintf("%.1f ms", v)
	default:
		return fmt.Sprintf("%.2f ms", v)
	}
}
