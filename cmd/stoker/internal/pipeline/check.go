// Package pipeline has what verbs report to continuous integration: --check with its exit code, and the formats
// of GitHub, GitLab and SARIF.
package pipeline

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/verify"
)

// Check is the flag --check: the conditions for exit code 0. It takes words and bounds,
// separated by commas or in several flags:
//
//	fed                    the device is kept busy (the default of --check without a value)
//	promise                the prediction was kept (only verify, and the default there)
//	stall<10%  idle<=0.2  step<120ms
//	step<=+5%  faster>=1.2x  (only verify: compared with the runs before)
//
// An unknown figure fails every bound: a pipeline that depends on a figure must not pass when the
// figure is missing.
type Check struct {
	compares     bool // the verb compares with a run before, and so has a promise
	fed, promise bool
	bounds       []bound
}

// bound is an upper or lower limit of a quantity of a verdict.
type bound struct {
	quantity string // "stall", "idle", "step", "step change" or "faster"; only "faster" has a lower limit
	equal    bool   // the limit itself is allowed
	limit    float64
}

// Quantities of a comparison of two runs.
const (
	stepChange = "step change" // the relative change of its time
	faster     = "faster"      // the speed-up
)

// fedBounds are the bounds of fed.
var fedBounds = []bound{{"stall", true, diagnose.FedStall}, {"idle", true, diagnose.FedStall}}

// Words of --check.
const (
	Fed     = "fed"
	Promise = "promise"
)

// Register adds the flag to a verb. word is its value if none is given.
func (c *Check) Register(cmd *cobra.Command, word, usage string) {
	c.compares = word == Promise
	bounds := "stall<10%,idle<20%,step<120ms"
	if c.compares {
		bounds = "faster>=1.2x,step<=+5%,stall<10%,idle<20%,step<120ms"
	}
	cmd.Flags().Var(c, "check", usage+", or if one of `BOUNDS` does not hold: '"+bounds+"'")
	cmd.Flags().Lookup("check").NoOptDefVal = word
}

// String returns "", so that the help shows no default.
func (c *Check) String() string { return "" }

// Type returns the name of the value in the help.
func (c *Check) Type() string { return "BOUNDS" }

// Set adds words and bounds. An error names the position and what was expected.
func (c *Check) Set(text string) error {
	at := 1 // character
	for term := range strings.SplitSeq(text, ",") {
		if err := c.addTerm(term, at); err != nil {
			return err
		}
		at += utf8.RuneCountInString(term) + 1
	}
	return nil
}

// addTerm reads one word or bound; at is the position of its first character in the value.
func (c *Check) addTerm(term string, at int) error {
	name, value, operator := term, "", ""
	if i := strings.IndexFunc(term, func(r rune) bool { return strings.ContainsRune("<>=", r) }); i >= 0 {
		name, value, operator = term[:i], term[i+1:], term[i:i+1]
	}
	behind := at + utf8.RuneCountInString(name)
	begins := behind - utf8.RuneCountInString(strings.TrimLeft(name, " "))
	b := bound{quantity: strings.TrimSpace(name)}
	switch {
	case operator == "" && b.quantity == Fed:
		c.fed = true
		return nil
	case operator == "" && b.quantity == Promise && c.compares:
		c.promise = true
		return nil
	case b.quantity == faster && c.compares:
		if operator != ">" {
			return fmt.Errorf("character %d: expected > or >= behind faster, found %q", behind, operator)
		}
	case b.quantity != "stall" && b.quantity != "idle" && b.quantity != "step":
		return fmt.Errorf("character %d: expected %s, found %q", begins, c.listQuantities(), b.quantity)
	case operator != "<":
		return fmt.Errorf("character %d: expected < or <= behind %s, found %q", behind, b.quantity, operator)
	}
	behind++
	if rest, found := strings.CutPrefix(value, "="); found {
		value, b.equal = rest, true
		behind++
	}
	value = strings.TrimSpace(value)
	if b.quantity == "step" && c.compares && strings.HasPrefix(value, "+") {
		b.quantity, value = stepChange, value[1:]
	}
	var err error
	if b.limit, err = limitOf(b.quantity, value); err != nil {
		return fmt.Errorf("character %d: %w", behind, err)
	}
	c.bounds = append(c.bounds, b)
	return nil
}

// listQuantities returns the quantities that can be bounded, with an example each.
func (c *Check) listQuantities() string {
	if c.compares {
		return "stall, idle, step or faster, as in stall<10%, step<=+5% or faster>=1.2x"
	}
	return "stall, idle or step, as in stall<10%"
}

// limitOf reads a limit in the unit of its quantity.
func limitOf(what, text string) (float64, error) {
	switch what {
	case "step":
		s, err := quantity.ParseSeconds(text)
		return float64(s), err
	case faster:
		n, err := quantity.ParseNumber(strings.TrimSuffix(text, "x"))
		return float64(n), err
	}
	s, err := quantity.ParseShare(text)
	return float64(s), err
}

// FindFailures returns a sentence for each condition that a verdict does not meet. Conditions on
// two runs are checked by CompareRuns.
func (c *Check) FindFailures(v diagnose.Verdict) []string {
	var failed []string
	if c.fed {
		failed = append(failed, notFed(v)...)
	}
	for _, b := range c.bounds {
		if !b.ofTwo() {
			failed = append(failed, b.sayFailure(v)...)
		}
	}
	return failed
}

// CompareRuns returns a sentence for each bound on the speed-up that a comparison does not meet.
// If the two runs did different work, every such bound fails.
func (c *Check) CompareRuns(o verify.Outcome) (failed []string) {
	for _, b := range c.bounds {
		if b.ofTwo() && o.Work != "" {
			failed = append(failed, "times of other work are no speed-up: "+o.Work)
		} else if b.ofTwo() {
			failed = append(failed, b.between(o.Speedup)...)
		}
	}
	return failed
}

// ofTwo reports whether a bound is on a quantity of a comparison.
func (b bound) ofTwo() bool { return b.quantity == stepChange || b.quantity == faster }

// between says why a bound on the speed-up does not hold. The whole interval must be within the
// bound, because longer runs could refute a part of it.
func (b bound) between(speedup *stoker.Interval) []string {
	least, asked := b.limit, "faster >"+b.orEqual()+" "+quantity.About(b.limit)+"x is asked for"
	if b.quantity == stepChange {
		least, asked = 1/(1+b.limit), "step <"+b.orEqual()+" +"+quantity.Percent(b.limit)+" is asked for"
	}
	if speedup == nil {
		return []string{"the speed-up is unknown, and " + asked}
	}
	within := func(v float64) bool { return v > least || b.equal && v == least }
	found := "the speed-up is " + quantity.Factor(*speedup) + ", and " + asked
	switch {
	case within(speedup.Low):
		return nil
	case within(speedup.High):
		return []string{found + ": that is not decided: longer runs, or more of them, would tell"}
	}
	return []string{found}
}

// notFed says why a device is not kept busy. It uses those of stall and idle that are known: a
// recording of the loader alone has no idle time, one of an attached process has no stall.
func notFed(v diagnose.Verdict) []string {
	var failed []string
	if v.Class.Starves() || v.Class == diagnose.TransferBound || v.Class == diagnose.ComputeOnCPU {
		failed = append(failed, fmt.Sprintf("the verdict is %s", v.Class))
	}
	unknown := 0
	for _, b := range fedBounds {
		if value, _ := b.measure(v); math.IsNaN(value) {
			unknown++
			continue
		}
		failed = append(failed, b.sayFailure(v)...)
	}
	if unknown == len(fedBounds) && len(failed) == 0 {
		failed = append(failed, "neither stall nor idle is known, so it cannot be told that the GPU is fed")
	}
	return failed
}

// sayFailure says why a bound does not hold for a verdict.
func (b bound) sayFailure(v diagnose.Verdict) []string {
	value, atMost := b.measure(v)
	if value < b.limit || b.equal && value == b.limit {
		return nil
	}
	operator, limit, is := "<"+b.orEqual(), quantity.Share(b.limit).String(), quantity.Percent(value)
	if b.quantity == "step" {
		limit, is = quantity.Seconds(b.limit).String(), quantity.AboutSeconds(value)
	}
	switch {
	case math.IsNaN(value):
		is = "is unknown"
	case atMost:
		is = "at most " + is
	}
	return []string{fmt.Sprintf("%s %s, and %s %s %s is asked for", b.quantity, is, b.quantity, operator, limit)}
}

func (b bound) orEqual() string {
	if b.equal {
		return "="
	}
	return ""
}

// measure returns the quantity of a bound in a verdict, or NaN if it is unknown. atMost says that
// only an upper limit of it is known: a stall is never longer than the idle time.
func (b bound) measure(v diagnose.Verdict) (value float64, atMost bool) {
	switch b.quantity {
	case "step":
		if !v.HasSteps {
			return math.NaN(), false
		}
		return v.Costs.Step, false
	case "idle":
		return v.Idle, false
	}
	if math.IsNaN(v.Stall) {
		return v.Idle, true
	}
	return v.Stall, v.StallSource.IsUpperBound()
}

// Enforce returns exit code 3 if --check does not hold, and prints why.
func Enforce(a *cli.App, c *Check, v diagnose.Verdict) error { return Refuse(a, c.FindFailures(v)) }

// Refuse returns exit code 3 if there are failed conditions, and prints them.
func Refuse(a *cli.App, failed []string) error {
	for _, why := range failed {
		a.Say("check: %s", why)
	}
	if len(failed) > 0 {
		return cli.ExitCode(cli.ExitStarved)
	}
	return nil
}

// EnforcePromise returns exit code 4 if --check asks for the promise and it was missed.
func EnforcePromise(a *cli.App, c *Check, o verify.Outcome) error {
	p := o.Promise
	switch {
	case c.promise && o.Work != "":
		a.Say("check: the prediction is of the same work, and this is other work: %s", o.Work)
		return cli.ExitCode(cli.ExitMissed)
	case !c.promise:
	case p.Kept == verify.PromiseMissed:
		a.Say("check: the prediction was missed")
		return cli.ExitCode(cli.ExitMissed)
	case p.Kept == verify.PromiseUndecided:
		a.Say("check: whether the prediction was missed is not decided: longer runs would tell")
	}
	return nil
}
