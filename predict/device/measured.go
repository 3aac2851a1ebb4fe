package device

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

// Measured is a step that somebody measured, as they say it or as a recording
// holds it. A field that it does not say is zero: there it is taken to be as in the
// question that it answers.
type Measured struct {
	Step  stoker.Interval // seconds with input always there
	Batch float64         // samples per step and GPU

	GPU          string // key or the driver's name
	GPUs         float64
	Precision    hardware.Precision
	Software     Software
	Tokens, Side float64
	Emulated     bool // on a device that only sleeps

	Text string // for people
}

// MeasuredExample is an example of a measured step.
const MeasuredExample = "2,470 samples/s at batch 256 on a100-80gb-sxm"

// longestMeasured ends the reading of a text that describes no step.
const longestMeasured = 300

// ParseMeasured reads a measured step: what was measured, a rate of samples of all
// GPUs together or the time of a step, then in any order the machine.
//
//	2,470 samples/s at batch 256 on a100-80gb-sxm
//	104 ms at batch 256 on 8 x h100-sxm in bf16, compiled, side 288
//	310 samples/s at batch 8, 2048 tokens
//
// The batch has to be there. Errors quote the words that they are about.
func ParseMeasured(text string) (Measured, error) {
	if len(text) > longestMeasured {
		return Measured{}, fmt.Errorf("a measured step of %d characters: expected %q", len(text), MeasuredExample)
	}
	m := Measured{Text: strings.Join(strings.Fields(text), " ")}
	words := strings.Fields(text)
	from := slices.IndexFunc(words,
		func(w string) bool { return fillers[strings.ToLower(strings.Trim(w, ","))] || clauseOf(w) != "" })
	if from < 0 {
		from = len(words)
	}
	c := &clauses{m: &m, words: words[from:], seen: map[string]bool{}}
	for len(c.words) > 0 {
		if err := c.readNext(); err != nil {
			return Measured{}, fmt.Errorf("%q: %w, for example %q", m.Text, err, MeasuredExample)
		}
	}
	if m.Batch == 0 {
		return Measured{}, fmt.Errorf("%q does not say the batch size: expected it as in %q", m.Text, MeasuredExample)
	}
	return m, c.readMeasure(strings.Trim(strings.Join(words[:from], " "), ", "))
}

// readMeasure reads what was measured, a rate or a time.
func (c *clauses) readMeasure(text string) error {
	m, gpus := c.m, math.Max(1, c.m.GPUs)
	if c.each {
		gpus = 1
	}
	text = perSecond.Replace(strings.TrimSuffix(text, "/step"))
	seconds, err := quantity.ParseSeconds(text)
	if err != nil {
		rate, wrong := quantity.ParseSampleRate(text)
		if wrong != nil {
			return fmt.Errorf("%q: expected a rate of samples or the time of a step first, as in %q or \"104 ms "+
				"at batch 256\": %w", m.Text, MeasuredExample, wrong)
		}
		if rate == 0 {
			return fmt.Errorf("%q: a rate of 0: expected more", m.Text)
		}
		seconds = quantity.Seconds(m.Batch * gpus / float64(rate))
	}
	m.Step = stoker.Exactly(float64(seconds))
	if !(m.Step.Point >= bounds.Least && m.Step.Point <= bounds.Most) {
		return fmt.Errorf("%q: a step of %v s: expected more than 0 and finite", m.Text, m.Step.Point)
	}
	return nil
}

// perSecond spells a second as the units do.
var perSecond = strings.NewReplacer("/seconds", "/s", "/second", "/s", "/sec", "/s")

// fillers join the parts of a sentence and say nothing.
var fillers = map[string]bool{"at": true, "of": true, "with": true, "and": true, "using": true, "": true}

// clauseOf returns which part of the sentence a word begins: "" for none.
func clauseOf(word string) string {
	word = strings.ToLower(strings.Trim(word, ","))
	switch word {
	case "batch", "side", "on", "in", "per":
		return word
	}
	if slices.Contains(softwareClasses, Software(word)) {
		return "software"
	}
	return ""
}

// clauses reads the parts of a sentence one by one.
type clauses struct {
	m     *Measured
	words []string
	seen  map[string]bool
	each  bool // the rate is one GPU's
}

// takeWord removes the next word; "" if absent.
func (c *clauses) takeWord() string {
	if len(c.words) == 0 {
		return ""
	}
	word := c.words[0]
	c.words = c.words[1:]
	return strings.Trim(word, ",")
}

func (c *clauses) readNext() error {
	word := strings.ToLower(c.takeWord())
	what := clauseOf(word)
	switch {
	case fillers[word]:
		return nil
	case what == "" && len(c.words) > 0 && strings.HasPrefix(strings.ToLower(c.words[0]), "token"):
		what = "tokens"
		c.takeWord()
	case what == "":
		return fmt.Errorf("%q is not understood: expected batch N, on GPU, in PRECISION, "+
			"N tokens, side N, %s, %s or %s", word, Eager, ChannelsLast, Compiled)
	}
	if c.seen[what] {
		return fmt.Errorf("%q is the second %s", word, what)
	}
	c.seen[what] = true
	return c.clause(what, word)
}

// clause reads what belongs to a part of the sentence.
func (c *clauses) clause(what, word string) (err error) {
	switch what {
	case "batch":
		if len(c.words) > 1 && strings.EqualFold(c.words[0], "size") {
			c.takeWord()
		}
		c.m.Batch, err = parseCounted("batch", c.takeWord())
	case "side":
		c.m.Side, err = parseCounted("side", c.takeWord())
	case "tokens":
		c.m.Tokens, err = parseCounted("tokens", word)
	case "software":
		c.m.Software = Software(word)
	case "in":
		c.m.Precision = hardware.ReadPrecision(c.takeWord())
		if !slices.Contains(hardware.Precisions, c.m.Precision) {
			return fmt.Errorf("precision %q: expected fp32, tf32, fp16, bf16, fp8 or int8", c.m.Precision)
		}
	case "on":
		return c.readDevice()
	case "per":
		return c.readPer()
	}
	return err
}

// readPer reads "per GPU", which says whose the rate is, and "per step".
func (c *clauses) readPer() error {
	switch word := strings.ToLower(c.takeWord()); word {
	case "gpu", "device", "card":
		c.each = true
	case "step":
	default:
		return fmt.Errorf("per %q: expected per GPU or per step", word)
	}
	return nil
}

// readDevice reads "8 x NVIDIA A100-SXM4-80GB": the words up to the next part.
func (c *clauses) readDevice() (err error) {
	var name []string
	for len(c.words) > 0 && clauseOf(c.words[0]) == "" && !fillers[strings.ToLower(strings.Trim(c.words[0], ","))] {
		ends := strings.HasSuffix(c.words[0], ",")
		name = append(name, c.takeWord())
		if ends {
			break
		}
	}
	if len(name) > 2 && strings.EqualFold(name[1], "x") {
		name = append([]string{name[0] + "x"}, name[2:]...)
	}
	if len(name) > 1 {
		if number, times := strings.CutSuffix(strings.ToLower(name[0]), "x"); times {
			name = name[1:]
			if c.m.GPUs, err = parseCounted("GPUs", number); err != nil {
				return err
			}
		}
	}
	if c.m.GPU = strings.Join(name, " "); c.m.GPU == "" {
		return errors.New("no GPU follows \"on\"")
	}
	return nil
}

// parseCounted returns a whole number of at least 1.
func parseCounted(what, text string) (float64, error) {
	n, err := quantity.ParseCount(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if !(n >= 1 && n <= bounds.MostCount) {
		return 0, fmt.Errorf("%s is %s: expected 1 to %v", what, n, bounds.MostCount)
	}
	return float64(n), nil
}

// AsAnchor returns the measured step as an anchor of a question: a field that it does not say is
// as in the question.
func (m Measured) AsAnchor(asked Load, gpu hardware.GPU) Anchor {
	l := asked
	l.Precision, l.Software = m.Precision, m.Software
	if m.GPU != "" {
		l.GPU = gpu
	}
	if m.Tokens > 0 {
		l.Workload = l.Workload.WithTokens(m.Tokens)
	}
	if m.Side > 0 {
		l.Workload = l.Workload.WithSide(m.Side)
	}
	return Anchor{
		Load: l, Batch: m.Batch, Step: m.Step.Point, GPUs: m.GPUs, Text: m.Text,
		Doubt: math.Log(m.Step.High/m.Step.Low) / 2,
	}
}
