package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/verify"
)

// Comparison is the result of verify for two runs, in words.
type Comparison struct {
	Title   string
	Rows    [][]string // name, before, after; the first row is a heading
	Changes []string
}

// DescribeOutcome describes an outcome in words; before and after are the names of the two
// runs.
func DescribeOutcome(o verify.Outcome, before, after string) Comparison {
	c := Comparison{Title: string(o.Difference), Rows: [][]string{{"run", before, after}, {"class", o.Was, o.Now}}}
	if o.Speedup != nil {
		c.Title += ": " + quantity.Factor(*o.Speedup)
	}
	for _, change := range o.Changes {
		c.Changes = append(c.Changes, change.String())
	}
	times := func(s verify.Side) string {
		if s.Time == nil {
			return "unknown"
		}
		return quantity.Around(s.Time.Mean, quantity.AboutSeconds)
	}
	rates := func(s verify.Side) string {
		if s.Throughput == nil {
			return "unknown"
		}
		return quantity.Around(s.Throughput.Mean, quantity.AboutSamples)
	}
	share := func(v *float64) string {
		if v == nil {
			return "unknown"
		}
		return quantity.Percent(*v)
	}
	if o.Work != "" {
		c.Title = string(o.Difference) + ": " + o.Work
	}
	if before, after := SayEpoch(o.Before), SayEpoch(o.After); before != "" && after != "" {
		c.Rows = append(c.Rows, []string{"epoch", before, after})
	}
	c.Rows = append(c.Rows, []string{"time " + string(o.Basis), times(o.Before), times(o.After)})
	if o.Before.Throughput != nil || o.After.Throughput != nil {
		c.Rows = append(c.Rows, []string{"throughput of a rank", rates(o.Before), rates(o.After)})
	}
	if o.Stall.Before != nil || o.Stall.After != nil {
		c.Rows = append(c.Rows, []string{"waiting for input", share(o.Stall.Before), share(o.Stall.After)})
	}
	return c
}

// FormatDifference prints a difference of times with its sign.
func FormatDifference(v float64) string {
	if v < 0 {
		return "-" + quantity.AboutSeconds(-v)
	}
	return "+" + quantity.AboutSeconds(v)
}

// LeadOfOutcome returns the lead of a comparison. after is the run after the change as written
// in a shell, "" if unknown.
func LeadOfOutcome(o verify.Outcome, after string) Lead {
	l := Lead{
		Verdict: string(o.Difference) + ": " + string(o.Basis) + MarkEmulated(o.Emulated),
		Why:     fmt.Sprintf("%s %s -> %s", sayBasis(o.Basis), SayTime(o.Before), SayTime(o.After)),
	}
	if o.Speedup != nil {
		l.Verdict = fmt.Sprintf("%s: %s %s%s", o.Difference, quantity.Factor(*o.Speedup), o.Basis,
			MarkEmulated(o.Emulated))
	}
	if o.Refused != "" {
		l.Verdict, l.Why = "not compared: nothing can be said about the change", o.Refused
		l.Next = "compare two runs of the same work"
		if text := sayNeeded(o); text != "" {
			l.Next = text
		}
		return l
	}
	switch o.Difference {
	case verify.OtherWork:
		l.Verdict, l.Why = "other work: the change alters what is trained on"+MarkEmulated(o.Emulated), o.Work
		l.Next = sayRepair(o)
	case verify.Faster:
		l.Next = "keep the change"
		if o.Promise.Kept == verify.PromiseMissed {
			l.Next += ", and look at what else differs: it gains less than was promised"
		}
	case verify.Slower:
		l.Next = "take the change back"
	case verify.TooShort:
		if l.Next = sayNeeded(o); l.Next == "" {
			l.Next = "run both for longer, or several times each: the runs differ too much to decide"
		}
	case verify.None, verify.NotCompared:
		l.Next = "try another change: this one makes no difference that can be measured"
	}
	if o.Now != "" && after != "" && o.Difference != verify.TooShort {
		l.Try = "stoker diagnose " + after
	}
	return l
}

// sayRepair says what to do about a change that alters the training data.
func sayRepair(o verify.Outcome) string {
	if r := o.After.Epoch.Repeats; r != nil && *r > 1 {
		return "take the change back, or split the data set between its workers: " + diagnose.SplitAdvice
	}
	return "find out why an epoch is another one, before any time is compared"
}

// SayEpoch describes the work of an epoch; "" if unknown.
func SayEpoch(s verify.Side) string {
	if s.Epoch.Steps == nil {
		return ""
	}
	text := quantity.About(*s.Epoch.Steps) + " steps"
	if s.Epoch.Samples != nil {
		text = quantity.About(*s.Epoch.Samples) + " samples in " + text
	}
	if s.Epoch.Repeats != nil && *s.Epoch.Repeats > 1 {
		text += fmt.Sprintf(", each %d times", *s.Epoch.Repeats)
	}
	return text
}

// sayNeeded says how long both runs must be; "" if unknown.
func sayNeeded(o verify.Outcome) string {
	most := 0.0
	for _, side := range []verify.Side{o.Before, o.After} {
		if side.Needed != nil {
			most = max(most, side.Needed.Seconds)
		}
	}
	switch {
	case most == 0:
		return ""
	case most < 100:
		return fmt.Sprintf("not enough data: run each for at least %.0f s to decide", math.Ceil(most))
	}
	return fmt.Sprintf("not enough data: run each for at least %s minutes to decide",
		quantity.About(math.Ceil(most/6)/10))
}

// SayTime prints a mean with its interval and number of steps.
func SayTime(s verify.Side) string {
	if s.Time == nil {
		return "unknown"
	}
	m := s.Time.Mean
	runs := ""
	if s.Runs > 1 {
		runs = fmt.Sprintf(" in %d runs", s.Runs)
	}
	return fmt.Sprintf("%s (%s to %s, n %d%s)", quantity.AboutSeconds(m.Point), quantity.AboutSeconds(m.Low),
		quantity.AboutSeconds(m.High), s.Steps, runs)
}

// sayBasis names the unit of a time: "step time".
func sayBasis(b verify.Basis) string {
	if b == verify.PerAnswer {
		return "time from answer to answer"
	}
	return strings.TrimPrefix(string(b), "per ") + " time"
}
