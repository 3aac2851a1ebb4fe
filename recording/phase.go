package recording

import "slices"

// Stretch returns the longest run [from, to) of consecutive phases that are judged: training
// steps, or if none trains, inference steps or those without a phase. It is empty if all are
// warm-up, compilation and the like.
func Stretch(phases []Phase) (from, to int) {
	judged := Evaluate
	for _, p := range phases {
		if p == Train || p == "" && judged != Train {
			judged = p
		}
	}
	begin := 0
	for i := 0; i <= len(phases); i++ {
		if i < len(phases) && phases[i] == judged {
			continue
		}
		if i-begin > to-from {
			from, to = begin, i
		}
		begin = i + 1
	}
	return from, to
}

// ShowLoop reports whether any of these is a turn of a loop. Checkpoints alone are none: how often the program goes
// round between two of them is unknown.
func ShowLoop(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Phase != Checkpoint })
}

// pass is one pass over a loader, such as an epoch or an evaluation.
type pass struct{ pid, loader, number int }

// tellEvaluation corrects the phase of steps by the optimizer's steps. Whether gradients are
// enabled when a batch is requested says little, as many loops disable them only around the
// model. In a process whose optimizer steps, a pass over a loader without optimizer steps is
// evaluation. So is a pass whose iterator is kept from evaluation to evaluation, with many
// optimizer steps between two of its batches. The unit is a pass and not a step, because with
// accumulated gradients the optimizer steps only once in several batches.
func tellEvaluation(steps []Step) {
	passes := map[pass]*optimizerSteps{}
	least := map[int]float64{} // optimizer steps per training batch, by process
	// processes whose optimizer steps between the batches of a loader: for them the loop's own
	// steps do not count
	loads := map[int]bool{}
	for _, s := range steps {
		loads[s.PID] = loads[s.PID] || s.Loader != OwnLoop && s.Optimized > 0
		if !(s.Optimized >= 0) {
			continue
		}
		key := pass{s.PID, s.Loader, s.Pass}
		if passes[key] == nil {
			passes[key] = &optimizerSteps{}
		}
		passes[key].countStep(s.Optimized)
	}
	for key, u := range passes {
		if key.loader == OwnLoop && loads[key.pid] {
			continue
		}
		if most := least[key.pid]; u.sum > 0 && (most == 0 || u.atOnce() < most) {
			least[key.pid] = u.atOnce()
		}
	}
	for i := range steps {
		s := &steps[i]
		u := passes[pass{s.PID, s.Loader, s.Pass}]
		if most := least[s.PID]; s.Loader != OwnLoop && u != nil && most > 0 && s.Phase == Train &&
			(u.sum == 0 || u.atOnce() > manyAtOnce*most) {
			s.Phase = Evaluate
		}
	}
}

// Passes over a model after which the hook stops to take them for steps, and how quick they are then, seconds
// (TRIED and QUICK_NS of python/hook/own.py).
const (
	triedPasses = 500
	quickPass   = 2e-3
)

// dropQuickPasses leaves out the passes of processes whose hook took them for no steps: they are a second of a loop
// that goes on, such as one that asks a small model what to do next.
func dropQuickPasses(steps []Step) []Step {
	type span struct {
		from, to float64
		last     int
		steps    bool
	}
	own := map[int]*span{}
	for _, s := range steps {
		if s.Loader != OwnLoop {
			continue
		}
		o := own[s.PID]
		if o == nil {
			o = &span{from: s.Start}
			own[s.PID] = o
		}
		o.to, o.last, o.steps = s.Start, max(o.last, s.N), o.steps || s.Optimized > 0
	}
	return slices.DeleteFunc(steps, func(s Step) bool {
		if s.Loader != OwnLoop {
			return false
		}
		o := own[s.PID]
		return !o.steps && o.last == triedPasses-1 && o.to-o.from < triedPasses*quickPass
	})
}

// tellNamed marks as evaluation the passes over a loader that a function asks which evaluates, by its name, if another
// loader trains and no optimizer is visible.
func tellNamed(steps []Step, loaders []Loader) {
	named := map[pass]bool{}
	for _, l := range loaders {
		named[pass{pid: l.PID, loader: l.ID}] = Place{File: l.Where, Function: l.Function}.Evaluates()
	}
	trains, optimizes := map[int]bool{}, map[int]bool{}
	for _, s := range steps {
		optimizes[s.PID] = optimizes[s.PID] || s.Optimized > 0
		other := s.Loader != OwnLoop && !named[pass{pid: s.PID, loader: s.Loader}]
		trains[s.PID] = trains[s.PID] || other && s.Phase == Train
	}
	for i := range steps {
		s := &steps[i]
		if s.Phase == Train && named[pass{pid: s.PID, loader: s.Loader}] && trains[s.PID] && !optimizes[s.PID] {
			s.Phase = Evaluate
		}
	}
}

// tellInterruptions marks what interrupts an epoch as evaluation: a whole pass over another
// loader, now and then, between two batches of the main loader, during which no optimizer
// steps. If no optimizer is visible, only this distinguishes evaluation every n steps from
// training. A loader that is used in every step, or over a whole epoch, is not an interruption.
func tellInterruptions(steps []Step) {
	beats := mostAsked(steps)
	// last: index of the latest step of each process's main loader; inside: by such a step,
	// whether the next one is of the same epoch
	last, inside := map[int]int{}, map[int]bool{}
	between := map[pass]*interruption{}
	for i, s := range steps {
		if s.Phase != Train || s.Loader == OwnLoop {
			continue
		}
		before, begun := last[s.PID]
		if s.Loader == beats[s.PID].loader {
			inside[before] = begun && steps[before].Pass == s.Pass
			last[s.PID] = i
			continue
		}
		key := pass{s.PID, s.Loader, s.Pass}
		if between[key] == nil {
			between[key] = &interruption{after: before, whole: begun}
		}
		p := between[key]
		p.whole = p.whole && p.after == before && !(s.Optimized > 0)
		p.steps = append(p.steps, i)
	}
	often := map[int]int{}
	for key, p := range between {
		p.whole = p.whole && inside[p.after] && len(p.steps) >= leastPassed
		if p.whole {
			often[key.pid]++
		}
	}
	for key, p := range between {
		if p.whole && beats[key.pid].steps >= manyAtOnce*often[key.pid] {
			for _, i := range p.steps {
				steps[i].Phase = Evaluate
			}
		}
	}
}

// leastPassed is how many batches a pass needs to count as an interruption. [J]
const leastPassed = 2

// interruption is a pass over a loader, after a step of another one.
type interruption struct {
	after int
	whole bool // all of it follows that step
	steps []int
}

// beat is a loader with its number of training steps.
type beat struct{ loader, steps int }

// mostAsked returns the loader with most training steps of each process.
func mostAsked(steps []Step) map[int]beat {
	counts := map[pass]int{}
	most := map[int]beat{}
	for _, s := range steps {
		if s.Phase != Train || s.Loader == OwnLoop {
			continue
		}
		key := pass{pid: s.PID, loader: s.Loader}
		counts[key]++
		if counts[key] > most[s.PID].steps {
			most[s.PID] = beat{s.Loader, counts[key]}
		}
	}
	return most
}

// manyAtOnce is the ratio of optimizer steps between two batches, to that of the training
// loader, from which another loader counts as used now and then. [J]
const manyAtOnce = 4

// optimizerSteps are the optimizer steps between the batches of a pass.
type optimizerSteps struct{ sum, times float64 }

func (u *optimizerSteps) countStep(optimized float64) {
	u.sum += optimized
	if optimized > 0 {
		u.times++
	}
}

// atOnce returns how many optimizer steps come between two batches, on average over those with
// any.
func (u *optimizerSteps) atOnce() float64 { return u.sum / u.times }

// tellTraced marks the steps that overlap a trace taken by the hook: starting, stopping and
// writing it takes time of the launching thread that is not the program's.
func tellTraced(steps []Step, captures []Capture) {
	for _, c := range captures {
		for i := range steps {
			s := &steps[i]
			if c.Inside && s.PID == c.PID && s.Start <= c.To && s.endsAt() >= c.From {
				s.Phase = Traced
			}
		}
	}
}
