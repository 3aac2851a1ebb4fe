package recording

// Stretch is the longest run of neighbours that are judged, from the first to behind
// the last: of steps that train; where none does, that infer or are of no phase. Empty
// where all are warm-up, compilation and the like.
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

// pass is one pass over a loader, such as an epoch or an evaluation.
type pass struct{ pid, loader, number int }

// tellEvaluation corrects the phase of steps by what the optimizer did. Whether
// gradients are on when a batch is asked for says little: many a loop turns them off
// only around the model. In a process whose optimizer steps, a pass over a loader in
// which it never does is evaluation; so is one whose iterator is kept from evaluation
// to evaluation, between whose batches it steps many times at once. A pass and no step is
// asked, because with accumulated gradients it steps only once in several batches.
func tellEvaluation(steps []Step) {
	passes := map[pass]*optimizerSteps{}
	least := map[int]float64{} // optimizer steps per batch that is trained with, of each process
	// processes whose optimizer steps between the batches of a loader: the loop's own steps
	// count no batches
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

// tellInterruptions sets apart what interrupts an epoch: a whole pass over another loader
// between two batches of the loader that most steps are of, now and then, in which no
// optimizer steps. Where no optimizer is seen nothing else tells evaluation every n steps
// from training. A loader that is asked in every step, or over an epoch, is none.
func tellInterruptions(steps []Step) {
	beats := mostAsked(steps)
	// of each process; of a beat's step: the next one is of the same epoch
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

// leastPassed is how many batches a pass has that interrupts an epoch. [J]
const leastPassed = 2

// interruption is a pass over a loader, behind a step of another one.
type interruption struct {
	after int
	whole bool // all of it lies there
	steps []int
}

// beat is a loader with its steps that train.
type beat struct{ loader, steps int }

// mostAsked is the loader of each process that most steps are of.
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

// manyAtOnce is how many times as many optimizer steps between two batches as with
// the loader that trains say that another one is asked now and then. [J]
const manyAtOnce = 4

// optimizerSteps are the optimizer steps between the batches of a pass.
type optimizerSteps struct{ sum, times float64 }

func (u *optimizerSteps) countStep(optimized float64) {
	u.sum += optimized
	if optimized > 0 {
		u.times++
	}
}

// atOnce is how many optimizer steps come between two batches, where any do.
func (u *optimizerSteps) atOnce() float64 { return u.sum / u.times }

// tellTraced sets apart the steps into which a trace by the hook falls: its begin, its
// end and the file cost the launching thread time that is not the program's.
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
