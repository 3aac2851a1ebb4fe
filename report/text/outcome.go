package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/verify"
)

// WriteOutcome prints the result of verify.
func WriteOutcome(w io.Writer, o verify.Outcome, style Style) error {
	p := newPage(style, &o)
	p.outcomeHeadline(o)
	if o.Refused == "" {
		p.sides(o)
		p.writePromise(o)
	}
	if o.Was != "" {
		p.writeSide("limited by", o.Was+" -> "+p.makeBold(o.Now))
	}
	if o.Refused == "" || o.Was != "" {
		p.b.WriteString("\n")
	}
	p.writeList("notes", slices.DeleteFunc(slices.Clone(o.Warnings), func(text string) bool {
		return isUnkept(o) && slices.Contains(o.Besides, text)
	}))
	return p.to(w)
}

// isUnkept reports whether a promise was not kept while something other than the work differs;
// that is then printed earlier.
func isUnkept(o verify.Outcome) bool {
	return len(o.Besides) > 0 && (o.Promise.Kept == verify.PromiseMissed || o.Promise.Kept == verify.PromiseUndecided)
}

// differenceColours holds the colours of outcomes.
var differenceColours = map[verify.Difference]string{verify.Faster: "32", verify.Slower: "31"}

func (p *page) outcomeHeadline(o verify.Outcome) {
	code := differenceColours[o.Difference]
	if code == "" || o.Refused != "" {
		code = "33"
	}
	p.leadLines(report.LeadOfOutcome(o, p.style.File), code)
	p.b.WriteString("\n")
}

func (p *page) sides(o verify.Outcome) {
	if before, after := report.SayEpoch(o.Before), report.SayEpoch(o.After); before != "" && after != "" {
		p.writeSide("epoch", before+" -> "+after)
	}
	if o.Work != "" {
		p.writeSide("step time", report.SayTime(o.Before)+" -> "+report.SayTime(o.After)+": of other work, so no gain")
	}
	if len(o.Changes) > 0 {
		p.writeSide("changed", report.SayAllChanges(o.Changes))
	}
	if o.Before.Throughput != nil && o.After.Throughput != nil && o.Work == "" {
		p.writeSide("throughput", quantity.About(o.Before.Throughput.Mean.Point)+" -> "+
			quantity.AboutSamples(o.After.Throughput.Mean.Point))
	}
	if text := report.SayRun(o.Run); text != "" {
		p.writeSide("run", text)
	}
	if o.Stall.Before != nil && o.Stall.After != nil {
		p.writeSide("stall", fmt.Sprintf("%s -> %s (device waiting for input)", quantity.Percent(*o.Stall.Before),
			quantity.Percent(*o.Stall.After)))
	}
	if o.Noise != nil {
		p.writeSide("noise", noiseText(*o.Noise))
	}
	if before, after := o.Before.Spread, o.After.Spread; before != nil && after != nil {
		p.writeSide("runs differ", fmt.Sprintf("by %s before, %s after (standard deviation of their means)",
			quantity.Percent(*before), quantity.Percent(*after)))
	}
}

// writeSide writes a line about both runs.
func (p *page) writeSide(name, text string) {
	p.printWrapped(fmt.Sprintf("  %-11s  ", name), "               ", text)
}

// noiseText describes a noise floor.
func noiseText(noise float64) string {
	return quantity.Percent(noise) + " from run to run, without any change"
}

// promises holds text and colour for each state of a promise.
var promises = map[verify.PromiseState]struct{ text, colour string }{
	verify.PromiseMissed:    {"promise missed", "31"},
	verify.PromiseKept:      {"promise kept", "32"},
	verify.PromiseReached:   {"promise kept, or better", "32"},
	verify.PromiseExceeded:  {"better than promised", "32"},
	verify.PromiseUndecided: {"not enough data to decide on the promise", "33"},
}

func (p *page) writePromise(o verify.Outcome) {
	if o.Promise.Promised == nil || o.Promise.Achieved == nil {
		p.writeSide("promise", string(o.Promise.Kept))
		return
	}
	ended := promises[o.Promise.Kept]
	p.writeSide("promised", quantity.Factor(*o.Promise.Promised))
	if isUnkept(o) {
		p.writeSide("but besides", strings.Join(o.Besides, ", "))
	}
	p.writeSide("achieved", quantity.Factor(*o.Promise.Achieved)+": "+p.paint(ended.colour, ended.text))
}
