package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// SlowTransform is the finding that names a line.
const SlowTransform = "slow-transform"

// Line is a part of a loader's work that the program asks for on one line.
type Line struct {
	Own   recording.Place // the program's own innermost line; without a file where only libraries were seen
	Call  recording.Place // the library's function that does it; without a file where it is the line itself, or native code called there
	Kind  Kind
	Share stoker.Interval // of the time that is spent on preparing batches

	// Without is what it would be worth if it took no time.
	Without predict.Forecast
}

// Where is where to look: the program's own line where there is one.
func (l Line) Where() recording.Place {
	if l.Own.File != "" {
		return l.Own
	}
	return l.Call
}

// String says where the time goes.
func (l Line) String() string {
	switch {
	case l.Own.File == "":
		return l.Call.String()
	case l.Call.File == "":
		return l.Own.String()
	}
	return l.Own.String() + ", in " + l.Call.File + " " + l.Call.Function
}

const (
	fewLooks  = 30   // at stacks, below which they tell too little. [J]
	leastSlow = 0.25 // of a fetch, surely, from which a line is worth taking away. [J]
	linesSaid = 3
	leastLine = 0.05 // of a fetch that is worth a word
	twoSigmas = 1.96
)

// slowest are the lines on which those that load for the judged trainer spend their
// time, most first. What its own thread loads beside workers is another loader's.
func (l live) slowest() []Line {
	stacks, looks := l.run.Stacks(l.From, l.To, recording.Loading{PID: l.Costs.Window.PID, Worker: l.Costs.Workers > 0})
	if !(looks >= fewLooks) {
		return nil
	}
	var all spent
	groups := map[string]*group{}
	for _, s := range stacks {
		all.add(s)
		if len(s.Places) > 0 {
			own, call := split(s.Places)
			kind, key := kindOf(s), fmt.Sprint(own.File, own.Function, "\n", call.File)
			if kind != Request && kind != Connection { // those are several calls, one after the other
				key += call.Function
			}
			if groups[key] == nil {
				groups[key] = &group{own: own, call: call, kinds: map[Kind]float64{}} // the first is where most time goes
			}
			groups[key].add(s)
			groups[key].kinds[kind] += s.Seconds
		}
	}
	job := predict.Baseline{Took: math.NaN()}
	if l.HasSteps {
		job = l.Costs.Baseline(l.run)
	}
	lines := make([]Line, 0, len(groups))
	for _, g := range groups {
		if g.whole() >= leastLine*all.whole() {
			lines = append(lines, g.line(all, looks, job))
		}
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.Share.Point, a.Share.Point), cmp.Compare(a.String(), b.String()))
	})
	return lines
}

// spent is time on a core, and time asleep.
type spent struct{ core, asleep float64 }

func (s *spent) whole() float64 { return s.core + s.asleep }

func (s *spent) add(stack recording.Stack) {
	if stack.Asleep {
		s.asleep += stack.Seconds
	} else {
		s.core += stack.Seconds
	}
}

// group are the stacks of one Line.
type group struct {
	spent
	own, call recording.Place
	kinds     map[Kind]float64
}

func (g *group) line(all spent, looks float64, job predict.Baseline) Line {
	perSecond := looks / all.whole()
	core := proportion(g.core, all.core, perSecond*all.core)
	waiting := proportion(g.asleep, all.asleep, perSecond*all.asleep)
	line := Line{Own: g.own, Call: g.call, Share: proportion(g.whole(), all.whole(), looks), Without: job.Without(core, waiting)}
	for kind, seconds := range g.kinds {
		if now := g.kinds[line.Kind]; seconds > now || seconds == now && kind < line.Kind {
			line.Kind = kind
		}
	}
	return line
}

// proportion is how large a part is of which so many looks saw the whole, with 95 %
// (Wilson's interval).
func proportion(part, whole, looks float64) stoker.Interval {
	if !(whole > 0) {
		return stoker.Exactly(0)
	}
	p, z := min(1, part/whole), twoSigmas*twoSigmas/looks
	middle, off := (p+z/2)/(1+z), math.Sqrt(z*p*(1-p)+z*z/4)/(1+z)
	return stoker.Interval{Low: max(0, min(p, middle-off)), Point: p, High: min(1, max(p, middle+off))}
}

// split finds in a stack the program's own innermost line, and the function of a library
// behind it that says best what is done: the innermost one that is a step of its own,
// else the one that the program calls.
func split(places []recording.Place) (own, call recording.Place) {
	behind := places
	for i, p := range places {
		if p.Own() {
			own, behind = p, places[i+1:]
		}
	}
	if len(behind) == 0 {
		return own, call
	}
	for _, p := range slices.Backward(behind) {
		if strings.HasPrefix(p.File, "PIL/") {
			continue // its Image.transform is no step, but behind several
		}
		if name := p.Function[strings.LastIndexByte(p.Function, '.')+1:]; steps[name] && !plumbing[p.Function] {
			return own, p
		}
	}
	return own, behind[0]
}

// steps are how libraries call what does one step of preparing a sample.
var steps = map[string]bool{
	"__call__": true, "forward": true, "transform": true, "_transform": true, "apply": true, "__getitem__": true, "__next__": true, "__iter__": true,
	"pil_loader": true, "accimage_loader": true, "collate": true, "default_collate": true,
}

// plumbing are such that only call others. Before Python 3.11 they cannot be told.
var plumbing = map[string]bool{"Compose.__call__": true, "Compose.forward": true, "Transform.forward": true, "Sequential.forward": true, "Module.__call__": true}

// slowEvidence says on which lines a fetch spends its time.
func (c *Case) slowEvidence() []Evidence {
	var said []string
	for _, line := range c.Lines[:min(linesSaid, len(c.Lines))] {
		said = append(said, about(line.Share.Point)+" "+line.String())
	}
	if len(said) == 0 {
		return nil
	}
	return seen(nil, c.Lines[0].Share.Point, "ratio", string(recording.FetchStack), "by line, preparing batches goes into: %s", strings.Join(said, "; "))
}

// slowTransform names the line in which most of a fetch goes, and what it would be worth
// to take it away, by the law with what it costs taken off.
func (c *Case) slowTransform(class Class) (Finding, bool) {
	waits := class.Starves() || c.Stall >= leastWait || class == ComputeOnCPU && c.Costs.Wait/c.Costs.HostStep >= leastWait
	if !waits || len(c.Lines) == 0 || !(c.Lines[0].Share.Low >= leastSlow) {
		return Finding{}, false
	}
	line := c.Lines[0]
	f := finding(SlowTransform)
	f.Source, f.Advice = line.Where().String(), line.Kind.Advice()
	f.Text = fmt.Sprintf("%s of preparing a batch (%s) goes into %s: %s",
		about(line.Share.Point), about(line.Share.Low)+" to "+about(line.Share.High), line, line.Kind.what())
	if gain := line.Without; gain.Speedup.Known() {
		f.Text += fmt.Sprintf(". If that took no time, a step would take %s: %s", stoker.AboutSeconds(gain.Step.Point), stoker.Factor(gain.Speedup))
	}
	f.Saves = 1 - 1/line.Without.Speedup.Point
	return f, true
}

// about is a share in whole per cent: looks tell no more.
func about(share float64) string { return stoker.Percent(math.Round(100*share) / 100) }
