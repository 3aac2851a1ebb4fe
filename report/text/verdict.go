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

// WriteVerdict prints verdict and plan of a run: first what limits the run, the figure that
// proves it and what to do first, then the most important of the rest.
func WriteVerdict(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, style Style) error {
	return writeVerdict(w, run, v, plan, style)
}

// writeVerdict prints a page with further sections after what limits the run.
func writeVerdict(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, style Style,
	further ...section,
) error {
	p := newVerdictPage(style, &run, &v, &plan)
	p.lead(report.LeadOf(run, v, plan, style.File), v)
	p.show(slices.Concat([]section{aboutClass(v)}, further, []section{
		p.figures(run, v, plan), p.ledger(v), evidence(v, shownEvidence), p.beside(v), changes(plan, v), p.findings(v),
		p.notes(report.ListNotes(v)),
	}), strings.TrimSpace("stoker diagnose --all "+style.File))
	return p.to(w)
}

// SumUp returns the verdict in one line, for the moment in which it changes.
func SumUp(run *recording.Run, v diagnose.Verdict) string {
	line := string(v.Headline())
	if !math.IsNaN(v.Stall) {
		line += fmt.Sprintf(", the device waits for input %s of the time", quantity.Percent(v.Stall))
	}
	if v.HasSteps {
		line += fmt.Sprintf(" (%s, %s)", v.State, quantity.Many(len(v.Costs.Window.Steps), "step"))
	}
	return safe.Text(line+report.MarkEmulated(run.Emulated()), 0)
}

// lead prints what the page says first.
func (p *page) lead(l report.Lead, v diagnose.Verdict) {
	code := "33" // yellow: something to do
	switch {
	case v.Lead != nil:
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
	p.writeRow("next", p.makeBold(report.Shorten(l.Next, 600)))
	if l.Try != "" {
		p.writeRow("run", l.Try)
	}
	if l.Then != "" {
		p.writeRow("then", report.Shorten(l.Then, 400))
	}
	for i, text := range l.Caution {
		if i < shownNotes || p.style.All {
			p.writeRow("caution", report.Shorten(text, 600))
		}
	}
}

// aboutClass explains the class.
func aboutClass(v diagnose.Verdict) (s section) {
	if lead := v.Lead; lead != nil {
		// who waits outside has steps that lose nothing that counts
		if lead.Class != v.Class && lead.Steps && lead.Class != diagnose.WaitsOutside {
			text := "The steps by themselves: " + report.DescribeClass(v) + "."
			s.add(useful, func(p *page) { p.printWrapped("  ", "  ", text) })
		}
		return s
	}
	_, text, known := rules.Describe(v)
	if v.Class.Is(diagnose.GPUBound) && report.TellsOutside(v) { // a faster host is worth something there
		text = "The steps by themselves: " + report.DescribeClass(v) + "."
	}
	if known {
		s.add(useful, func(p *page) { p.printWrapped("  ", "  ", text) })
	}
	return s
}

// evidence prints further evidence: that many lines of it without --all.
func evidence(v diagnose.Verdict, most int) section {
	s := section{title: "evidence"}
	s.list(important, most, shortenLines(report.FurtherEvidence(v)))
	return s
}

// How much of each list is shown without --all.
const (
	shownEvidence = 4
	shownFixes    = 3
	shownNotes    = 3
)

// shortenLines shortens texts to fit on a page.
func shortenLines(lines []string) (short []string) {
	for _, line := range lines {
		short = append(short, report.Shorten(line, 600))
	}
	return short
}

// grave lists findings that mean the program is broken.
var grave = []string{diagnose.FindingHung, diagnose.FindingFailed, diagnose.FindingRepeatedSamples}

// quiet lists findings that call for no action.
var quiet = []string{"steadily-low", "spikes", "sawtooth"}

// findings prints findings other than the class.
func (p *page) findings(v diagnose.Verdict) section {
	s := section{title: "besides"}
	for _, f := range v.Findings {
		r := useful
		switch {
		case slices.Contains(grave, f.Name): // nothing else is as important
			r = always
		case f.Name == diagnose.FindingUnusedBatches: // making none of them is worth more than making them faster
			r = important
		case slices.Contains(quiet, f.Name):
			r = onlyAll
		}
		s.add(r, func(p *page) { p.printWrapped("  - ", "    ", report.Shorten(f.Name+": "+f.Text, 600)) })
	}
	return s
}

// notes prints what a reader should know about the recording.
func (p *page) notes(notes []string) section {
	s := section{title: "notes"}
	told := slices.DeleteFunc(slices.Clone(notes), func(text string) bool {
		return strings.HasSuffix(text, diagnose.StillShort)
	})
	s.list(important, shownNotes, shortenLines(told))
	return s
}

// figures prints the few numbers that most readers want.
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
		row(at, fmt.Sprintf("GPU %d", g.Index), report.Shorten(g.Name, 60)+usedText(run, g, v.Costs.Window)+instances)
	}
	if len(run.Facts.GPUs) == 0 && math.IsNaN(v.Idle) && math.IsNaN(v.Stall) {
		row(always, "device", "no GPU was seen")
	} else {
		row(always, "device", ofSteps(v)+fmt.Sprintf("busy %s, %sidle %s, waiting for input %s%s%s",
			quantity.Percent(v.Shares.Kernel), alone(v.Shares), quantity.Percent(v.Idle), quantity.Percent(v.Stall),
			report.DescribeSource(v.StallSource), unexplainedText(v)))
	}
	if v.HasSteps {
		row(always, "step", fmt.Sprintf("%s (median %s)%s%s", quantity.AboutSeconds(v.Costs.Step),
			quantity.AboutSeconds(report.FindMedianStep(v)), waitText(v.Costs), rate(v)))
	}
	row(always, "server", strings.Join(report.SayRequests(v), ", "))
	row(always, "epoch", report.DescribeEpoch(run, v, plan))
	if parts, _ := v.Costs.Window.StepParts(); parts != nil {
		s.add(useful, func(p *page) { p.writeInside(v.Costs.Window) })
	}
	at := important
	if v.Cost.Assumed { // there is no such device
		at = onlyAll
	}
	row(at, "idle", costText(v.Cost))
	return s
}

// ofSteps labels figures of a device that are of the judged steps alone, if it is less busy in the run; "" otherwise.
func ofSteps(v diagnose.Verdict) string {
	if !busyElse(v) {
		return ""
	}
	return "in steps "
}

// busyElse reports whether the device is less busy in the run without its start and end than in the judged steps, for
// what comes between them.
func busyElse(v diagnose.Verdict) bool {
	return v.HasSteps && !report.MostlySteps(v.Ledger) && v.Shares.Kernel-report.BusyBetween(v.Ledger) >= otherShare
}

// otherShare is by how much two shares differ that are not about the same. [J]
const otherShare = 0.1

// usedText says how much memory a GPU held and how much power it drew on average in the judged
// window; "" if unknown.
func usedText(run *recording.Run, g recording.GPU, w recording.Window) (text string) {
	_, power := report.AverageGPU(run, g, w)
	memory := report.ReadDeviceMemory(run, g, w)
	if held := memory.String(); held != "" {
		text += ", memory " + held
	}
	if power > 0 {
		text += ", power " + quantity.AboutWatts(power)
	}
	if fill := memory.Fill(); fill != "" {
		text += ". Its memory: " + fill
	}
	return text
}

// alone names what the device did other than computing, if it took noticeable time.
func alone(s diagnose.Shares) (text string) {
	if s.Copy >= report.LeastIdle {
		text += "copies alone " + quantity.Percent(s.Copy) + ", "
	}
	if s.Communication >= report.LeastIdle {
		text += "communication alone " + quantity.Percent(s.Communication) + ", "
	}
	return text
}

// costText says in one line what idle time costs per hour, and what that assumes; "" if unknown
// or too little.
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

// leastUnexplained is the share of unexplained idle time from which it is mentioned.
const leastUnexplained = 0.05

func unexplainedText(v diagnose.Verdict) string {
	if !(v.Unexplained >= leastUnexplained) {
		return ""
	}
	return fmt.Sprintf(", idle for no known reason %s", quantity.Percent(v.Unexplained))
}

// waitText says how long the host waits in a step, if a loader records it.
func waitText(c measure.Costs) string {
	if !c.Fed() {
		return ", no loader feeds this loop"
	}
	return fmt.Sprintf(", the CPU side waits %s of it for input", quantity.AboutSeconds(c.Wait))
}

func rate(v diagnose.Verdict) string {
	if r := v.Costs.Rate(); r > 0 {
		if v.Costs.Window.TurnTime > 0 {
			return ", " + quantity.AboutSamples(r) + " with the time of other loaders"
		}
		return ", " + quantity.AboutSamples(r)
	}
	return ""
}

// changes prints the fixes, largest gain first, and what gains too little.
func changes(plan advise.Plan, v diagnose.Verdict) section {
	s := section{title: "what to change", ordered: true}
	if len(plan.Fixes) > 0 {
		if plan.Replay != nil {
			s.add(detail, func(p *page) { p.printWrapped("  ", "  ", replayText(*plan.Replay)) })
		}
		if law := plan.Law; law != nil && math.Abs(law.Residual()-1) > wellExplained {
			s.add(detail, func(p *page) {
				p.printWrapped("  ", "  ", fmt.Sprintf(
					"The measured costs explain %s of a step of %s. What they leave unexplained may grow, stay "+
						"or go, and the intervals allow for each.",
					quantity.AboutSeconds(law.Law), quantity.AboutSeconds(law.Measured)))
			})
		}
	}
	for i, f := range plan.Fixes {
		at := important
		switch {
		case i == 0 && plan.Replay != nil: // with its risk and what to check before, for which the lead has no room
			at = always
		case i >= shownFixes:
			at = onlyAll
		}
		s.add(at, func(p *page) { p.writeFix(i+1, f) })
		for j, note := range f.Notes {
			at := detail
			switch line := report.IsOneLine(f); {
			case line && j == 0: // it says what to do about the line
				at = important
			case i > 0 || j > 0:
				at = onlyAll
			}
			s.add(at, func(p *page) { p.printWrapped("     - ", "       ", note) })
		}
	}
	for i, r := range plan.Rejected {
		at := detail
		if i >= shownFixes {
			at = onlyAll
		}
		s.add(at, func(p *page) { p.printWrapped("  not "+report.SayName(r.Name)+": ", "      ", r.Why) })
	}
	return s
}

// replayText describes the result of replaying a trace without a change.
func replayText(c replay.Check) string {
	part := ""
	if c.Cut {
		part = fmt.Sprintf(" (the first %d of %s)", c.Steps, quantity.Many(c.Seen, "step"))
	}
	return fmt.Sprintf("The gains come from replaying the trace%s. Self-check: without a change the replay gives a "+
		"step of %s (recorded: %s), with usual latencies %s.",
		part, quantity.AboutSeconds(c.Replayed), quantity.AboutSeconds(c.Recorded), quantity.AboutSeconds(c.Usual))
}

// wellExplained is the relative error of the model from which a page mentions it.
const wellExplained = 0.1

func (p *page) writeFix(n int, f advise.Fix) {
	p.printWrapped(fmt.Sprintf("  %d. ", n), "     ", p.makeBold(report.SayFix(f)))
	text := fmt.Sprintf("%s. Effort: %s.", report.DescribeGain(f), report.SayEffort(f.Effort))
	if risk := report.SayRisk(f); risk != "" {
		text += " Risk: " + risk + "."
	}
	p.printWrapped("     ", "     ", text)
	if f.Mind != "" {
		p.printWrapped("     First: ", "            ", f.Mind+".")
	}
}

// Explain prints the questions that were asked and their answers.
func Explain(w io.Writer, v diagnose.Verdict, style Style) error {
	p := newPage(style, &v)
	fmt.Fprintf(&p.b, "%s\n", p.makeBold("The three classic questions"))
	section := diagnose.Class("")
	for _, q := range v.Questions {
		if q.Rule != section {
			section = q.Rule
			score := ""
			if s := scoreOf(v, section); !math.IsNaN(s) { // subclasses have no score
				score = fmt.Sprintf("  score %.2f", s)
			}
			fmt.Fprintf(&p.b, "\n%s%s\n", p.makeBold(string(section)), score)
		}
		p.printWrapped("  ? ", "    ", q.Text+"  "+q.Answer)
		if q.Note != "" {
			p.printWrapped("      misleads: ", "      ", q.Note)
		}
	}
	p.b.WriteString("\n")
	p.printWrapped("Verdict: ", "  ", fmt.Sprintf("%s (best score %.2f, and a rule needs 0.40 and a lead of 0.10)",
		p.makeBold(string(v.Class)), v.Scores[0].Value))
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

// WritePlan prints only a plan, completely.
func WritePlan(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, style Style) error {
	p := newVerdictPage(style, &run, &v, &plan)
	p.style.All = true
	p.lead(report.LeadOf(run, v, plan, style.File), v)
	if s := changes(plan, v); len(s.items) > 0 {
		p.show([]section{s}, "")
	}
	return p.to(w)
}
