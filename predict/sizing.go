package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

// Sizing is what a setup needs to reach a utilisation. A need is Unknown if the inputs do not
// determine it, or if nothing meets it; then Impossible says why.
type Sizing struct {
	Target      float64         // AU, 0 to 1
	Step        float64         // seconds that a step may take to reach it: likely compute time / Target
	Workers     stoker.Interval // per GPU, whole numbers
	Cores       stoker.Interval // of the machine
	Storage     stoker.Interval // bytes/s, of a machine
	Reads       stoker.Interval // reads/s, of a machine, where samples are files
	Link        stoker.Interval // bytes/s, per GPU, of the kind of copy that the setup has
	PrepareRate stoker.Interval // stored bytes/s per GPU, where the setup gives that rate instead of workers
	Batches     stoker.Interval // bytes/s of ready batches that a machine's GPUs take: workers of other nodes send them
	Reached     bool            // the setup reaches the target as it is, by its likely values
	Changes     []Need          // what has to change; empty where Reached
	Impossible  []string        // why no number of workers, cores or bytes/s would do; empty where one does
	Worst       []string        // the same with the fastest device and the slowest input, if likely values would do
	Unknown     []Missing       // inputs that were not given; what depends on them is not sized
	Setup       Setup           // the setup with the likely needs met: Solve of it reaches the target
}

// Need is one thing that has to change to reach a target.
type Need struct {
	Input string // "workers", "cores", "storage rate", "reads", "link", "prepare rate", "pin_memory"
	From  float64
	To    stoker.Interval
	Unit  string // "per GPU", "", "bytes/s", "reads/s", "bool"
}

// Size returns what the setup needs so that its devices compute for the target share of the
// time, more than 0 to 1. The error names an impossible input, or says that the time of a step
// must be known.
func (s Setup) Size(target float64) (Sizing, error) {
	if !(target > 0 && target <= 1) {
		return Sizing{}, fmt.Errorf("target is %v: expected a utilisation of more than 0 and at most 1, such as 0.95",
			target)
	}
	a, err := s.Solve()
	if err != nil {
		return Sizing{}, err
	}
	p, err := s.compile()
	if err != nil {
		return Sizing{}, err
	}
	compute := p.compute(bounds.Likely)
	if math.IsNaN(compute) {
		return Sizing{}, fmt.Errorf("the time of a step is unknown: name a model and a GPU, or give it: without " +
			"it nothing can be sized")
	}
	z := Sizing{Target: target, Step: compute / target, Setup: s, Reached: a.Utilization.Point >= target-rounding}
	if !z.Reached && p.copiesTooLong(target) {
		z.pinCopies()
		if p, err = z.Setup.compile(); err != nil {
			return Sizing{}, err
		}
	}
	var needs [3]need
	for _, v := range []bounds.View{bounds.Optimist, bounds.Likely, bounds.Pessimist} {
		needs[v] = p.sizeInView(v, target)
	}
	z.spread(needs)
	if !z.Reached {
		z.Impossible = p.impossible(needs[bounds.Likely], target)
		if len(z.Impossible) == 0 {
			z.Worst = p.impossible(needs[bounds.Pessimist], target)
		}
		z.addShortfalls(&p, needs[bounds.Likely])
		z.raiseUntilReached()
	}
	z.Unknown = z.unsizedInputs(a.Unknown)
	return z, nil
}

// copiesTooLong reports whether copies from pageable memory, which add to compute, take
// more than the target leaves.
func (p *numbers) copiesTooLong(target float64) bool {
	n := p.sizeInView(bounds.Likely, target)
	return !p.pinned && p.link[bounds.Likely] < n.link
}

// pinCopies is the first thing to do about copies: a faster link is bought, page-locked
// memory is a word.
func (z *Sizing) pinCopies() {
	z.Setup.Pinned = true
	z.Changes = append(z.Changes, Need{Input: "pin_memory", From: 0, To: stoker.Exactly(1), Unit: "bool"})
}

// unsizedInputs returns the unknown inputs that were not sized.
func (z *Sizing) unsizedInputs(unknown []Missing) (all []Missing) {
	for _, m := range unknown {
		if !slices.ContainsFunc(z.Changes, func(n Need) bool { return n.Input == m.Input }) {
			all = append(all, m)
		}
	}
	return all
}

// rounding is what adding and dividing in another order may differ by.
const rounding = 1e-9

// need is a Sizing in one view; NaN is unknown, +Inf cannot be met.
type need struct {
	workers, cores, storage, reads, link, rate, batches float64
	// seconds that input may take; 0 or less: no input is fast enough
	input   float64
	collect float64 // seconds that collecting takes
}

// sizeInView sizes in one view: the optimist has a slow device and fast input.
func (p *numbers) sizeInView(v bounds.View, target float64) need {
	device := [...]bounds.View{bounds.Pessimist, bounds.Likely, bounds.Optimist}[v]
	compute := p.compute(device)
	allowed := compute / target
	q := *p
	if q.workers == 0 || math.IsNaN(q.workers) {
		q.workers = 1
		q.derive()
	}
	n := need{link: math.NaN(), rate: math.NaN()}
	n.link = p.batch * p.decoded[v] / p.roomForCopy(allowed, compute)
	t := q.partTimes(device, v)
	if t[onCopy] > 0 && !(p.link[v] >= n.link) { // size the rest as if the link were as needed
		t[onCopy] = p.batch * p.decoded[v] / n.link
	}
	loop := min(allowed, q.loopTime(t, bounds.Likely))
	n.input = q.roomForInput(allowed, loop)
	n.collect = orNone(t[onCollect])
	bytes := p.batch * p.misses[v] * p.sample[v]
	if p.misses[v] == 0 {
		bytes = 0
	}
	n.storage = p.gpus * bytes / n.input
	n.reads = p.gpus * p.batch * p.misses[v] * p.perFile[v] / n.input
	n.batches = p.gpus * p.batch * p.decoded[v] / n.input
	if p.rate[v] > 0 {
		n.rate = p.batch * p.sample[v] / n.input
		return n
	}
	n.workers = p.sizeWorkers(v, n)
	q.workers = n.workers
	q.derive()
	cpu := q.preparing(v) + v.PickCost(spinning)*loop
	n.cores = p.gpus * cpu / n.input
	return n
}

// roomForCopy returns how long a copy may take.
func (p *numbers) roomForCopy(allowed, compute float64) float64 {
	if p.pinned {
		return allowed
	}
	return max(0, allowed-compute)
}

// roomForInput returns how long input may take next to a loop, so that the step is allowed: the
// inverse of joint.
func (p *numbers) roomForInput(allowed, loop float64) float64 {
	sharp := p.sharp
	if math.IsInf(sharp, 1) {
		return allowed
	}
	return allowed * math.Pow(max(0, 1-math.Pow(loop/allowed, sharp)), 1/sharp)
}

// sizeWorkers returns how many workers prepare a batch in time. Several workers slow each other
// down, so a second round starts from the result of the first.
func (p *numbers) sizeWorkers(v bounds.View, n need) float64 {
	q := *p
	if n.storage > 0 {
		q.storage[v] = math.Max(n.storage, orNone(p.storage[v]))
	}
	if n.reads > 0 {
		q.reads[v] = math.Max(n.reads, orNone(p.reads[v]))
	}
	_, alone := q.readTimes(v)
	alone = orNone(alone)
	q.workers = 1
	count := 1.0
	for range 4 {
		q.derive()
		count = math.Ceil((q.preparing(v)+alone)*q.straggling/n.input - rounding)
		q.workers = math.Max(1, count)
	}
	if math.IsNaN(count) {
		return count
	}
	return q.workers
}

// spread makes intervals of three views.
func (z *Sizing) spread(n [3]need) {
	of := func(f func(need) float64) stoker.Interval {
		i := bounds.Enclose(f(n[bounds.Optimist]), f(n[bounds.Likely]), f(n[bounds.Pessimist]))
		if math.IsInf(i.Point, 0) || math.IsNaN(i.Point) {
			return stoker.Unknown()
		}
		if math.IsInf(i.High, 0) {
			i.High = math.NaN() // in the worst case nothing would do
		}
		return i
	}
	z.Workers = of(func(n need) float64 { return n.workers })
	z.Cores = of(func(n need) float64 { return n.cores })
	z.Storage = of(func(n need) float64 { return n.storage })
	z.Reads = of(func(n need) float64 { return n.reads })
	z.Link = of(func(n need) float64 { return n.link })
	z.Batches = of(func(n need) float64 { return n.batches })
	z.PrepareRate = of(func(n need) float64 { return n.rate })
	if n[bounds.Likely].rate > 0 {
		z.Workers, z.Cores = stoker.Unknown(), stoker.Unknown()
	}
}

// impossible says what no amount of hardware of the same kind would do.
func (p *numbers) impossible(n need, target float64) []string {
	var all []string
	percent := quantity.About(100*target) + " %"
	if !(n.input > 0) {
		all = append(all, fmt.Sprintf("%s cannot be reached while batches differ in cost: nearly equal stages "+
			"hold each other up: ask for a little less, or for larger batches", percent))
	} else if n.collect > n.input*(1+rounding) {
		all = append(all, fmt.Sprintf("%s cannot be reached through one collecting process per GPU: it hands over "+
			"at most %s, and the device needs %s: smaller samples (uint8 instead of float32) or batches that "+
			"workers write to memory that the device reads take less",
			percent, perSecond(p.batch/n.collect), perSecond(p.batch/n.input)))
	}
	return all
}

// addShortfalls lists what falls short, and mends the setup.
func (z *Sizing) addShortfalls(p *numbers, n need) {
	mend := func(input, unit string, from, likely float64, to stoker.Interval, set func(float64)) {
		if math.IsNaN(likely) || math.IsInf(likely, 0) || likely == 0 || from >= likely {
			return // an unknown one falls short
		}
		z.Changes = append(z.Changes, Need{input, from, to, unit})
		set(likely)
	}
	s := &z.Setup
	mend("storage rate", "bytes/s", p.storage[bounds.Likely], n.storage, z.Storage,
		func(v float64) { s.Storage = stoker.Exactly(v) })
	mend("reads", "reads/s", p.reads[bounds.Likely], n.reads, z.Reads, func(v float64) { s.Reads = stoker.Exactly(v) })
	mend("prepare rate", "bytes/s", p.rate[bounds.Likely], n.rate, z.PrepareRate,
		func(v float64) { s.PrepareRate = stoker.Exactly(v) })
	if !bounds.IsSet(s.PrepareRate) {
		mend("workers", "per GPU", p.workers, n.workers, z.Workers, func(v float64) { *s = s.WithWorkers(v) })
		mend("cores", "", p.cores[bounds.Likely], n.cores, z.Cores,
			func(v float64) { s.Cores, s.PhysCores = math.Ceil(v), 0 })
	}
	mend("link", "bytes/s", p.link[bounds.Likely], n.link, z.Link, func(v float64) { s.Link = linkOf(v, s.Pinned) })
}

// raiseUntilReached adds workers and cores until the played queue reaches the target as well: all that is
// needed comes from the closed form, which is a few per cent off where batches differ.
func (z *Sizing) raiseUntilReached() {
	const tries = 20
	for try, raised := 0, true; try < tries && raised && len(z.Impossible) == 0; try++ {
		p, err := z.Setup.compileChecked()
		if err != nil || z.Setup.InLoop {
			return
		}
		p.exactly = true
		t := p.partTimes(bounds.Likely, bounds.Likely)
		step, _, _ := p.combine(t, bounds.Likely)
		reached := t[onCompute] / step
		if !(reached < z.Target-rounding) {
			return
		}
		raised = z.scaleNeeds(max(1.02, z.Target/reached))
	}
}

// scaleNeeds multiplies the workers and cores that have to change, and reports whether
// there are any.
func (z *Sizing) scaleNeeds(times float64) (found bool) {
	for i := range z.Changes {
		n := &z.Changes[i]
		switch n.Input {
		case "workers":
			z.Setup.Workers = math.Ceil(z.Setup.Workers * times)
			n.To.Point, n.To.High = z.Setup.Workers, max(n.To.High, z.Setup.Workers)
			z.Workers, found = n.To, true
		case "cores":
			z.Setup.Cores = math.Ceil(z.Setup.Cores * times)
			n.To.Point, n.To.High = z.Setup.Cores, max(n.To.High, z.Setup.Cores)
			z.Cores, found = n.To, true
		}
	}
	return found
}

// linkOf returns a link that delivers a rate. No such link needs to exist.
func linkOf(rate float64, pinned bool) hardware.Link {
	f := hardware.Figure{Value: rate, Source: "as needed"}
	l := hardware.Link{Name: "as needed", Pinned: f, Nominal: f}
	if !pinned {
		l.Pageable = [2]hardware.Figure{f, f}
	}
	return l
}
