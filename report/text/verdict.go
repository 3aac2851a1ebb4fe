package text

import (
	"fmt"
	"io"
	"math"
	"path"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// Style says how text may look.
type Style struct {
	Colour bool // ANSI colours
	Width  int  // columns; 0: 100
}

// WriteVerdict writes verdict and plan of a run for people.
func WriteVerdict(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, style Style) error {
	p := newPage(style, &run, &v, &plan)
	p.headline(run, v)
	told := p.first(plan, v)
	p.device(run, v)
	p.list("why", report.ListEvidence(v))
	p.beside(v)
	p.plan(plan, v, told)
	p.list("beside it", report.ListFindings(v))
	p.list("note", v.Warnings)
	return p.to(w)
}

// SumUp is the verdict in one line, for the moment in which it changes.
func SumUp(run *recording.Run, v diagnose.Verdict) string {
	line := string(v.Class)
	if !math.IsNaN(v.Stall) {
		line += fmt.Sprintf(", the device waits for input %s of the time", stoker.Percent(v.Stall))
	}
	if v.HasSteps {
		line += fmt.Sprintf(" (%s, %s)", v.State, stoker.Many(len(v.Costs.Window.Steps), "step"))
	}
	return safe.Text(line+report.MarkEmulated(run.Emulated()), 0)
}

// page collects the text of one report.
type page struct {
	b     strings.Builder
	style Style
}

// newPage begins a page about what pointers point at. Here, and nowhere else, is
// made fit for a terminal what came from outside: names of processes, devices and
// kernels, settings, paths, messages. What is written on the page later is plain
// text and colours of our own.
func newPage(style Style, about ...any) *page {
	safe.Values(about...)
	return &page{style: style}
}

// to writes the page.
func (p *page) to(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) colour(code, s string) string {
	if !p.style.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *page) bold(s string) string { return p.colour("1", s) }

func (p *page) headline(run *recording.Run, v diagnose.Verdict) {
	code := "33" // yellow: something to do
	switch {
	case v.Class.Is(diagnose.GPUBound):
		code = "32"
	case v.Class.Starves():
		code = "31"
	}
	seen := ""
	switch {
	case v.Device >= 0: // its work was seen, and the steps are those of it
		seen = traceWindow(v)
	case v.HasSteps:
		seen = fmt.Sprintf("%s: %s", v.State, v.Costs.Window)
	}
	if run.Emulated() {
		seen += "  [emulated device]"
	}
	p.wrapped(p.colour("1;"+code, string(v.Class))+"  ", "  ", seen)
	if title := titleOf(v.Class); title != "" {
		p.wrapped("  ", "  ", title)
	}
	if v.Class == diagnose.Unknown && v.RunnerUp != "" {
		fmt.Fprintf(&p.b, "  The nearest is %s.\n", v.RunnerUp)
	}
	p.b.WriteString("\n")
}

// first says what to do before all else, and whether that is all there is to do.
func (p *page) first(plan advise.Plan, v diagnose.Verdict) (all bool) {
	what := report.SayWhatElse(v)
	switch {
	case v.Class == diagnose.ComputeOnCPU && len(plan.Fixes) > 0: // whatever else helps the run as it is
		what = v.Do()
	case len(plan.Fixes) > 0:
		what = changeText(plan.Fixes[0]) + ": " + plan.Fixes[0].Worth()
	case v.Class.Do() == "" || v.Class == diagnose.Unknown && v.Device >= 0: // a trace it is
		return false
	case v.Class == diagnose.Unknown:
		what = v.Do()
	}
	p.wrapped("  "+p.bold("do first")+"  ", "    ", what)
	p.b.WriteString("\n")
	return len(plan.Fixes) == 0
}

// changeText is what a fix changes, and in which DataLoader.
func changeText(f advise.Fix) string {
	var changes []string
	for _, c := range f.Changes {
		changes = append(changes, c.String())
	}
	if len(changes) == 0 { // no setting does it
		changes = []string{f.Title}
	}
	text := strings.Join(changes, ", ")
	if f.Where != "" {
		text += ", in the DataLoader of " + path.Base(f.Where)
	}
	return text
}

// fewest is the number of steps of a trace below which none can be left out.
const fewest = 3

// traceWindow says how many steps of a trace were judged.
func traceWindow(v diagnose.Verdict) string {
	w := v.Costs.Window
	length := stoker.AboutSeconds(w.End - w.Start)
	n, seen := len(w.Steps), len(w.Steps)+w.WarmUp
	switch {
	case !v.HasSteps || n == 0:
		return length + " without steps"
	case seen < fewest:
		return stoker.Many(n, "step") + ", " + length
	}
	return fmt.Sprintf("%s of %d, %s", stoker.Many(n, "step"), seen, length)
}

func titleOf(class diagnose.Class) string {
	if rule, ok := rules.FindRule(class); ok {
		return rule.Title + ". " + rule.Text
	}
	return "The evidence does not decide."
}

func (p *page) device(run *recording.Run, v diagnose.Verdict) {
	for _, g := range run.Facts.GPUs {
		instances := ""
		if g.MIG {
			instances = ", cut into instances (MIG): the driver tells no utilisation"
		}
		p.row(fmt.Sprintf("GPU %d", g.Index), report.Shorten(g.Name, 60)+used(run, g, v.Costs.Window)+instances)
	}
	if len(run.Facts.GPUs) == 0 && math.IsNaN(v.Idle) && math.IsNaN(v.Stall) {
		p.row("device", "no GPU was seen")
		p.step(v)
		return
	}
	p.row("device", fmt.Sprintf("busy %s, %sidle %s, waiting for input %s%s%s", stoker.Percent(v.Shares.Kernel), alone(v.Shares),
		stoker.Percent(v.Idle), stoker.Percent(v.Stall), report.DescribeSource(v.StallSource), unexplainedText(v)))
	p.step(v)
}

// used says what a GPU's memory held and what it drew, in the mean of the judged window;
// "" where neither is known.
func used(run *recording.Run, g recording.GPU, w recording.Window) (text string) {
	memory, power := report.AverageGPU(run, g, w)
	if memory > 0 {
		text += ", memory " + stoker.AboutBytes(memory)
		if g.MemoryBytes != nil {
			text += " of " + stoker.AboutBytes(*g.MemoryBytes)
		}
	}
	if power > 0 {
		text += ", power " + stoker.AboutWatts(power)
	}
	return text
}

// alone names what the device did beside computing, where it took any time worth a word.
func alone(s diagnose.Shares) (text string) {
	if s.Copy >= report.LeastIdle {
		text += "copies alone " + stoker.Percent(s.Copy) + ", "
	}
	if s.Communication >= report.LeastIdle {
		text += "communication alone " + stoker.Percent(s.Communication) + ", "
	}
	return text
}

// cost says in a line what idling costs in an hour, and what that assumes.
func (p *page) cost(c diagnose.Cost) {
	if math.IsNaN(c.Share) || c.Share < report.LeastIdle {
		return
	}
	var parts []string
	if i := c.Hour.Dollars; i.Known() {
		parts = append(parts, stoker.AboutDollars(i.Point))
	}
	if i := c.Hour.KWh; i.Known() {
		parts = append(parts, stoker.About(i.Point)+" kWh")
	}
	if i := c.Hour.KgCO2; i.Known() {
		parts = append(parts, stoker.About(i.Point)+" kg CO2e")
	}
	if len(parts) == 0 {
		return
	}
	costs := "costs"
	if c.Assumed {
		costs = "would cost"
	}
	p.row("idle", fmt.Sprintf("%s of a GPU %s %s an hour (%s)", stoker.Percent(c.Share), costs, strings.Join(parts, ", "), basis(c)))
}

// basis says where power and prices come from.
func basis(c diagnose.Cost) string {
	power := map[string]string{"measured": "measured power", "emulated": "emulated power", "row": "power from the table"}[c.Source]
	prices := "list prices"
	if c.Prices.Given {
		prices = "your prices"
	}
	if power == "" {
		return prices
	}
	return power + ", " + prices
}

func (p *page) step(v diagnose.Verdict) {
	if v.HasSteps {
		p.row("step", fmt.Sprintf("%s (median %s)%s%s", stoker.AboutSeconds(v.Costs.Step), stoker.AboutSeconds(report.FindMedianStep(v)), waitText(v.Costs), rate(v)))
	}
	p.inside(v.Costs.Window)
	p.cost(v.Cost)
	p.b.WriteString("\n")
}

// leastUnexplained is the share of idle time without a name that is worth a word.
const leastUnexplained = 0.05

func unexplainedText(v diagnose.Verdict) string {
	if !(v.Unexplained >= leastUnexplained) {
		return ""
	}
	return fmt.Sprintf(", idle for no known reason %s", stoker.Percent(v.Unexplained))
}

// waitText says how long the host waits in a step, where a loader tells.
func waitText(c measure.Costs) string {
	if !c.Fed() {
		return "; no loader feeds this loop"
	}
	return fmt.Sprintf("; the CPU side waits %s of it for input", stoker.AboutSeconds(c.Wait))
}

func rate(v diagnose.Verdict) string {
	if r := v.Costs.Rate(); r > 0 {
		return "; " + stoker.AboutSamples(r)
	}
	return ""
}

func (p *page) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(&p.b, "%s\n", p.bold(title))
	for _, line := range lines {
		p.wrapped("  - ", "    ", report.Shorten(line, 600))
	}
	p.b.WriteString("\n")
}

// plan says what to change; where the page has told already what there is to do, only what
// is not worth it.
func (p *page) plan(plan advise.Plan, v diagnose.Verdict, told bool) {
	if len(plan.Fixes) == 0 && len(plan.Rejected) == 0 && (told || v.Class != diagnose.ComputeOnCPU) {
		return
	}
	fmt.Fprintf(&p.b, "%s\n", p.bold("what to change"))
	if len(plan.Fixes) == 0 && !told {
		p.wrapped("  ", "  ", report.SayWhatElse(v))
	}
	if plan.Replay != nil && len(plan.Fixes) > 0 {
		p.wrapped("  ", "  ", replayText(*plan.Replay))
	}
	if law := plan.Law; law != nil && len(plan.Fixes) > 0 && math.Abs(law.Residual()-1) > wellExplained {
		p.wrapped("  ", "  ", fmt.Sprintf("the measured costs explain a step of %s, and %s were measured: the unexplained part may grow, stay or go after a change, and the intervals allow for each",
			stoker.AboutSeconds(law.Law), stoker.AboutSeconds(law.Measured)))
	}
	for i, f := range plan.Fixes {
		p.fix(i+1, f)
	}
	for _, r := range plan.Rejected {
		p.wrapped("  not "+r.Name+": ", "      ", r.Why)
	}
	p.b.WriteString("\n")
}

// replayText says what a trace's replay without a change gives.
func replayText(c replay.Check) string {
	part := ""
	if c.Cut {
		part = fmt.Sprintf(" (the first %d of %s)", c.Steps, stoker.Many(c.Seen, "step"))
	}
	return fmt.Sprintf("by replaying the trace%s; self-check: without a change the replay gives a step of %s (recorded: %s), with usual latencies %s",
		part, stoker.AboutSeconds(c.Replayed), stoker.AboutSeconds(c.Recorded), stoker.AboutSeconds(c.Usual))
}

// wellExplained is how far the law may be off before a page says so.
const wellExplained = 0.1

func (p *page) fix(n int, f advise.Fix) {
	p.wrapped(fmt.Sprintf("  %d. ", n), "     ", p.bold(changeText(f)))
	p.wrapped("     ", "     ", fmt.Sprintf("%s; effort: %s, risk: %s", report.DescribeGain(f), f.Effort, f.Risk))
	for _, note := range f.Notes {
		p.wrapped("     - ", "       ", note)
	}
}

// Explain writes the questions that were asked and their answers.
func Explain(w io.Writer, v diagnose.Verdict, style Style) error {
	p := newPage(style, &v)
	fmt.Fprintf(&p.b, "%s\n", p.bold("The three classic questions"))
	section := diagnose.Class("")
	for _, q := range v.Questions {
		if q.Rule != section {
			section = q.Rule
			score := ""
			if s := scoreOf(v, section); !math.IsNaN(s) { // kinds of an ailment have none
				score = fmt.Sprintf("  score %.2f", s)
			}
			fmt.Fprintf(&p.b, "\n%s%s\n", p.bold(string(section)), score)
		}
		p.wrapped("  ? ", "    ", q.Text+"  "+q.Answer)
		if q.Note != "" {
			p.wrapped("      misleads: ", "      ", q.Note)
		}
	}
	p.b.WriteString("\n")
	p.wrapped("Verdict: ", "  ", fmt.Sprintf("%s (best score %.2f; a rule needs 0.40 and a lead of 0.10)", p.bold(string(v.Class)), v.Scores[0].Value))
	return p.to(w)
}

func scoreOf(v diagnose.Verdict, class diagnose.Class) float64 {
	for _, s := range v.Scores {
		if s.Class == class {
			return s.Value
		}
	}
	return math.NaN()
}

// row writes text beside its name, broken at the page's width.
func (p *page) row(name, text string) { p.wrapped(fmt.Sprintf("  %-8s ", name), "           ", text) }

// wrapped writes text broken at the page's width.
func (p *page) wrapped(first, next, s string) {
	line := first
	empty := true
	for _, word := range strings.Fields(s) {
		if !empty && cellWidth(line)+1+cellWidth(word) > p.width() {
			p.b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	p.b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// WritePlan writes a plan alone.
func WritePlan(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, style Style) error {
	p := newPage(style, &run, &v, &plan)
	p.wrapped("", "  ", SumUp(run, v))
	p.b.WriteString("\n")
	p.plan(plan, v, false)
	if len(plan.Fixes) == 0 && len(plan.Rejected) == 0 {
		p.wrapped("", "", report.SayWhatElse(v))
	}
	return p.to(w)
}
