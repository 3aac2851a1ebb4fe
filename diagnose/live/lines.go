package live

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

const (
	fewLooks  = 30   // at stacks, below which they tell too little. [J]
	leastLine = 0.05 // of a fetch that is worth a word
	twoSigmas = 1.96
)

// findLines returns the lines on which the judged trainer's loading threads spend their
// time, longest first. With workers, the trainer's own thread loads for another loader.
func (l filler) findLines() []diagnose.Line {
	stacks, looks := l.run.FetchStacks(l.From, l.To,
		recording.Loading{PID: l.Costs.Window.PID, Worker: l.Costs.Workers > 0})
	if !(looks >= fewLooks) {
		return nil
	}
	var all spent
	groups := map[string]*group{}
	for _, s := range stacks {
		all.addStack(s)
		if len(s.Places) > 0 {
			own, call := splitStack(s.Places)
			if isOfLine(own, call) && kindOfLibrary(call) == "" {
				call = recording.Place{}
			}
			kind, key := kindOf(s), fmt.Sprint(own.File, own.Outer(), "\n", call.File) // comprehensions are its own
			// those are several calls, one after the other
			if kind != diagnose.Request && kind != diagnose.Connection {
				key += call.Function
			}
			if groups[key] == nil {
				// the first is where most time goes
				groups[key] = &group{own: own, call: call, kinds: map[diagnose.Kind]float64{}}
			}
			groups[key].addStack(s)
			groups[key].kinds[kind] += s.Seconds
		}
	}
	groups = byClass(groups, all, looks)
	job := predict.Baseline{Took: math.NaN()}
	if l.HasSteps {
		job = l.Costs.MakeBaseline(l.run)
	}
	lines, data := make([]diagnose.Line, 0, len(groups)), l.run.FindLoader(l.Costs.Window.PID, l.Costs.Window.Loader)
	for _, g := range groups {
		if g.whole() >= leastLine*all.whole() {
			lines = append(lines, g.asLine(all, looks, job))
			at := &lines[len(lines)-1]
			collates := at.Kind == diagnose.Collate || at.Kind == diagnose.Stacking
			if data != nil && at.Own.File == "" && !collates {
				at.Data = data.Dataset
			}
		}
	}
	// one worker has the lock and the others are blocked: the lock comes first, though its owner's line may have more
	held := func(line diagnose.Line) int {
		if line.Kind == diagnose.FileLock && line.Share.Low >= diagnose.SlowLine {
			return 1
		}
		return 0
	}
	slices.SortFunc(lines, func(a, b diagnose.Line) int {
		return cmp.Or(held(b)-held(a), cmp.Compare(b.Share.Point, a.Share.Point), cmp.Compare(a.String(), b.String()))
	})
	return lines
}

// isOfLine reports whether a call is no work apart from its line's: NumPy is Python in part.
func isOfLine(own, call recording.Place) bool {
	return own.File != "" && strings.HasPrefix(call.File, "numpy/")
}

// spent is time on a core, and time asleep.
type spent struct{ core, asleep float64 }

func (s *spent) whole() float64 { return s.core + s.asleep }

func (s *spent) addStack(stack recording.Stack) {
	if stack.Asleep {
		s.asleep += stack.Seconds
	} else {
		s.core += stack.Seconds
	}
}

// byClass puts the groups of each of the program's classes into one, and those of functions inside of a function, if
// no single line has enough to be named. Where one has, those that do the same work in a class are one if they have
// much more together: what makes one of them cheaper makes all.
func byClass(groups map[string]*group, all spent, looks float64) map[string]*group {
	named := func(g *group) bool { return estimateShare(g.whole(), all.whole(), looks).Low >= diagnose.SlowLine }
	sameWork := slices.ContainsFunc(slices.Collect(maps.Values(groups)), named)
	merged := map[string]*group{}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		class, _, _ := strings.Cut(g.own.Function, ".")
		switch kind := g.kind(); {
		case g.own.File == "" || sameWork && slices.Contains(apartWork, kind):
		case sameWork:
			key = g.own.File + "\n" + class + "\n" + string(kind)
		default:
			key = g.own.File + "\n" + class
		}
		into := merged[key]
		if into == nil {
			one := *g
			one.kinds, one.most = maps.Clone(g.kinds), g.whole()
			merged[key] = &one
			continue
		}
		if g.whole() > into.most {
			into.own, into.call, into.most = g.own, g.call, g.whole()
		}
		into.core, into.asleep, into.class = into.core+g.core, into.asleep+g.asleep, class
		for kind, seconds := range g.kinds {
			into.kinds[kind] += seconds
		}
	}
	if !sameWork {
		return merged
	}
	lone := true
	for _, g := range merged {
		if g.whole() < moreTogether*g.most {
			g.class = ""
		}
		lone = lone && (g.class == "" || !named(g))
	}
	if lone {
		return groups
	}
	return merged
}

// moreTogether is how many times the time of the slowest line a class has in one kind of work, from which its lines
// are one. [J]
const moreTogether = 1.25

// apartWork are kinds whose lines need a change each, and kinds of unknown work: byClass keeps their lines apart.
var apartWork = []diagnose.Kind{
	diagnose.Augmentation, diagnose.Code, diagnose.Waits, diagnose.Request, diagnose.Connection, diagnose.Collate,
	diagnose.Stacking,
}

// group are the stacks of one Line, or of a class of the program's.
type group struct {
	spent
	class     string
	most      float64 // of its lines
	own, call recording.Place
	kinds     map[diagnose.Kind]float64
}

func (g *group) asLine(all spent, looks float64, job predict.Baseline) diagnose.Line {
	perSecond := looks / all.whole()
	core := estimateShare(g.core, all.core, perSecond*all.core)
	waiting := estimateShare(g.asleep, all.asleep, perSecond*all.asleep)
	g.own.Function, _, _ = strings.Cut(g.own.Function, ".<locals>.<")
	line := diagnose.Line{
		Own: g.own, Call: g.call, Class: g.class, Share: estimateShare(g.whole(), all.whole(), looks),
		Without: job.Without(core, waiting),
	}
	line.Kind = g.kind()
	return line
}

// kind is what most of its time goes into.
func (g *group) kind() (most diagnose.Kind) {
	for kind, seconds := range g.kinds {
		if now := g.kinds[most]; seconds > now || seconds == now && kind < most {
			most = kind
		}
	}
	return most
}

// estimateShare is how large a part is of which so many samples saw the whole, with 95 %
// (Wilson's interval).
func estimateShare(part, whole, looks float64) stoker.Interval {
	if !(whole > 0) {
		return stoker.Exactly(0)
	}
	p, z := min(1, part/whole), twoSigmas*twoSigmas/looks
	middle, off := (p+z/2)/(1+z), math.Sqrt(z*p*(1-p)+z*z/4)/(1+z)
	return stoker.Interval{Low: max(0, min(p, middle-off)), Point: p, High: min(1, max(p, middle+off))}
}

// splitStack finds in a stack the program's own innermost line, and the function of a library
// behind it that tells the work best: the innermost one that is a separate step,
// else the one that the program calls.
func splitStack(places []recording.Place) (own, call recording.Place) {
	behind := places
	for i, p := range places {
		if p.Own() {
			own, behind = p, places[i+1:]
		}
	}
	if len(behind) > 1 && behind[0].File == recording.Generated {
		behind = behind[1:]
	}
	if len(behind) == 0 {
		return own, call
	}
	for _, p := range slices.Backward(behind) {
		if strings.HasPrefix(p.File, "PIL/") || p.File == recording.Generated {
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
	"__call__": true, "forward": true, "transform": true, "_transform": true, "apply": true, "__getitem__": true,
	"__next__": true, "__iter__": true,
	"pil_loader": true, "accimage_loader": true, "collate": true, "default_collate": true,
}

// plumbing are such that only call others. Before Python 3.11 they cannot be told.
var plumbing = map[string]bool{
	"Compose.__call__": true, "Compose.forward": true, "Transform.forward": true,
	"Sequential.forward": true, "Module.__call__": true,
}
