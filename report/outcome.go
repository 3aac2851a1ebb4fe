package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"stoker"
	"stoker/verify"
)

// Outcome writes what verify found for people.
func Outcome(w io.Writer, o verify.Outcome, style Style) error {
	p := newPage(style, &o)
	p.outcomeHeadline(o)
	if o.Refused == "" {
		p.sides(o)
		p.promise(o)
	}
	if o.Was != "" {
		fmt.Fprintf(&p.b, "  bound by     %s  ->  %s\n", o.Was, p.bold(o.Now))
	}
	p.b.WriteString("\n")
	p.list("note", o.Warnings)
	return p.to(w)
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
		fmt.Fprintf(&p.b, "  changed      %s\n", strings.Join(changes, ", "))
	}
}

func (p *page) sides(o verify.Outcome) {
	unit := strings.TrimPrefix(string(o.Basis), "per ")
	fmt.Fprintf(&p.b, "  %-11s  %s  ->  %s\n", unit+" time", p.time(o.Before), p.time(o.After))
	if o.Before.Throughput != nil && o.After.Throughput != nil {
		fmt.Fprintf(&p.b, "  throughput   %.0f  ->  %.0f samples/s\n", o.Before.Throughput.Mean.Point, o.After.Throughput.Mean.Point)
	}
	if o.Stall.Before != nil && o.Stall.After != nil {
		fmt.Fprintf(&p.b, "  stall        %s  ->  %s  (device waiting for input)\n", stoker.Percent(*o.Stall.Before), stoker.Percent(*o.Stall.After))
	}
	if o.Noise != nil {
		fmt.Fprintf(&p.b, "  noise floor  %s: 19 of 20 such pairs differ by less though nothing was changed\n", stoker.Percent(*o.Noise))
	}
	if before, after := o.Before.Spread, o.After.Spread; before != nil && after != nil {
		fmt.Fprintf(&p.b, "  runs differ  by %s before, %s after (standard deviation of their means)\n", stoker.Percent(*before), stoker.Percent(*after))
	}
	if before, after := o.Before.Needed, o.After.Needed; before != nil && after != nil {
		fmt.Fprintf(&p.b, "  needed       at least %s before, %s after\n", length(*before), length(*after))
	}
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
		fmt.Fprintf(&p.b, "  promise      %s\n", o.Promise.Kept)
		return
	}
	ended := promises[o.Promise.Kept]
	fmt.Fprintf(&p.b, "  promised     %s\n  achieved     %s   %s\n",
		stoker.Factor(*o.Promise.Promised), stoker.Factor(*o.Promise.Achieved), p.colour(ended.colour, ended.text))
}
