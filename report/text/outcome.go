package text

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/verify"
)

// WriteOutcome writes what verify found for people.
func WriteOutcome(w io.Writer, o verify.Outcome, style Style) error {
	p := newPage(style, &o)
	p.outcomeHeadline(o)
	if o.Refused == "" {
		p.sides(o)
		p.promise(o)
	}
	if o.Was != "" {
		p.side("bound by", o.Was+" -> "+p.bold(o.Now))
	}
	p.b.WriteString("\n")
	p.list("note", slices.DeleteFunc(slices.Clone(o.Warnings), func(text string) bool {
		return unkept(o) && slices.Contains(o.Besides, text)
	}))
	return p.to(w)
}

// unkept reports whether a promise was not kept and something else than the work differs,
// which is then said before.
func unkept(o verify.Outcome) bool {
	return len(o.Besides) > 0 && (o.Promise.Kept == verify.PromiseMissed || o.Promise.Kept == verify.PromiseUndecided)
}

func (p *page) outcomeHeadline(o verify.Outcome) {
	if o.Refused != "" {
		fmt.Fprintf(&p.b, "%s\n", p.colour("1;33", "not compared"))
		p.wrapped("  ", "  ", o.Refused)
		return
	}
	code := map[verify.Difference]string{verify.Faster: "1;32", verify.Slower: "1;31", verify.None: "1;33", verify.TooShort: "1;33"}[o.Difference]
	line := string(o.Difference)
	if o.Speedup != nil {
		line = string(o.Difference) + ": " + stoker.Factor(*o.Speedup)
	}
	fmt.Fprintf(&p.b, "%s  %s", p.colour(code, line), o.Basis)
	if o.Emulated {
		p.b.WriteString("  [emulated device]")
	}
	p.b.WriteString("\n\n")
	var changes []string
	for _, c := range o.Changes {
		changes = append(changes, c.String())
	}
	if len(changes) > 0 {
		p.side("changed", strings.Join(changes, ", "))
	}
}

func (p *page) sides(o verify.Outcome) {
	unit := strings.TrimPrefix(string(o.Basis), "per ")
	p.side(unit+" time", p.time(o.Before)+" -> "+p.time(o.After))
	if o.Before.Throughput != nil && o.After.Throughput != nil {
		p.side("throughput", stoker.About(o.Before.Throughput.Mean.Point)+" -> "+stoker.AboutSamples(o.After.Throughput.Mean.Point))
	}
	if o.Stall.Before != nil && o.Stall.After != nil {
		p.side("stall", fmt.Sprintf("%s -> %s (device waiting for input)", stoker.Percent(*o.Stall.Before), stoker.Percent(*o.Stall.After)))
	}
	if o.Noise != nil {
		p.side("noise floor", noiseText(*o.Noise))
	}
	if before, after := o.Before.Spread, o.After.Spread; before != nil && after != nil {
		fmt.Fprintf(&p.b, "  runs differ  by %s before, %s after (standard deviation of their means)\n", stoker.Percent(*before), stoker.Percent(*after))
	}
	if before, after := o.Before.Needed, o.After.Needed; before != nil && after != nil {
		p.side("needed", fmt.Sprintf("at least %s before, %s after", length(*before), length(*after)))
	}
}

// side writes a line about both runs.
func (p *page) side(name, text string) {
	p.wrapped(fmt.Sprintf("  %-11s  ", name), "               ", text)
}

// noiseText says what a noise floor is.
func noiseText(noise float64) string {
	return stoker.Percent(noise) + ": without any change, 19 of 20 such pairs differ by less"
}

// length is how long a run has to be, rounded up: less would not do.
func length(l verify.Length) string {
	return fmt.Sprintf("%.0f s (%.0f steps)", math.Ceil(l.Seconds), math.Ceil(l.Steps))
}

// time is a mean with its interval and n.
func (p *page) time(s verify.Side) string {
	if s.Time == nil {
		return "unknown"
	}
	m := s.Time.Mean
	runs := ""
	if s.Runs > 1 {
		runs = fmt.Sprintf(" in %d runs", s.Runs)
	}
	return fmt.Sprintf("%s (%s to %s, n %d%s)", stoker.AboutSeconds(m.Point), stoker.AboutSeconds(m.Low), stoker.AboutSeconds(m.High), s.Steps, runs)
}

// promises are the words and colours for how a promise ended.
var promises = map[verify.Kept]struct{ text, colour string }{
	verify.PromiseMissed:    {"promise missed", "31"},
	verify.PromiseKept:      {"promise kept", "32"},
	verify.PromiseReached:   {"promise kept, or better", "32"},
	verify.PromiseExceeded:  {"better than promised", "32"},
	verify.PromiseUndecided: {"promise not decided", "33"},
}

func (p *page) promise(o verify.Outcome) {
	if o.Promise.Promised == nil || o.Promise.Achieved == nil {
		p.side("promise", string(o.Promise.Kept))
		return
	}
	ended := promises[o.Promise.Kept]
	p.side("promised", stoker.Factor(*o.Promise.Promised))
	if unkept(o) {
		p.side("but besides", strings.Join(o.Besides, "; "))
	}
	p.side("achieved", stoker.Factor(*o.Promise.Achieved)+": "+p.colour(ended.colour, ended.text))
}
