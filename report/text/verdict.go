package text

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// Style says how text may look.
type Style struct {
	Colour bool   // ANSI colours
	Width  int    // columns; 0: 100
	All    bool   // everything that is known, else what fits into 40 lines
	File   string // what a shell calls the file that a page is about; "" the newest recording
}

// WriteVerdict writes verdict and plan of a run for people: first what limits the run, the figure
// that shows it and what to do first, then what matters most of the rest.
func WriteVerdict(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, style Style) error {
	return writeVerdict(w, run, v, plan, style)
}

// writeVerdict writes a page with further sections behind what limits the run.
func writeVerdict(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, style Style,
	further ...section,
) error {
	p := newVerdictPage(style, &run, &v, &plan)
	p.lead(report.LeadOf(run, v, plan, style.File), v)
	p.show(slices.Concat([]section{aboutClass(v)}, further, []section{
		p.figures(run, v, plan), evidence(v, shownEvidence), p.beside(v), changes(plan, v), p.findings(v),
		p.notes(report.ListNotes(v)),
	}), strings.TrimSpace("stoker diagnose --all "+style.File))
	return p.to(w)
}

// SumUp is the verdict in one line, for the moment in which it changes.
func SumUp(run *recording.Run, v diagnose.Verdict) string {
	line := string(v.Class)
	if !math.IsNaN(v.Stall) {
		line += fmt.Sprintf(", the device waits for input %s of the time", quantity.Percent(v.Stall))
	}
	if v.HasSteps {
		line += fmt.Sprintf(" (%s, %s)", v.State, quantity.Many(len(v.Costs.Window.Steps), "step"))
	}
	return safe.Text(line+report.MarkEmulated(run.Emulated()), 0)
}

// page collects the text of one report.
type page struct {
	b     strings.Builder
	style Style
	terms []term // to be explained at their first use
}

// newPage begins a page about what pointers point at. Here, and nowhere else, is
// made fit for a terminal what came from outside: names of processes, devices and
// kernels, settings, paths, messages. What is written on the page later is plain
// text and colours of our own.
func newPage(style Style, about ...any) *page {
	safe.Values(about...)
	return &page{style: style}
}

// newVerdictPage begins a page that explains the words that it uses.
func newVerdictPage(style Style, about ...any) *page {
	p := newPage(style, about...)
	p.terms = slices.Clone(terms)
	return p
}

// to writes the page.
func (p *page) to(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) paint(code, s string) string {
	if !p.style.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *page) bold(s string) string { return p.paint("1", s) }

// lead writes what a page says before all else.
func (p *page) lead(l report.Lead, v diagnose.Verdict) {
	code := "33" // yellow: something to do
	switch {
	case v.Class.Is(diagnose.GPUBound):
		code = "32"
	case v.Class.Starves():
		code = "31"
	}
	p.leadLines(l, code)
}

func (p *page) leadLines(l report.Lead, code string) {
	class, rest, _ := strings.Cut(l.Verdict, ": ")
	p.writeRow("verdict", p.paint("1;"+code, class+":")+" "+rest)
	p.writeRow("why", report.Shorten(l.Why, 600))
	p.writeRow("next", p.bold(report.Shorten(l.Next, 600)))
	if l.Try != "" {
		p.writeRow("run", l.Try)
	}
	for i, text := range l.Caution {
		if i < shownNotes || p.style.All {
			p.writeRow("caution", report.Shorten(text, 600))
		}
	}
}

// aboutClass explains the class.
func aboutClass(v diagnose.Verdict) (s section) {
	if _, text, known := rules.Describe(v); known {
		s.add(useful, func(p *page) { p.wrapped("  ", "  ", text) })
	}
	return s
}

// evidence is what else shows the class: so many lines of it without --all.
func evidence(v diagnose.Verdict, most int) section {
	s := section{title: "evidence"}
	s.list(important, most, shortened(report.FurtherEvidence(v)))
	return s
}

// How much of each list is shown without --all.
const (
	shownEvidence = 4
	shownFixes    = 3
	shownNotes    = 3
)

// shortened are texts that a page has room for.
func shortened(lines []string) (short []string) {
	for _, line := range lines {
		short = append(short, report.Shorten(line, 600))
	}
	return short
}

// grave are findings of which the program is broken.
var grave = []string{diagnose.FindingHung, diagnose.FindingFailed, diagnose.FindingRepeatedSamples}

// quiet are findings of which nothing follows that could be done.
var quiet = []string{"steadily-low", "spikes", "sawtooth"}

// findings are what stands beside the class.
func (p *page) findings(v diagnose.Verdict) section {
	s := section{title: "besides"}
	for _, f := range v.Findings {
		r := useful
		switch {
		case slices.Contains(grave, f.Name): // nothing else matters as much
			r = always
		case slices.Contains(quiet, f.Name):
			r = onlyAll
		}
		s.add(r, func(p *page) { p.wrapped("  - ", "    ", report.Shorten(f.Name+": "+f.Text, 600)) })
	}
	return s
}

// notes are what a reader should know of the recording.
func (p *page) notes(notes []string) section {
	s := section{title: "notes"}
	told := slices.DeleteFunc(slices.Clone(notes), func(text string) bool {
		return strings.HasSuffix(text, diagnose.StillShort)
	})
	s.list(important, shownNotes, shortened(told))
	return s
}

// figures are the few numbers that most people look for.
func (p *page) figures(run *recording.Run, v diagnose.Verdict, plan advise.Plan) (s section) {
	row := func(r rank, name, text string) {
		if text != "" {
			s.add(r, func(p *page) { p.writeRow(name, text) })
		}
	}
	if v.HasSteps {
		row(always, "judged", fmt.Sprintf("%s: %s", v.State, v.Costs.Window))
	}
	for i, g := range run.Facts.GPUs {
		instances := ""
		if g.MIG {
			instances = ", cut into instances (MIG): the driver tells no utilisation"
		}
		at := always
		if i > 1 {
			at = onlyAll
		}
		row(at, fmt.Sprintf("GPU %d", g.Index), report.Shorten(g.Name, 60)+used(run, g, v.Costs.Window)+instances)
	}
	if len(run.Facts.GPUs) == 0 && math.IsNaN(v.Idle) && math.IsNaN(v.Stall) {
		row(always, "device", "no GPU was seen")
	} else {
		row(always, "device", fmt.Sprintf("busy %s, %sidle %s, waiting for input %s%s%s",
			quantity.Percent(v.Shares.Kernel), alone(v.Shares), quantity.Percent(v.Idle), quantity.Percent(v.Stall),
			report.DescribeSource(v.StallSource), unexplainedText(v)))
	}
	if v.HasSteps {
		row(always, "step", fmt.Sprintf("%s (median %s)%s%s", quantity.AboutSeconds(v.Costs.Step),
			quantity.AboutSeconds(report.FindMedianStep(v)), waitText(v.Costs), rate(v)))
	}
	row(always, "epoch", report.DescribeEpoch(run, v, plan))
	if parts, _ := v.Costs.Window.StepParts(); parts != nil {
		s.add(useful, func(p *page) { p.writeInside(v.Costs.Window) })
	}
	at := important
	if v.Cost.Assumed { // of a device that is not there
		at = onlyAll
	}
	row(at, "idle", costText(v.Cost))
	return s
}

// used says what a GPU's memory held and what it drew, in the mean of the judged window;
// "" where neither is known.
func used(run *recording.Run, g recording.GPU, w recording.Window) (text string) {
	memory, power := report.AverageGPU(run, g, w)
	if memory > 0 {
		text += ", memory " + quantity.AboutBytes(memory)
		if g.MemoryBytes != nil {
			text += " of " + quantity.AboutBytes(*g.MemoryBytes)
		}
	}
	if power > 0 {
		text += ", power " + quantity.AboutWatts(power)
	}
	return text
}

// alone names what the device did beside computing, where it took any time worth a word.
func alone(s diagnose.Shares) (text string) {
	if s.Copy >= report.LeastIdle {
		text += "copies alone " + quantity.Percent(s.Copy) + ", "
	}
	if s.Communication >= report.LeastIdle {
		text += "communication alone " + quantity.Percent(s.Communication) + ", "
	}
	return text
}

// costText says in a line what idling costs in an hour, and what that assumes; "" where that is
// unknown, or too little for a word.
func costText(c diagnose.Cost) string {
	if math.IsNaN(c.Share) || c.Share < report.LeastIdle {
		return ""
	}
	var parts []string
	if i := c.Hour.Dollars; i.Known() {
		parts = append(parts, quantity.AboutDollars(i.Point))
	}
	if i := c.Hour.KWh; i.Known() {
		parts = append(parts, quantity.About(i.Point)+" kWh")
	}
	if i := c.Hour.KgCO2; i.Known() {
		parts = append(parts, quantity.About(i.Point)+" kg CO2e")
	}
	if len(parts) == 0 {
		return ""
	}
	costs := "costs"
	if c.Assumed {
		costs = "would cost"
	}
	return fmt.Sprintf("%s of a GPU %s %s an hour (%s)", quantity.Percent(c.Share), costs, strings.Join(parts, ", "),
		describeBasis(c))
}

// describeBasis says where power and prices come from.
func describeBasis(c diagnose.Cost) string {
	power := map[string]string{
		"measured": "measured power", "emulated": "emulated power",
		"row": "power from the table",
	}[c.Source]
	prices := "list prices"
	if c.Prices.Given {
		prices = "your prices"
	}
	if power == "" {
		return prices
	}
	return power + ", " + prices
}

// leastUnexplained is the share of idle time without a name that is worth a word.
const leastUnexplained = 0.05

func unexplainedText(v diagnose.Verdict) string {
	if !(v.Unexplained >= leastUnexplained) {
		return ""
	}
	return fmt.Sprintf(", idle for no known reason %s", quantity.Percent(v.Unexplained))
}

// waitText says how long the host waits in a step, where a loader tells.
func waitText(c measure.Costs) string {
	if !c.Fed() {
		return ", no loader feeds this loop"
	}
	return fmt.Sprintf(", the CPU side waits %s of it for input", quantity.AboutSeconds(c.Wait))
}

func rate(v diagnose.Verdict) string {
	if r := v.Costs.Rate(); r > 0 {
		return ", " + quantity.AboutSamples(r)
	}
	return ""
}

func (p *page) writeList(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(&p.b, "%s\n", p.bold(title))
	for _, line := range lines {
		p.wrapped("  - ", "    ", report.Shorten(line, 600))
	}
	p.b.WriteString("\n")
}

// changes are the fixes, most worth first, and what is not worth it.
func changes(plan advise.Plan, v diagnose.Verdict) section {
	s := section{title: "what to change"}
	if len(plan.Fixes) > 0 {
		if plan.Replay != nil {
			s.add(detail, func(p *page) { p.wrapped("  ", "  ", replayText(*plan.Replay)) })
		}
		if law := plan.Law; law != nil && math.Abs(law.Residual()-1) > wellExplained {
			s.add(detail, func(p *page) {
				p.wrapped("  ", "  ", fmt.Sprintf(
					"The measured costs explain %s of a step of %s. What they leave unexplained may grow, stay "+
						"or go, and the intervals allow for each.",
					quantity.AboutSeconds(law.Law), quantity.AboutSeconds(law.Measured)))
			})
		}
	}
	for i, f := range plan.Fixes {
		at := important
		switch {
		case i == 0 && plan.Replay != nil: // its risk and what to look at before: the lead has no room for them
			at = always
		case i >= shownFixes:
			at = onlyAll
		}
		s.add(at, func(p *page) { p.writeFix(i+1, f) })
		for j, note := range f.Notes {
			at := detail
			if i > 0 || j > 0 {
				at = onlyAll
			}
			s.add(at, func(p *page) { p.wrapped("     - ", "       ", note) })
		}
	}
	for i, r := range plan.Rejected {
		at := detail
		if i >= shownFixes {
			at = onlyAll
		}
		s.add(at, func(p *page) { p.wrapped("  not "+report.SayName(r.Name)+": ", "      ", r.Why) })
	}
	return s
}

// replayText says what a trace's replay without a change gives.
func replayText(c replay.Check) string {
	part := ""
	if c.Cut {
		part = fmt.Sprintf(" (the first %d of %s)", c.Steps, quantity.Many(c.Seen, "step"))
	}
	return fmt.Sprintf("The gains come from replaying the trace%s. Self-check: without a change the replay gives a "+
		"step of %s (recorded: %s), with usual latencies %s.",
		part, quantity.AboutSeconds(c.Replayed), quantity.AboutSeconds(c.Recorded), quantity.AboutSeconds(c.Usual))
}

// wellExplained is how far the law may be off before a page says so.
const wellExplained = 0.1

func (p *page) writeFix(n int, f advise.Fix) {
	p.wrapped(fmt.Sprintf("  %d. ", n), "     ", p.bold(report.SayFix(f)))
	p.wrapped("     ", "     ", fmt.Sprintf("%s. Effort: %s. Risk: %s.", report.DescribeGain(f),
		report.SayEffort(f.Effort), report.SayRisk(f.Risk)))
	if f.Mind != "" {
		p.wrapped("     First: ", "            ", f.Mind+".")
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
	p.wrapped("Verdict: ", "  ", fmt.Sprintf("%s (best score %.2f, and a rule needs 0.40 and a lead of 0.10)",
		p.bold(string(v.Class)), v.Scores[0].Value))
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

// writeRow writes text beside its name, broken at the page's width.
func (p *page) writeRow(name, text string) {
	p.wrapped(fmt.Sprintf("  %-8s ", name), "           ", text)
}

// wrapped writes text broken at the page's width.
func (p *page) wrapped(first, next, s string) {
	line := first
	empty := true
	for _, word := range strings.Fields(p.explained(s)) {
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

// WritePlan writes a plan alone, all of it.
func WritePlan(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, style Style) error {
	p := newVerdictPage(style, &run, &v, &plan)
	p.style.All = true
	p.lead(report.LeadOf(run, v, plan, style.File), v)
	if s := changes(plan, v); len(s.items) > 0 {
		p.show([]section{s}, "")
	}
	return p.to(w)
}
