package main

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"stoker"
	"stoker/diagnose"
	"stoker/verify"
)

// checkFlag is --check of every verb that has it: what must hold for the exit code
// to stay 0. It takes words and bounds, separated by commas or in several flags:
//
//	fed                    the device is kept at work (what --check means by itself)
//	promise                the prediction was kept (of verify, and there by itself)
//	stall<10%  idle<=0.2  step<120ms
//
// What is not known passes no bound: a pipeline that gates on a figure must not
// turn green when the figure is gone.
type checkFlag struct {
	promises     bool // the verb knows a promise
	fed, promise bool
	bounds       []bound
}

// bound is what a quantity of a verdict must stay below.
type bound struct {
	quantity string // "stall", "idle" or "step"
	equal    bool   // it may be the limit itself
	limit    float64
}

// fedBounds are the bounds of fed. [J] A tenth is what several published tools call
// a busy device; verdicts of runs that need nothing lie below 5 %.
var fedBounds = []bound{{"stall", true, 0.10}, {"idle", true, 0.10}}

// Words of --check.
const (
	wordFed     = "fed"
	wordPromise = "promise"
)

// register adds the flag to a verb; without a value it means the word.
func (c *checkFlag) register(cmd *cobra.Command, word, usage string) {
	c.promises = word == wordPromise
	cmd.Flags().Var(c, "check", usage+"; or where one of `BOUNDS` does not hold: 'stall<10%,idle<20%,step<120ms'")
	cmd.Flags().Lookup("check").NoOptDefVal = word
}

// aBound tells a value of --check that stands apart from what else may stand there:
// a flag whose value may be missing takes none of the next argument by itself.
var aBound = regexp.MustCompile(`^\s*(stall|idle|step)\s*[<>=]|<`)

// joinChecks turns --check 'stall<10%' into --check='stall<10%', up to the --
// behind which arguments are somebody else's.
func joinChecks(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(joined, args[i:]...)
		}
		if args[i] == "--check" && i+1 < len(args) && aBound.MatchString(args[i+1]) {
			joined = append(joined, "--check="+args[i+1])
			i++
			continue
		}
		joined = append(joined, args[i])
	}
	return joined
}

// String is empty: help shows no default.
func (c *checkFlag) String() string { return "" }

// Type is what help calls a value.
func (c *checkFlag) Type() string { return "BOUNDS" }

// Set adds words and bounds. The error says where it stopped and what it expected.
func (c *checkFlag) Set(text string) error {
	at := 1 // character
	for term := range strings.SplitSeq(text, ",") {
		if err := c.add(term, at); err != nil {
			return err
		}
		at += utf8.RuneCountInString(term) + 1
	}
	return nil
}

// add reads one word or bound, which begins at a character of the whole.
func (c *checkFlag) add(term string, at int) error {
	name, value, operator := term, "", ""
	if i := strings.IndexFunc(term, func(r rune) bool { return strings.ContainsRune("<>=", r) }); i >= 0 {
		name, value, operator = term[:i], term[i+1:], term[i:i+1]
	}
	behind := at + utf8.RuneCountInString(name)
	begins := behind - utf8.RuneCountInString(strings.TrimLeft(name, " "))
	b := bound{quantity: strings.TrimSpace(name)}
	switch {
	case operator == "" && b.quantity == wordFed:
		c.fed = true
		return nil
	case operator == "" && b.quantity == wordPromise && c.promises:
		c.promise = true
		return nil
	case b.quantity != "stall" && b.quantity != "idle" && b.quantity != "step":
		return fmt.Errorf("character %d: expected stall, idle or step, as in stall<10%%, found %q", begins, b.quantity)
	case operator != "<":
		return fmt.Errorf("character %d: expected < or <= behind %s, found %q", behind, b.quantity, operator)
	}
	behind++
	if rest, found := strings.CutPrefix(value, "="); found {
		value, b.equal = rest, true
		behind++
	}
	var err error
	if b.limit, err = limitOf(b.quantity, strings.TrimSpace(value)); err != nil {
		return fmt.Errorf("character %d: %w", behind, err)
	}
	c.bounds = append(c.bounds, b)
	return nil
}

// limitOf reads the limit of a quantity in its unit.
func limitOf(quantity, text string) (float64, error) {
	if quantity == "step" {
		s, err := stoker.ParseSeconds(text)
		return float64(s), err
	}
	s, err := stoker.ParseShare(text)
	return float64(s), err
}

// failed says in a sentence each what does not hold of a verdict.
func (c *checkFlag) failed(v diagnose.Verdict) []string {
	var failed []string
	if c.fed {
		failed = append(failed, notFed(v)...)
	}
	for _, b := range c.bounds {
		failed = append(failed, b.failed(v)...)
	}
	return failed
}

// notFed says why a device is not kept at work. What is known of stall and idle
// counts: a recording of the loader alone has no idle, an attached one no stall.
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
		failed = append(failed, b.failed(v)...)
	}
	if unknown == len(fedBounds) && len(failed) == 0 {
		failed = append(failed, "neither stall nor idle is known, so it cannot be told that the GPU is fed")
	}
	return failed
}

// failed says why a bound does not hold.
func (b bound) failed(v diagnose.Verdict) []string {
	value, atMost := b.measure(v)
	if value < b.limit || b.equal && value == b.limit {
		return nil
	}
	operator, limit, is := "<", stoker.Share(b.limit).String(), stoker.Percent(value)
	if b.equal {
		operator = "<="
	}
	if b.quantity == "step" {
		limit, is = stoker.Seconds(b.limit).String(), stoker.AboutSeconds(value)
	}
	switch {
	case math.IsNaN(value):
		is = "is unknown"
	case atMost:
		is = "at most " + is
	}
	return []string{fmt.Sprintf("%s %s, and %s %s %s is asked for", b.quantity, is, b.quantity, operator, limit)}
}

// measure is a bound's quantity in a verdict, NaN where it is not known, and whether
// that is the most that it can be: a stall is never more than idle.
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
	return v.Stall, v.StallSource == diagnose.Utilisation
}

// checked ends a verb with 3 where its --check does not hold, and says why.
func (a *app) checked(c *checkFlag, v diagnose.Verdict) error {
	failed := c.failed(v)
	for _, why := range failed {
		a.say("check: %s", why)
	}
	if len(failed) > 0 {
		return exitCode(exitStarved)
	}
	return nil
}

// kept ends verify with 4 where its --check asks for a promise that was missed.
func (a *app) kept(c *checkFlag, p verify.Promise) error {
	switch {
	case !c.promise:
	case p.Kept == verify.PromiseMissed:
		a.say("check: the prediction was missed")
		return exitCode(exitMissed)
	case p.Kept == verify.PromiseUndecided:
		a.say("check: whether the prediction was missed is not decided: longer runs would tell")
	}
	return nil
}
