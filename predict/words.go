package predict

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// The formatters of sentences, by the short names that they have here.
var (
	size     = stoker.AboutBytes
	speed    = stoker.AboutRate
	duration = stoker.AboutSeconds
	amount   = stoker.About
	ranged   = stoker.Ranged
)

func perSecond(v float64) string { return amount(v) + " samples/s" }

// stages lists the parts with how they were computed.
func (c *solution) stages() []StageTime {
	var all []StageTime
	for part := range parts {
		l := c.limit(part)
		if c.unused(part) {
			continue
		}
		text, source := c.how(part)
		all = append(all, StageTime{Stage: l.Stage, Resource: l.Resource, Time: l.Time, Text: text, Source: source})
	}
	return all
}

// unused reports whether a setup has no such part: nobody collects without
// workers, and a rate that was given asks for no cores.
func (c *solution) unused(part int) bool {
	return part == onCollect && c.workers == 0 || part == onCPU && set(c.PrepareRate) || part == onSync && c.t[likely][onSync] == 0
}

// how says in words how a part's time follows from the setup.
func (c *solution) how(part int) (text, source string) {
	batch := amount(c.batch)
	switch part {
	case onRead:
		machine := ""
		if c.gpus > 1 {
			machine = fmt.Sprintf("%s GPUs x ", amount(c.gpus))
		}
		text = fmt.Sprintf("%s%s x %s / %s", machine, batch, ranged(given(c.Sample), size), ranged(given(c.Storage), speed))
		if set(c.PerFile) {
			text += fmt.Sprintf(", at least %s%s x %s reads / %s reads/s", machine, batch, ranged(c.PerFile, amount), ranged(given(c.Reads), amount))
			source = "a file is read at once where its directory and inode are in memory, else in three (assumption); an object is one request"
		}
		if c.Cached > 0 {
			text += fmt.Sprintf(" x %s misses", ranged(scaled(missed(c.Cached), 100), amount)+" %")
			source = strings.TrimPrefix(source+"; ", "; ") + "misses: from a cache that evicts nothing to least recently used under a shuffle, c + (1-c) ln(1-c) hits"
		}
	case onWorker:
		return c.howPrepared(batch)
	case onCPU:
		return fmt.Sprintf("core time of all workers and launching / %s cores", amount(c.cores[likely])), "launching: 0.1 to 1 core per GPU while it works (assumption)"
	case onCollect:
		if c.given {
			return fmt.Sprintf("%s x %s in the trainer's process", batch, ranged(c.HandOver, duration)), ""
		}
		return fmt.Sprintf("%s x %s x %s ns/byte in the trainer's process", batch, ranged(given(c.Decoded), size), ranged(scaled(collect, 1e9), amount)), collectSource
	case onCopy:
		kind := "pageable, adds to compute"
		if c.Pinned {
			kind = "pinned, beside compute"
		}
		text = fmt.Sprintf("%s x %s / %s, %s", batch, ranged(given(c.Decoded), size), ranged(c.linkRate(), speed), kind)
		source = c.linkSource()
	case onCompute:
		return c.howComputed()
	case onSync:
		return c.howExchanged()
	}
	return text, source
}

func (c *solution) howPrepared(batch string) (text, source string) {
	if set(c.PrepareRate) {
		return fmt.Sprintf("%s x %s / %s", batch, ranged(given(c.Sample), size), ranged(c.PrepareRate, speed)), ""
	}
	cost := ranged(given(c.PrepareCPU), duration)
	switch {
	case c.workers == 0:
		return fmt.Sprintf("%s x %s in the launching thread", batch, cost), ""
	case math.IsNaN(c.workers):
		return fmt.Sprintf("%s x %s / an unknown number of workers", batch, cost), ""
	}
	reads := "reading"
	if set(c.PerFile) && set(c.Latency) && c.Cached < 1 {
		reads = fmt.Sprintf("%s for the answer to each read", ranged(c.Latency, duration))
	}
	return fmt.Sprintf("(%s x %s, %s, and handing over) / %s workers", batch, cost, reads, amount(c.workers)), "handing over: 1.1 to 1.9 ns/byte, measured 2026-11-21 with bench/handover.py"
}

func (c *solution) howComputed() (text, source string) {
	if set(c.Step) {
		return "given", ""
	}
	curve, known, _ := c.curve()
	if !known {
		return "unknown", ""
	}
	return fmt.Sprintf("%s on %s at batch %s", c.Load.Workload.Title, c.Load.GPU.Title, amount(c.batch)), curve.Source
}

func (c *solution) linkSource() string {
	link := c.Link
	if link.Name == "" {
		link, _ = hardware.FindLink(c.Load.GPU.Link)
	}
	if c.Pinned {
		return link.Pinned.Source
	}
	return link.Pageable[0].Source
}

// missingExchange says what to give.
func (c *solution) missingExchange() string {
	switch {
	case math.IsNaN(c.sync.bytes[likely]):
		return "name a model whose parameters are known"
	case math.IsNaN(c.sync.near[likely]) && c.gpus > 1:
		return "give the rate of NVLink, or of the host link"
	}
	return "give the network between machines"
}

const deviceMemory = "device memory"

// missingInputs names what nobody gave, with what the device needs it to be.
func (c *solution) missingInputs(d Demand) []Missing {
	var all []Missing
	add := func(input, needs string) { all = append(all, Missing{input, needs}) }
	t := c.t[likely]
	if math.IsNaN(t[onCompute]) {
		add("step time", "name the model and the GPU, or give the time of a step")
	}
	if c.fits() == NotKnown && c.curved {
		needs := "name a GPU whose memory is known"
		if need := c.need(); !math.IsNaN(need) {
			needs = "at least " + size(need)
		}
		add(deviceMemory, needs)
	}
	if math.IsNaN(t[onSync]) {
		add("exchange between ranks", c.missingExchange())
	}
	if !set(c.Sample) && (c.Cached < 1 || set(c.PrepareRate)) {
		add("sample", "give the stored bytes of one sample")
	}
	if !set(c.Storage) && c.Cached < 1 {
		add("storage rate", atLeast(d.Storage, speed))
	}
	if set(c.PerFile) && c.Cached < 1 && !set(c.Reads) {
		add("reads", atLeast(d.Reads, func(v float64) string { return amount(v) + " reads/s" }))
	}
	if set(c.PerFile) && c.Cached < 1 && !set(c.Latency) && !set(c.PrepareRate) {
		add("latency", c.latencyNeeded())
	}
	c.missingPrepare(d, add)
	if !set(c.Decoded) {
		add("decoded", "give the bytes of one sample as it is copied to the device")
	} else if !set(c.linkRate()) {
		add("link", atLeast(d.Link, speed))
	}
	return all
}

// latencyNeeded is how long a read may take, where its worker does nothing meanwhile.
func (c *solution) latencyNeeded() string {
	room := c.workers*c.t[likely][onCompute] - c.preparing(likely)
	per := room / (c.batch * c.misses[likely] * c.perFile[likely])
	if !(per > 0) || math.IsInf(per, 0) {
		return ""
	}
	return fmt.Sprintf("at most %s with %s workers", duration(per), amount(c.workers))
}

func (c *solution) missingPrepare(d Demand, add func(input, needs string)) {
	if set(c.PrepareRate) {
		return
	}
	step := c.t[likely][onCompute]
	if !set(c.PrepareCPU) {
		needs := ""
		if most := math.Max(1, c.workers) * step / c.batch; !math.IsNaN(most) {
			needs = fmt.Sprintf("at most %s per sample with %s workers", duration(most), amount(c.workers))
		}
		add("prepare", needs)
	}
	if math.IsNaN(c.workers) {
		add("workers", atLeast(d.Workers, amount))
	}
	if math.IsNaN(c.cores[likely]) && (c.workers != 0 || c.gpus > 1) {
		add("cores", atLeast(d.Cores, amount))
	}
}

func atLeast(i stoker.Interval, text func(float64) string) string {
	if !i.Known() {
		return ""
	}
	if low, high := text(i.Low), text(i.High); low != high {
		return fmt.Sprintf("about %s (%s to %s)", text(i.Point), low, high)
	}
	return "at least " + text(i.Point)
}

// knob is one input on which a part's time depends, as time = base + slope x,
// where x is a cost, or one over a rate.
type knob struct {
	part        int
	base, slope float64
	cost        bool
	value       stoker.Interval
	text        func(float64) string
	inverse     func(time float64) float64 // instead of base and slope, where that is no line
	worse       string                     // what would make it bind: "storage would have to deliver less than %s instead of %s"
	better      string                     // what would make it bind no longer
}

func (c *solution) knobs() []knob {
	t := c.t[likely]
	var all []knob
	add := func(part int, cost bool, value stoker.Interval, text func(float64) string, what, verb string) {
		if !set(value) || !(t[part] > 0) {
			return
		}
		x := value.Point
		if !cost {
			x = 1 / x
		}
		slope := t[part] / x
		less, more := "less", "more"
		if cost {
			less, more = "more", "less"
		}
		words := what + " would have to " + verb + " "
		all = append(all, knob{
			part: part, slope: slope, cost: cost, value: value, text: text,
			worse: words + less + " than %s instead of %s", better: words + more + " than %s instead of %s",
		})
	}
	if byReads := orNone(c.perFile[likely] / c.reads[likely]); byReads > c.sample[likely]/c.storage[likely] {
		add(onRead, false, given(c.Reads), func(v float64) string { return amount(v) + " reads/s" }, "storage", "answer")
	} else {
		add(onRead, false, given(c.Storage), speed, "storage", "deliver")
	}
	if set(c.PrepareRate) {
		add(onWorker, false, c.PrepareRate, speed, "the workers", "prepare")
	} else {
		add(onWorker, true, given(c.PrepareCPU), duration, "preparing a sample", "take")
		c.leave(all, onWorker, func(p *numbers) { p.prepare[likely] = 0 })
		if set(c.PerFile) {
			add(onWorker, true, given(c.Latency), duration, "the answer to a read", "take")
			c.leave(all, onWorker, func(p *numbers) { p.latency[likely] = 0 })
		}
	}
	if c.cores[likely] > 0 {
		add(onCPU, false, stoker.Exactly(c.cores[likely]), func(v float64) string { return amount(v) + " cores" }, "the machine", "have")
		c.coresKnob(all)
	}
	if t[onCollect] > 0 && c.batch > 0 {
		add(onCollect, true, scaled(c.time(onCollect), 1/c.batch), duration, "handing over a sample", "take")
	}
	add(onCopy, false, c.linkRate(), speed, "the link", "deliver")
	add(onCompute, true, c.time(onCompute), duration, "a step's compute", "take")
	return all
}

// leave takes out of the last knob what its part takes without it: a worker reads,
// prepares and hands over.
func (c *solution) leave(all []knob, part int, without func(p *numbers)) {
	if len(all) == 0 || all[len(all)-1].part != part {
		return
	}
	k := &all[len(all)-1]
	free := c.numbers
	without(&free)
	k.base = free.times(likely, likely)[part]
	k.slope = (c.t[likely][part] - k.base) / k.value.Point
}

// coresKnob makes the last knob that of cores: who waits for one does not spin on it
// meanwhile, so that the time is not one over their number.
func (c *solution) coresKnob(all []knob) {
	if len(all) == 0 || all[len(all)-1].part != onCPU {
		return
	}
	all[len(all)-1].inverse = func(time float64) float64 {
		few, many := 1e-6, 1e12
		for many/few > 1+rounding {
			p := c.numbers
			middle := math.Sqrt(few * many)
			p.cores[likely] = middle
			if p.times(likely, likely)[onCPU] > time {
				few = middle
			} else {
				many = middle
			}
		}
		return many
	}
}

// at is the value at which the part takes so long; NaN where none does.
func (k knob) at(time float64) float64 {
	if k.inverse != nil {
		return k.inverse(time)
	}
	x := (time - k.base) / k.slope
	if !(x > 0) || math.IsInf(x, 0) {
		return math.NaN()
	}
	if k.cost {
		return x
	}
	return 1 / x
}

// wrong says what would have to be true for another part to bind.
func (c *solution) wrong(a Answer) []string {
	if !a.Step.Known() {
		return unless(a.Unknown)
	}
	var all []string
	_, _, bound := c.combine(c.t[likely], likely)
	second := 0.0
	for part := range parts {
		if part != bound && !c.unused(part) {
			second = math.Max(second, orNone(c.t[likely][part]))
		}
	}
	for _, k := range c.knobs() {
		mark, words, end := c.t[likely][bound], k.worse, " before it becomes the limit"
		if k.part == bound {
			mark, words, end = second, k.better, " before something else becomes the limit"
		}
		v := k.at(mark)
		if math.IsNaN(v) {
			continue
		}
		text := fmt.Sprintf(words, k.text(v), ranged(k.value, k.text)) + end
		if k.value.Contains(v) && k.value.Low < k.value.High {
			text += "; the estimate allows that: measure this first"
		}
		all = append(all, text)
	}
	return append(all, unless(a.Unknown)...)
}

// unless says what unknown inputs would have to be for the rest to decide.
func unless(unknown []Missing) (all []string) {
	for _, m := range unknown {
		text := m.Input + " is unknown: the part that depends on it may bind"
		switch {
		case m.Input == deviceMemory:
			text = deviceMemory + " is unknown: the batch may not fit"
		case strings.HasPrefix(m.Needs, "a"): // about, at least, at most
			text = fmt.Sprintf("%s is unknown: it binds unless it is %s", m.Input, m.Needs)
		}
		all = append(all, text)
	}
	return all
}

// notes says what the answer assumes.
func (c *solution) notes() []string {
	var all []string
	if c.workers == 0 {
		all = append(all, "without workers loading and computing take turns; the low end of the step is a loop that never waits for the device, so that queued work covers the loading")
	}
	if c.gpus > 1 {
		all = append(all, fmt.Sprintf("%s GPUs share the cores and the storage of a machine", amount(c.gpus)))
	}
	if c.workers > 0 && c.gpus*(c.workers+1) > c.cores[likely] {
		all = append(all, fmt.Sprintf("%s processes share %s cores: more workers help no further, and crowding may cost up to %.0f %%", amount(c.gpus*(c.workers+1)), amount(c.cores[likely]), 100*(crowding.High-1)))
	}
	if c.workers > 0 && !math.IsInf(c.sharp, 1) {
		all = append(all, "batches differ in cost: in order, a late one holds up the others, and nearly equal stages each other")
	}
	if set(c.HandOver) || c.workers == 0 || !set(c.Decoded) {
		return all
	}
	return append(all, "handing over a batch is a prior: "+strings.TrimPrefix(collectSource, "prior: "))
}
