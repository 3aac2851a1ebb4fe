package recording

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
)

// Window is the part of a run that is judged: the steady training steps of one
// trainer.
type Window struct {
	PID, Rank int
	Loader    int     // the loader whose steps are the training's steps
	Steps     []Step  // its training steps, however long, without the time of other phases inside of them
	Side      []Step  // steps of other loaders of the same trainer within the judged steps
	Apart     []Step  // steps of other phases in the window, of any loader: they are not judged
	Turns     []Step  // steps of other loaders between passes of the judged one, with which they take turns
	TurnTime  float64 // seconds of the window that these turns take; 0 if that is little
	Start     float64 // of the first step, seconds on the host's clock
	End       float64 // of the last
	WarmUp    int     // number of steps left out at the start

	// Stationary says that the last 30 seconds were steady: the mean step time of each third is
	// within 10 % of the whole.
	Stationary bool

	Newest float64 // seconds: only the newest part of this length is judged; 0: everything was considered
	OneIn  int     // one block of steps in so many is kept if the run made too many, else 1
}

// LeastSteps is the least number of steady steps in a Window. [J]
const LeastSteps = 3

// Start values for the segmentation. [J] They were chosen on the labelled runs under
// bench/labelled, not fitted.
const (
	leastWarmUp    = 3    // the first steps build caches, choose kernels, allocate
	readSteps      = 12   // if so many steps have device times, only those are judged
	blocks         = 10   // parts of a run that are compared to find the end of warm-up
	blockTolerance = 0.25 // a leading block whose mean is off by more is warm-up
	regimeLoops    = 10   // multiple of the median at which a step's loop is capped when regimes are compared
	steadySpan     = 30.0 // seconds that must be steady for a final verdict
	steadyDrift    = 0.10 // by how much a third of them may differ
	judged         = 900. // seconds of training that are judged: of a run of days only the current regime
	judgedSteps    = 20   // or so many steps, if they take longer
	judgedMost     = 8 * judged
)

// Newest returns the span of a run that a verdict is about, in seconds: its last quarter of an
// hour of training, or twenty steps if those take longer, within two hours. What comes after
// the last training step does not count. If nothing trains, all steps count; without steps, the
// time does. The result is the same for the whole run and for what a Writer keeps in memory.
func (r *Run) Newest() (from, to float64) {
	last := Step{Start: math.Inf(-1)}
	trains := anyPhase(r.Steps, Train)
	for _, s := range r.Steps {
		if (s.Phase == Train || !trains) && s.Start > last.Start {
			last = s
		}
	}
	if to = last.Start; math.IsInf(to, -1) {
		return max(0, r.End()-judged), r.End()
	}
	var starts []float64
	for _, s := range r.Steps {
		if s.PID == last.PID && s.Phase == last.Phase && s.Start >= to-judgedMost {
			starts = append(starts, s.Start)
		}
	}
	sort.Float64s(starts)
	return max(0, min(to-judged, starts[max(0, len(starts)-judgedSteps)])), to
}

// Windows returns the judged window of every trainer with enough steps in the run's newest
// part, in order of rank, then by length.
func (r *Run) Windows() []Window {
	from, to := r.Newest()
	byTrainer, oneIn, end := map[int][]Step{}, r.keptOneIn(from, to), r.endOfStepsAt(to)
	for _, s := range evenly(r.Steps, oneIn) {
		if s.Start >= from && s.Start <= end {
			byTrainer[s.PID] = append(byTrainer[s.PID], s)
		}
	}
	var windows []Window
	for pid, steps := range byTrainer {
		if w, ok := r.judgedWindow(pid, steps, oneIn); ok {
			if from > 0 {
				w.Newest = to - from
			}
			windows = append(windows, w)
		}
	}
	sort.Slice(windows, func(i, j int) bool {
		a, b := windows[i], windows[j]
		if a.Rank != b.Rank {
			return a.Rank < b.Rank
		}
		if la, lb := a.End-a.Start, b.End-b.Start; la != lb {
			return la > lb
		}
		return a.PID < b.PID
	})
	return windows
}

// endOfStepsAt returns when the steps that begin at start end. What happens inside of the last
// one belongs to it.
func (r *Run) endOfStepsAt(start float64) float64 {
	end := start
	for i := len(r.Steps) - 1; i >= 0 && r.Steps[i].Start >= start; i-- {
		if s := r.Steps[i]; s.Start == start && s.endsAt() > end {
			end = s.endsAt()
		}
	}
	return end
}

// Whole returns a window of the run with all steady steps of its trainer, however long it
// trained.
func (r *Run) Whole(w Window) Window {
	if w.Newest == 0 {
		return w
	}
	var steps []Step
	oneIn := r.keptOneIn(math.Inf(-1), w.End)
	for _, s := range evenly(r.Steps, oneIn) {
		if s.PID == w.PID {
			steps = append(steps, s)
		}
	}
	if whole, ok := r.judgedWindow(w.PID, steps, oneIn); ok {
		return whole
	}
	return w
}

func (r *Run) judgedWindow(pid int, steps []Step, oneIn int) (Window, bool) {
	phase := Train
	if !anyPhase(steps, Train) {
		phase = Evaluate // a run that never trains is inference, and judged as that
	}
	beat, ok := beatLoader(steps, phase)
	if !ok {
		return Window{}, false
	}
	w := Window{PID: pid, Rank: steps[0].Rank, Loader: beat, OneIn: oneIn}
	train := w.ofBeat(steps, phase)
	others := FindOtherPhases(steps, phase)
	if mostHold(train, others) { // a loop that evaluates in every step: evaluation is part of a step
		others = nil
	}
	train = r.dropUntypical(w, dropUnread(train))
	w.WarmUp = r.warmUp(pid, beat, without(others, train))
	if w.Steps = train[w.WarmUp:]; len(w.Steps) < LeastSteps {
		return Window{}, false
	}
	w.Start, w.End = w.Steps[0].Start, w.Steps[len(w.Steps)-1].endsAt()
	w.beside(steps, phase, others)
	w.Steps = without(others, w.Steps)
	w.boundSamples(r.batchSize(pid, beat))
	w.Stationary = stationary(w.Steps)
	return w, true
}

// ofBeat returns the steps of the window's loader whose period is known.
func (w *Window) ofBeat(steps []Step, phase Phase) []Step {
	all := make([]Step, 0, len(steps))
	for _, s := range steps {
		if s.Loader == w.Loader && s.Phase == phase && s.Period > 0 {
			all = append(all, s)
		}
	}
	return all
}

// FindOtherPhases returns the stretches that a trainer spends in other phases, in order and
// disjoint. Each ends at the latest when the judged phase resumes, or when the next one begins.
func FindOtherPhases(steps []Step, phase Phase) (spans []Step) {
	goesOn := starts(steps, phase)
	for i, s := range steps {
		if s.Phase == phase {
			continue
		}
		end := goesOn[i]
		if i+1 < len(steps) {
			end = min(end, max(s.Start, steps[i+1].Start))
		}
		if own := s.Start + s.Period; own < end {
			end = own
		}
		s.Period = end - s.Start
		spans = append(spans, s)
	}
	return spans
}

// mostHold reports whether most of some steps have another phase inside of them.
func mostHold(steps, others []Step) bool {
	hold := 0
	for i, s := range without(others, steps) {
		if s.Period < steps[i].Period {
			hold++
		}
	}
	return 2*hold > len(steps)
}

// without returns steps without the time of other phases inside of them, on either clock.
func without(others, steps []Step) []Step {
	out, next := slices.Clone(steps), 0
	for i, s := range steps {
		for next < len(others) && others[next].endsAt() <= s.Start {
			next++
		}
		held := 0.0
		for k := next; k < len(others) && others[k].Start < s.Start+s.Period; k++ {
			held += max(0, min(s.Start+s.Period, others[k].endsAt())-max(s.Start, others[k].Start))
		}
		if held > 0 {
			out[i].Period = max(least, s.Period-held)
			out[i].DevicePeriod = max(least, stat.Or(s.Idle, 0), s.DevicePeriod-held)
			if math.IsNaN(s.DevicePeriod) {
				out[i].DevicePeriod = s.DevicePeriod
			}
		}
	}
	return out
}

// least is the remaining time of a step that was entirely another phase, seconds.
const least = 1e-6

// dropUntypical drops steps whose content is uncertain. Among the few steps in a profiler's
// file, that is one that takes longer than all others together, as it is no evidence of a usual
// step. If only some steps are kept, it is those that may include an evaluation whose own steps
// are gone. All other steps count, however long.
func (r *Run) dropUntypical(w Window, steps []Step) []Step {
	if r.Timeline == nil && (w.OneIn <= 1 || !r.evaluates(w.PID)) {
		return steps
	}
	limit := longestLoop(steps)
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.loopTime() > limit })
}

// evaluates reports whether a process has a loader for evaluation.
func (r *Run) evaluates(pid int) bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool {
		return s.PID == pid && s.Phase == Evaluate && s.Loader != OwnLoop
	})
}

// boundSamples limits the samples of a step to the batch size: if collate_fn flattened a batch,
// its rows were counted.
func (w *Window) boundSamples(batch float64) {
	for i := range w.Steps {
		if w.Steps[i].Samples > batch {
			w.Steps[i].Samples = batch
		}
	}
}

// beside fills in the rest of the window: the stretches of other phases, and the
// steps of other loaders within a judged step. If only some steps are kept, the same share of
// theirs is.
func (w *Window) beside(steps []Step, phase Phase, others []Step) {
	for _, s := range others {
		if s.Start >= w.Start && s.Start < w.End {
			w.Apart = append(w.Apart, s)
		}
	}
	at := 0
	for _, s := range steps {
		if s.Start < w.Start || s.Start >= w.End || s.Phase != phase || s.Loader == w.Loader || s.Loader == OwnLoop {
			continue
		}
		for at < len(w.Steps) && w.Steps[at].Start+w.Steps[at].Period <= s.Start {
			at++
		}
		if w.OneIn > 1 || at < len(w.Steps) && w.Steps[at].Start <= s.Start {
			w.Side = append(w.Side, s)
		} else {
			w.Turns = append(w.Turns, s)
		}
	}
	w.timeTurns(steps)
}

// leastTurns is the share of a window that the turns of other loaders take, from which they count: a batch that is
// looked at between epochs is none. [J]
const leastTurns = 0.05

// timeTurns adds up the time of the turns of other loaders, with the gaps around each of their passes.
func (w *Window) timeTurns(steps []Step) {
	next := 0
	for i, s := range steps {
		if next == len(w.Turns) {
			break
		}
		if s.Loader != w.Turns[next].Loader || s.Start != w.Turns[next].Start {
			continue
		}
		next++
		end := min(w.End, s.endsAt())
		if i+1 < len(steps) {
			end = min(w.End, steps[i+1].Start)
		}
		w.TurnTime += end - s.Start
		if i > 0 && steps[i-1].Loader == w.Loader {
			w.TurnTime += max(0, s.Start-steps[i-1].endsAt())
		}
	}
	if w.TurnTime < leastTurns*(w.End-w.Start) {
		w.Turns, w.TurnTime = nil, 0
	}
}

// TakesTurns reports whether a loader's passes come between those of the judged one.
func (w Window) TakesTurns(loader int) bool {
	return slices.ContainsFunc(w.Turns, func(s Step) bool { return s.Loader == loader })
}

// TurnPerStep returns the time of other loaders' turns for each judged step, seconds.
func (w Window) TurnPerStep() float64 {
	if len(w.Steps) == 0 {
		return 0
	}
	return w.TurnTime / float64(len(w.Steps))
}

// starts returns for each step when the next one of a phase begins; for those after the last
// one, when all end.
func starts(steps []Step, phase Phase) []float64 {
	next := make([]float64, len(steps))
	begins := math.Inf(1)
	for i := len(steps) - 1; i >= 0; i-- {
		switch {
		case steps[i].Phase == phase:
			begins = steps[i].Start
		case math.IsInf(begins, 1):
			begins = steps[len(steps)-1].endsAt()
		}
		next[i] = begins
	}
	return next
}

// batchSize returns the greatest number of samples in a loader's batch.
func (r *Run) batchSize(pid, loader int) float64 {
	if l := r.FindLoader(pid, loader); l != nil {
		if n, _ := l.Settings.Float(stoker.BatchSize); n > 0 {
			return n
		}
	}
	return math.Inf(1)
}

func anyPhase(steps []Step, phase Phase) bool {
	for _, s := range steps {
		if s.Phase == phase {
			return true
		}
	}
	return false
}

// inLockstep is the part of another loader's time from which two are asked for each step, as by zip. [J]
const inLockstep = 0.95

// beatLoader returns the loader with most time in a phase; of several that are asked for each step, the one that is
// waited for longest. The loop's own steps are only a substitute for a loader's steps, so they need twice as much time.
func beatLoader(steps []Step, phase Phase) (int, bool) {
	total, waits := map[int]float64{}, map[int]float64{}
	for _, s := range steps {
		if s.Phase == phase && s.Period > 0 {
			total[s.Loader] += s.Period
			waits[s.Loader] += stat.Or(s.Wait, 0)
		}
	}
	total[OwnLoop] /= 2
	if total[OwnLoop] == 0 {
		delete(total, OwnLoop)
	}
	best, found := 0, false
	for loader, seconds := range total {
		if !found || seconds > total[best] || seconds == total[best] && loader < best {
			best, found = loader, true
		}
	}
	most := total[best]
	for loader, seconds := range total {
		later := waits[loader] > waits[best] || waits[loader] == waits[best] && loader < best
		if best != OwnLoop && loader != OwnLoop && seconds >= inLockstep*most && later {
			best = loader
		}
	}
	return best, found
}

// dropUnread drops the last steps, whose device clock had not been read when the program ended
// because the device was still behind. The rest is what the device did. If that is too little,
// all steps are kept and the host's clock counts.
func dropUnread(steps []Step) []Step {
	end := len(steps)
	for end > 0 && math.IsNaN(steps[end-1].DevicePeriod) && steps[end-1].NoClock == "" {
		end--
	}
	if end < readSteps {
		return steps
	}
	return steps[:end]
}

// warmUp returns how many leading steps are not steady: the first few, those fed from the queue
// that the workers filled before the first step, and leading blocks whose mean differs from
// that of the second half.
func (r *Run) warmUp(pid, loader int, steps []Step) int {
	n := len(steps)
	first := leastWarmUp
	if l := r.FindLoader(pid, loader); l != nil {
		workers, _ := l.Settings.Int("num_workers")
		prefetch, _ := l.Settings.Int("prefetch_factor")
		first = max(first, workers*prefetch+1)
	}
	first = min(first, n/4)
	size := max(1, (n-first)/blocks)
	times := regimeTimes(steps)
	steady := stat.Mean(times[first+(n-first)/2:])
	for first+size <= n/2 {
		if off := stat.Mean(times[first:first+size])/steady - 1; math.Abs(off) <= blockTolerance {
			break
		}
		first += size
	}
	return first
}

func stepTimes(steps []Step) []float64 {
	out, untold := make([]float64, len(steps)), false
	for i, s := range steps {
		out[i] = s.duration()
		untold = untold || s.tellsIdleAlone()
	}
	if work := workOfClocked(steps, untold); work > 0 {
		for i, s := range steps {
			if s.tellsIdleAlone() {
				out[i] = s.Idle + work
			}
		}
	}
	return out
}

// tellsIdleAlone reports whether the device's clock tells how long it waited at a step's begin, and not the period, as
// of the first step of an epoch whose workers start while the device still works. The host's period has that time in it
// as well as the steps before it have.
func (s Step) tellsIdleAlone() bool {
	return s.First && s.NoClock == "" && math.IsNaN(s.DevicePeriod) && !math.IsNaN(s.Idle)
}

// workOfClocked is how long the device works on a step in the middle, if most tell it and it is wanted; 0 otherwise.
func workOfClocked(steps []Step, wanted bool) float64 {
	if !wanted {
		return 0
	}
	var works []float64
	for _, s := range steps {
		if work := s.DevicePeriod - s.Idle; work > 0 {
			works = append(works, work)
		}
	}
	if 2*len(works) < len(steps) {
		return 0
	}
	return stat.Median(works)
}

// longestLoop returns the longest plausible time of a step's loop. A longer one did something
// else, such as saving a checkpoint.
func longestLoop(steps []Step) float64 {
	loops, periods := make([]float64, len(steps)), make([]float64, len(steps))
	for i, s := range steps {
		loops[i], periods[i] = s.loopTime(), s.Period
	}
	return max(regimeLoops*stat.Median(loops), regimeLoops/2*stat.Median(periods))
}

// regimeTimes returns the times of steps for comparing regimes. A loop that does something else
// now and then counts at most like the longest of the others.
func regimeTimes(steps []Step) []float64 {
	times, limit := stepTimes(steps), longestLoop(steps)
	for i, s := range steps {
		if over := s.loopTime() - limit; over > 0 {
			times[i] = max(min(times[i], limit), times[i]-over)
		}
	}
	return times
}

func stationary(steps []Step) bool {
	last := steps[len(steps)-1]
	end := last.Start + last.Period
	from := end - steadySpan
	if steps[0].Start > from {
		return false
	}
	var thirds [3][]float64
	var whole []float64
	times := regimeTimes(steps)
	for i, s := range steps {
		if s.Start < from {
			continue
		}
		third := min(2, int(3*(s.Start-from)/steadySpan))
		thirds[third] = append(thirds[third], times[i])
		whole = append(whole, times[i])
	}
	mean := stat.Mean(whole)
	for _, third := range thirds {
		if len(third) == 0 || math.Abs(stat.Mean(third)/mean-1) > steadyDrift {
			return false
		}
	}
	return true
}

// Time returns the mean time of a step in the window, seconds.
func (w Window) Time() float64 { return stat.Mean(stepTimes(w.Steps)) }

// StepTimes returns the times of the steps, seconds.
func (w Window) StepTimes() []float64 { return stepTimes(w.Steps) }

// Wait returns the mean host wait per step, including that for other loaders, seconds.
func (w Window) Wait() float64 {
	sum := 0.0
	for _, s := range w.Steps {
		sum += s.Wait
	}
	for _, s := range w.Side {
		sum += s.Wait
	}
	return sum / float64(len(w.Steps))
}

// Idle returns the mean time per step in which the device waited for input, by its own clock;
// NaN if that is unknown for more than a tenth of the steps.
func (w Window) Idle() float64 {
	sum, unknown := 0.0, 0
	for _, s := range append(append([]Step(nil), w.Steps...), w.Side...) {
		if math.IsNaN(s.Idle) {
			unknown++
			continue
		}
		sum += s.Idle
	}
	if 10*unknown > len(w.Steps)+len(w.Side) {
		return math.NaN()
	}
	return sum / float64(len(w.Steps)+len(w.Side)-unknown) * float64(len(w.Steps)+len(w.Side)) / float64(len(w.Steps))
}

// HostTime returns the mean period of a step on the host's clock, seconds.
func (w Window) HostTime() float64 {
	sum := 0.0
	for _, s := range w.Steps {
		sum += s.Period
	}
	return sum / float64(len(w.Steps))
}

// Mean returns the mean of a signal over the window, excluding other phases; NaN if it has no
// value there.
func (w Window) Mean(s *Series) float64 {
	part, sum, n, next := s.Between(w.Start, w.End), 0.0, 0, 0
	for i, t := range part.T {
		for next < len(w.Apart) && w.Apart[next].endsAt() <= t {
			next++
		}
		if next == len(w.Apart) || t < w.Apart[next].Start {
			sum, n = sum+part.V[i], n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// EpochSteps returns the steps of each epoch that is told, from the first steps of passes in order. Where steps are
// thinned whole passes may lie between two of them.
func EpochSteps(steps []Step) (lengths []float64) {
	last := -1
	for i, s := range steps {
		if !s.First {
			continue
		}
		if last >= 0 && s.N > steps[last].N {
			lengths = append(lengths, float64(s.N-steps[last].N)/float64(max(1, s.Pass-steps[last].Pass)))
		}
		last = i
	}
	return lengths
}

// loopTime returns how long a step took besides the host's wait, as far as that is known.
func (s Step) loopTime() float64 { return s.Period - stat.Or(s.Wait, 0) }

// endsAt returns when a step ended, as far as that is known.
func (s Step) endsAt() float64 { return s.Start + stat.Or(s.Period, s.Wait) }

// Samples returns the mean number of samples per step.
func (w Window) Samples() float64 {
	sum := 0.0
	for _, s := range w.Steps {
		sum += s.Samples
	}
	return sum / float64(len(w.Steps))
}

// String says how much the window covers.
func (w Window) String() string {
	steps := quantity.Many(len(w.Steps), "step")
	if w.OneIn > 1 {
		steps += fmt.Sprintf(" (one in %d is kept)", w.OneIn)
	}
	if w.Newest > 0 {
		return fmt.Sprintf("%s in %.1f s, of the last %s of training", steps, w.End-w.Start, longTime(w.Newest))
	}
	return fmt.Sprintf("%s in %.1f s, %s left out", steps, w.End-w.Start, quantity.Many(w.WarmUp, "warm-up step"))
}

// Kept describes each part of the run of which only some is kept.
func (r *Run) Kept() []string {
	var said []string
	for _, t := range r.thinned {
		upTo := "on"
		if !math.IsInf(t.To, 1) {
			upTo = "to " + longTime(t.To)
		}
		said = append(said, fmt.Sprintf("from %s %s %s", longTime(t.From), upTo, t))
	}
	return said
}

// keptOneIn returns the lowest density of steps between two times: that of the sparsest part,
// as no part must count more than another.
func (r *Run) keptOneIn(from, to float64) int {
	most := 1
	for _, t := range r.thinned {
		if t.From <= to && t.To > from {
			most = max(most, t.OneIn)
		}
	}
	return most
}

// evenly returns the steps that are kept if one block in oneIn is.
func evenly(steps []Step, oneIn int) []Step {
	if oneIn <= 1 {
		return steps
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !keepsStep(oneIn, s.N) })
}

// notJudged returns the parts of a run that no verdict is about: what came before the judged
// part, and what is between it and the present if the run does not train any longer.
func (r *Run) notJudged() []thinned {
	from, to := r.Newest()
	parts := []thinned{{To: from - around}, {From: to + recent, To: r.End() - recent}}
	return slices.DeleteFunc(parts, func(p thinned) bool { return !(p.From < p.To) })
}

// RunSoFar holds what a verdict is about (Run.Newest) and the present; the file keeps
// everything. Seconds.
const (
	recent   = 900. // length of the present
	lookOver = 300. // how often a Writer checks for data to drop
	around   = 60.  // kept before the newest part: counters are read there
)
