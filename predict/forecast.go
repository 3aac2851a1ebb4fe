package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Forecast is how fast a job would be after changes. Unknown intervals hold NaN.
type Forecast struct {
	Step       stoker.Interval // seconds
	Speedup    stoker.Interval // time per sample as measured over that as forecast
	Throughput stoker.Interval // samples/s; unknown where the batch size is
	Stall      stoker.Interval // share of a step in which the device stalls on input
	Bound      stoker.Resource // what binds after the change
	Next       stoker.Resource // what would bind if that were free
	// Step as measured over what the law says of it as it was: 1 where its costs explain all of it
	Residual float64
	Notes    []string // what the forecast assumes or leaves out
}

// NoForecast returns the forecast of a job about which nothing is known.
func NoForecast() Forecast {
	none := stoker.Unknown()
	return Forecast{Step: none, Speedup: none, Throughput: none, Stall: none, Residual: math.NaN()}
}

// Baseline is a job as it was measured: its Setup has that run's costs.
type Baseline struct {
	Setup
	Took     float64         // seconds per step, the mean in the judged window; NaN unknown
	Settings stoker.Settings // as found; num_workers as counted if it was not set
	Counted  bool            // how many samples a batch has is known

	// Busy is the share of Took in which the device computes: no change of its input makes a step shorter
	// than that. NaN if it is not known.
	Busy float64

	// Alters returns why changes would give other samples to train on, or "" if they would not.
	// It is nil if no change could. Such a change gets no gain.
	Alters func(changes ...stoker.Change) string

	// Uncrowded is Step where workers leave the launching thread a core, as the optimist has it; 0: as it is.
	Uncrowded float64

	played map[queue]float64 // so that the job as it was is played once
}

// BatchBytes returns the size of a batch as it is copied to the device; unknown if no batch was
// seen.
func (b Baseline) BatchBytes() float64 { return b.Batch * bounds.Given(b.Decoded).Point }

// Loop returns the time of a step whose input is there.
func (b Baseline) Loop() stoker.Interval {
	p, err := b.compileMeasured()
	if err != nil {
		return stoker.Unknown()
	}
	return bounds.InEachView(func(v bounds.View) float64 { return p.loopTime(p.partTimes(v, v), v) })
}

// Forecast returns what changes of settings are worth. It solves the law for the job before and
// after the change, with the same costs, and scales the measured step by the ratio. A change
// without effect then gains nothing, and an error that the law makes in both cancels. The part
// of the measured step that the law cannot explain may grow with the step, stay or go; the
// interval covers all three. A change that alters the samples gets no gain: another training is
// not a faster one.
func (b Baseline) Forecast(changes ...stoker.Change) Forecast {
	if b.Alters != nil {
		if why := b.Alters(changes...); why != "" {
			f := NoForecast()
			f.Notes = []string{why}
			return f
		}
	}
	return b.forecast(b.withChanges(changes))
}

// forecast carries the measured step to the job as it would be.
func (b Baseline) forecast(after Setup, changed bool, notes []string) Forecast {
	f := NoForecast()
	if !(b.Took > 0) {
		f.Notes = append(f.Notes, "no steps were seen: how long one takes is unknown")
		return f
	}
	f.Notes = notes
	was, err := b.compileMeasured()
	if err != nil {
		f.Notes = append(f.Notes, err.Error())
		return f
	}
	is, err := after.compileChecked()
	if err != nil {
		f.Notes = append(f.Notes, err.Error())
		return f
	}
	switch {
	case !b.InLoop:
	case after.InLoop:
		is.overlap = was.overlap
	case !after.Feeds:
		is.takesOver(&was, b.Took)
	}
	f.solveBoth(b, &was, &is, changed)
	return f
}

// compileMeasured returns the job as measured: without workers its step tells how much of the
// loading the device covered.
func (b Baseline) compileMeasured() (numbers, error) {
	p, err := b.compileChecked()
	p.exactly, p.played = true, b.played
	for v := range p.overlap {
		t := p.partTimes(bounds.View(v), bounds.View(v))
		input, loop := orNone(t[making]), p.loopTime(t, bounds.View(v))
		if short := min(input, loop); b.InLoop && short > 0 {
			p.overlap[v] = min(1, max(0, (input+loop-b.Took)/short))
		}
	}
	return p, err
}

func (f *Forecast) solveBoth(b Baseline, was, is *numbers, changed bool) {
	is.exactly, is.played = true, was.played
	f.Step = stoker.Exactly(b.Took)
	low, high := math.Inf(1), 0.0
	var stall [3]float64
	for v := range stall {
		v := bounds.View(v)
		before, looped, _ := was.combine(was.partTimes(v, v), v)
		t := is.partTimes(v, v)
		after, loop, bound := is.combine(t, v)
		ratio := max(loop, b.Took*after/before)
		if v == bounds.Likely {
			f.Residual = b.Took / before
			f.Step.Point = b.explainStep(was, is)
			f.Bound, f.Next = is.resourceOf(bound), is.resourceOf(is.nextBound(t, v, bound))
			added := max(loop, b.Took+after-before)
			low, high = min(low, after, added), max(high, after, added)
		}
		low, high = min(low, ratio), max(high, ratio)
		input, _ := is.slowestInput(t)
		if out := b.crowdedOut(was, is); out > 0 && v == bounds.Optimist && before > looped && input < loop {
			low = min(low, max(input, loop-out))
		}
		stall[v] = max(0, 1-loop/after)
	}
	if changed {
		point := f.Step.Point
		if math.Abs(point/b.Took-1) > lawError.Point-1 { // else the error would be all of it
			point *= lawError.Point
		}
		f.Step = bounds.Enclose(low*lawError.Low, point, high*lawError.High)
		f.Step = raiseTo(b.leastStep(was, is), f.Step)
	}
	f.Stall = bounds.Enclose(stall[bounds.Optimist], stall[bounds.Likely], stall[bounds.Pessimist])
	f.Speedup = bounds.Scale(bounds.Divide(stoker.Exactly(b.Took), f.Step), is.batch/b.Batch)
	if b.batchKnown() {
		f.Throughput = bounds.Divide(stoker.Exactly(is.batch), f.Step)
	}
}

// leastStep returns the shortest step that is possible with any input: the device computes as
// long as before, as far as that was measured. It is 0 if no measurement bounds it, or if the
// device's own work changes.
func (b Baseline) leastStep(was, is *numbers) float64 {
	if is.batch != was.batch || is.step != was.step {
		return 0
	}
	return min(b.Took, stat.Or(b.Busy, 0)*b.Took*lawError.Low)
}

// raiseTo raises the ends and the point of an interval to at least a value.
func raiseTo(least float64, i stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: max(least, i.Low), Point: max(least, i.Point), High: max(least, i.High)}
}

// crowdedOut returns by how much shorter the loop may get, as the optimist has it, because its
// thread has a core to itself after a change.
func (b Baseline) crowdedOut(was, is *numbers) float64 {
	if !(b.Uncrowded > 0) || is.batch != was.batch {
		return 0
	}
	left := 1 - min(1, is.crowdingExcess()/was.crowdingExcess())
	return left * max(0, b.Step.Low-b.Uncrowded)
}

func (b Baseline) batchKnown() bool {
	return b.Counted || b.Batch > 1
}

// explainStep returns the likely step after a change. If the input binds, it attributes what the
// law leaves unexplained to the input, because the loop was measured without it.
func (b Baseline) explainStep(was, is *numbers) float64 {
	before, after := was.partTimes(bounds.Likely, bounds.Likely), is.partTimes(bounds.Likely, bounds.Likely)
	step, loop, _ := was.combine(before, bounds.Likely)
	if input, _ := was.slowestInput(before); input > loop {
		const rounds = 4 // each leaves a tenth or less of what was off
		for range rounds {
			factor := min(mostOff, max(1/mostOff, b.Took/step))
			before, after = before.slower(factor), after.slower(factor)
			step, _, _ = was.combine(before, bounds.Likely)
		}
	}
	now, _, _ := is.combine(after, bounds.Likely)
	return b.Took * (now / step)
}

// mostOff bounds by which factor costs are corrected at once.
const mostOff = 3

// slower returns the times of an input that takes longer by a factor.
func (t times) slower(factor float64) times {
	for _, part := range [...]int{onRead, onWorker, onCPU, onCollect, waiting, making} {
		t[part] *= factor
	}
	return t
}

// withChanges applies changes to the setup.
func (b Baseline) withChanges(changes []stoker.Change) (s Setup, changed bool, notes []string) {
	s = b.Setup
	for _, c := range changes {
		if now, known := b.Settings[c.Setting]; known && now == c.To {
			continue
		}
		apply, modelled := settings[c.Setting]
		if !modelled {
			notes = append(notes, fmt.Sprintf("the law has no model of %s: its effect is left out", c.Setting))
		} else if _, times := stoker.Multiple(c.To); c.Setting == stoker.BatchSize && !times && !b.batchKnown() {
			notes = append(notes, "the batch size as it was is unknown: what another one does is left out")
		} else if err := c.Setting.CheckValue(c.To); err != nil {
			notes = append(notes, err.Error()+": its effect is left out")
		} else {
			apply(&s, c.To)
			changed = true
		}
	}
	return s, changed, notes
}

// Models reports whether the law knows what a setting does.
func Models(s stoker.Setting) bool { return settings[s] != nil }

// asUint8 is the share of a float32 batch's bytes that it has as uint8.
const asUint8 = 0.25

// settings are what values of settings, which were checked, do to a setup.
var settings = map[stoker.Setting]func(s *Setup, to any){
	stoker.NumWorkers: func(s *Setup, to any) {
		workers := numeric(to, s.numWorkers())
		if (workers > 0) != (s.Workers > 0) {
			s.elsewhere()
		}
		*s = s.WithWorkers(workers)
	},
	stoker.Split:             func(*Setup, any) {}, // whom it lets read says the number of workers
	stoker.Shards:            func(s *Setup, to any) { s.Shards = numeric(to, s.Shards) },
	stoker.BatchSize:         func(s *Setup, to any) { s.resize(numeric(to, s.Batch)) },
	stoker.PrefetchFactor:    func(s *Setup, to any) { s.Prefetch = numeric(to, s.prefetch()) },
	stoker.PersistentWorkers: func(s *Setup, to any) { s.Persistent = to == true },
	stoker.InOrder:           func(s *Setup, to any) { s.AnyOrder = to != true },
	stoker.PinMemory: func(s *Setup, to any) {
		if to == true && !s.Pinned {
			s.pinCopies()
		}
		s.Pinned = to == true
	},
	stoker.NonBlocking: func(*Setup, any) {}, // pinned memory's worth
	stoker.StorageKind: func(s *Setup, to any) {
		if to == stoker.PageCache {
			s.Cached, s.Wait = 1, stoker.Exactly(0)
		}
	},
	stoker.Cores: func(s *Setup, to any) {
		s.Cores = numeric(to, s.Cores)
		// the speed of other cores is not known
		s.Others, s.PhysCores, s.Queue, s.Crowd = 0, 0, stoker.Exactly(1), 0
	},
	stoker.LoaderKind: func(s *Setup, _ any) {
		s.elsewhere()
		if s.InLoop && s.Threads > 0 {
			*s = s.WithWorkers(s.Threads)
		}
		if s.Crowd > 0 && s.Wait.Known() { // workers that lack cores also sleep for each other: that may go with them
			s.Wait.Low = 0
		}
		s.Feeds, s.PrepareCPU = true, bounds.Multiply(s.PrepareCPU, bounds.OneOfSeveral(FeedCost()))
	},
	stoker.OnDevice: func(s *Setup, to any) {
		if to == true {
			s.setCopies(bounds.Scale(s.Copy, asUint8))
			s.Decoded = bounds.Scale(s.Decoded, asUint8)
		}
	},
}

// resize makes batches of another size of the same samples. The device computes as
// much longer, launching takes as long as before.
func (s *Setup) resize(batch float64) {
	times := batch / s.Batch
	grown := func(step, fixed float64) float64 {
		return max(bounds.Least, min(step, fixed)+times*(step-min(step, fixed)))
	}
	fixed := s.Launch
	step := stoker.Interval{
		Low: grown(s.Step.Low, fixed.High), Point: grown(s.Step.Point, fixed.Point),
		High: grown(s.Step.High, fixed.Low),
	}
	if times < 1 {
		step.Low, step.High = grown(s.Step.Low, fixed.Low), grown(s.Step.High, fixed.High)
	}
	s.Spin = bounds.Scale(s.Spin, times)
	s.Batch, s.Step, s.Copy, s.BatchCV = batch, step, bounds.Scale(s.Copy, times), s.BatchCV/math.Sqrt(times)
}

// pinCopies takes what page-locked memory saves off a copy that was measured.
func (s *Setup) pinCopies() {
	if rate := s.Link.Pinned.Value; rate > 0 && bounds.IsSet(s.Copy) && bounds.IsSet(s.Decoded) {
		took := s.Batch * s.Decoded.Point / rate
		s.setCopies(stoker.Interval{
			Low: min(s.Copy.Low, took), Point: min(s.Copy.Point, took),
			High: min(s.Copy.High, took),
		})
	}
}

// setCopies sets how long the device stalls on them; the launching thread, which spins
// meanwhile, spins less.
func (s *Setup) setCopies(take stoker.Interval) {
	if was := s.Step.Point + s.Copy.Point; was > 0 {
		s.Spin = bounds.Scale(s.Spin, (s.Step.Point+take.Point)/was)
	}
	s.Copy = take
}

// elsewhere widens the waits for a core, because other processes prepare the batches than those
// whose waits were measured. A process that waited for the machine's other users will wait
// again.
func (s *Setup) elsewhere() {
	if !bounds.IsSet(s.Queue) {
		return
	}
	likely := 1.0
	if othersCount(s.Others, s.Cores) {
		likely = s.Queue.Point
	}
	s.Queue = stoker.Interval{Low: 1, Point: likely, High: s.Queue.Point}
}

// numeric returns a number as it becomes, or a multiple of the old one.
func numeric(to any, was float64) float64 {
	if times, ok := stoker.Multiple(to); ok {
		return times * was
	}
	n, _ := stoker.Settings{"v": to}.Float("v")
	return n
}
