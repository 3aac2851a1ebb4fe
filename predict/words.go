package predict

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

func perSecond(v float64) string { return quantity.About(v) + " samples/s" }

// listStages lists the parts with how they were computed.
func (c *solution) listStages() []StageTime {
	var all []StageTime
	for part := range parts {
		l := c.limitOf(part)
		if c.isUnused(part) {
			continue
		}
		text, source := c.explainPart(part)
		all = append(all, StageTime{Stage: l.Stage, Resource: l.Resource, Time: l.Time, Text: text, Source: source})
	}
	return all
}

// isUnused reports whether a setup does not have a part: without workers nothing is collected,
// and a given rate needs no cores.
func (c *solution) isUnused(part int) bool {
	return part == onCollect && c.workers == 0 || part == onCPU && bounds.IsSet(c.PrepareRate) ||
		part == onSync && c.t[bounds.Likely][onSync] == 0
}

// explainPart says in words how a part's time follows from the setup.
func (c *solution) explainPart(part int) (text, source string) {
	batch := quantity.About(c.batch)
	switch part {
	case onRead:
		machine := ""
		if c.gpus > 1 {
			machine = fmt.Sprintf("%s GPUs x ", quantity.About(c.gpus))
		}
		text = fmt.Sprintf("%s%s x %s / %s", machine, batch,
			quantity.Ranged(bounds.Given(c.Sample), quantity.AboutBytes),
			quantity.Ranged(bounds.Given(c.Storage), quantity.AboutRate))
		if bounds.IsSet(c.PerFile) {
			text += fmt.Sprintf(", at least %s%s x %s reads / %s reads/s", machine, batch,
				quantity.Ranged(c.PerFile, quantity.About), quantity.Ranged(bounds.Given(c.Reads), quantity.About))
			source = "a file is read at once if its directory and inode are in memory, else in three " +
				"(assumption), an object is one request"
		}
		if c.Cached > 0 {
			text += fmt.Sprintf(" x %s misses", quantity.Ranged(bounds.Scale(missRatio(c.Cached), 100), quantity.About)+" %")
			source = strings.TrimPrefix(source+", ", ", ") + "misses: from a cache that evicts nothing to least " +
				"recently used under a shuffle, c + (1-c) ln(1-c) hits"
		}
	case onWorker:
		return c.howPrepared(batch)
	case onCPU:
		return fmt.Sprintf("core time of all workers and launching / %s cores", quantity.About(c.cores[bounds.Likely])),
			"launching: 0.1 to 1 core per GPU while it works (assumption)"
	case onCollect:
		if c.given {
			return fmt.Sprintf("%s x %s in the trainer's process", batch,
				quantity.Ranged(c.HandOver, quantity.AboutSeconds)), ""
		}
		return fmt.Sprintf("%s x %s x %s ns/byte in the trainer's process", batch,
			quantity.Ranged(bounds.Given(c.Decoded), quantity.AboutBytes),
			quantity.Ranged(bounds.Scale(collect, 1e9), quantity.About)), collectSource
	case onCopy:
		kind := "pageable, adds to compute"
		if c.Pinned {
			kind = "pinned, beside compute"
		}
		text = fmt.Sprintf("%s x %s / %s, %s", batch, quantity.Ranged(bounds.Given(c.Decoded), quantity.AboutBytes),
			quantity.Ranged(c.linkRate(), quantity.AboutRate), kind)
		if c.hostLink().Reach == hardware.OneMemory {
			text += ", within the one memory of host and device"
		}
		source = c.linkSource()
	case onCompute:
		return c.howComputed()
	case onSync:
		return c.howExchanged()
	}
	return text, source
}

func (c *solution) howPrepared(batch string) (text, source string) {
	if bounds.IsSet(c.PrepareRate) {
		return fmt.Sprintf("%s x %s / %s", batch, quantity.Ranged(bounds.Given(c.Sample), quantity.AboutBytes),
			quantity.Ranged(c.PrepareRate, quantity.AboutRate)), ""
	}
	cost := quantity.Ranged(bounds.Given(c.PrepareCPU), quantity.AboutSeconds)
	switch {
	case c.workers == 0:
		return fmt.Sprintf("%s x %s in the launching thread", batch, cost), ""
	case math.IsNaN(c.workers):
		return fmt.Sprintf("%s x %s / an unknown number of workers", batch, cost), ""
	}
	reads := "reading"
	if bounds.IsSet(c.PerFile) && bounds.IsSet(c.Latency) && c.Cached < 1 {
		reads = fmt.Sprintf("%s for the answer to each read", quantity.Ranged(c.Latency, quantity.AboutSeconds))
	}
	return fmt.Sprintf("(%s x %s, %s, and handing over) / %s workers", batch, cost, reads, quantity.About(c.workers)),
		"handing over: 1.1 to 1.9 ns/byte, measured 2026-11-21 with bench/handover.py"
}

func (c *solution) howComputed() (text, source string) {
	if bounds.IsSet(c.Step) {
		return "given", ""
	}
	curve, known, _ := c.stepCurve()
	if !known {
		return "unknown", ""
	}
	return fmt.Sprintf("%s on %s at batch %s", c.Load.Workload.Title, c.Load.GPU.Title, quantity.About(c.batch)),
		curve.Source
}

func (c *solution) linkSource() string {
	link := c.hostLink()
	if c.Pinned {
		return link.Pinned.Source
	}
	return link.Pageable[0].Source
}

// howExchanged says in words what ranks exchange.
func (c *solution) howExchanged() (text, source string) {
	e := &c.sync
	text = fmt.Sprintf("%s ranks exchange %s each in %s: what does not hide behind the backward pass, and waiting "+
		"for the slowest", quantity.About(c.rankCount()), quantity.AboutBytes(e.Bytes[bounds.Likely]),
		quantity.Ranged(bounds.InEachView(func(v bounds.View) float64 { return e.Time(v, c.gpus) }),
			quantity.AboutSeconds))
	source = "GPUs without a link of their own: 15 to 50 % of the host link (assumption)"
	if own := c.Load.GPU.NVLink; own.Known() {
		source = own.Source + ", of that 46 to 78 % are reached (nccl-tests on 8 A100, " +
			"github.com/stas00/ml-engineering, read 2026-11)"
	}
	return text, source + ", hidden: none to 85 %, besides 1 to 12 % of compute for waiting for the slowest " +
		"(Oneflow-Inc/DLPerf and FlagOpen/FlagPerf, read 2026-11)"
}

// missingExchange says what to give.
func (c *solution) missingExchange() string {
	switch {
	case math.IsNaN(c.sync.Bytes[bounds.Likely]):
		return "name a model whose parameters are known"
	case math.IsNaN(c.sync.Near[bounds.Likely]) && c.gpus > 1:
		return "give the rate of NVLink, or of the host link"
	}
	return "give the network between machines"
}

const deviceMemory = "device memory"

// missingInputs names the inputs that were not given, each with the value that the device needs.
func (c *solution) missingInputs(d Demand) []Missing {
	var all []Missing
	add := func(input, needs string) { all = append(all, Missing{input, needs}) }
	t := c.t[bounds.Likely]
	if math.IsNaN(t[onCompute]) {
		add("step time", "name the model and the GPU, or give the time of a step")
	}
	if c.fitsMemory() == NotKnown && c.curved {
		needs := "name a GPU whose memory is known"
		if need := c.memoryNeed(); !math.IsNaN(need) {
			needs = "at least " + quantity.AboutBytes(need)
		}
		add(deviceMemory, needs)
	}
	if math.IsNaN(t[onSync]) {
		add("exchange between ranks", c.missingExchange())
	}
	if !bounds.IsSet(c.Sample) && (c.Cached < 1 || bounds.IsSet(c.PrepareRate)) {
		add("sample", "give the stored bytes of one sample")
	}
	if !bounds.IsSet(c.Storage) && c.Cached < 1 {
		add("storage rate", atLeast(d.Storage, quantity.AboutRate))
	}
	if bounds.IsSet(c.PerFile) && c.Cached < 1 && !bounds.IsSet(c.Reads) {
		add("reads", atLeast(d.Reads, aboutReads))
	}
	if bounds.IsSet(c.PerFile) && c.Cached < 1 && !bounds.IsSet(c.Latency) && !bounds.IsSet(c.PrepareRate) {
		add("latency", c.latencyNeeded())
	}
	c.missingPrepare(d, add)
	if !bounds.IsSet(c.Decoded) {
		add("decoded", "give the bytes of one sample as it is copied to the device")
	} else if !bounds.IsSet(c.linkRate()) {
		add("link", atLeast(d.Link, quantity.AboutRate))
	}
	return all
}

// latencyNeeded returns how long a read may take, where its worker does nothing meanwhile.
func (c *solution) latencyNeeded() string {
	room := c.workers*c.t[bounds.Likely][onCompute] - c.preparing(bounds.Likely)
	per := room / (c.batch * c.misses[bounds.Likely] * c.perFile[bounds.Likely])
	if !(per > 0) || math.IsInf(per, 0) {
		return ""
	}
	return fmt.Sprintf("at most %s with %s workers", quantity.AboutSeconds(per), quantity.About(c.workers))
}

func (c *solution) missingPrepare(d Demand, add func(input, needs string)) {
	if bounds.IsSet(c.PrepareRate) {
		return
	}
	step := c.t[bounds.Likely][onCompute]
	if !bounds.IsSet(c.PrepareCPU) {
		needs := ""
		if most := math.Max(1, c.workers) * step / c.batch; !math.IsNaN(most) {
			needs = fmt.Sprintf("at most %s per sample with %s workers", quantity.AboutSeconds(most),
				quantity.About(c.workers))
		}
		add("prepare", needs)
	}
	if math.IsNaN(c.workers) {
		add("workers", atLeast(d.Workers, quantity.About))
	}
	if math.IsNaN(c.cores[bounds.Likely]) && (c.workers != 0 || c.gpus > 1) {
		add("cores", atLeast(d.Cores, quantity.About))
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

// leverWords names levers in a sentence: "storage would have to deliver".
var leverWords = map[input]struct {
	subject, verb string
	print         func(float64) string
}{
	storageRate:  {"storage", "deliver", quantity.AboutRate},
	readRate:     {"storage", "answer", aboutReads},
	prepareRate:  {"the workers", "prepare", quantity.AboutRate},
	prepareTime:  {"preparing a sample", "take", quantity.AboutSeconds},
	readLatency:  {"the answer to a read", "take", quantity.AboutSeconds},
	coreCount:    {"the machine", "have", func(v float64) string { return quantity.About(v) + " cores" }},
	handOverTime: {"handing over a sample", "take", quantity.AboutSeconds},
	linkRate:     {"the link", "deliver", quantity.AboutRate},
	stepTime:     {"a step's compute", "take", quantity.AboutSeconds},
}

func aboutReads(v float64) string { return quantity.About(v) + " reads/s" }

// sentence returns a lever's sentence: what its value would have to be instead, so that its part
// takes longer or shorter.
func (l lever) sentence(value float64, longer bool) string {
	words, than := leverWords[l.input], "less"
	if longer == l.cost {
		than = "more"
	}
	return fmt.Sprintf("%s would have to %s %s than %s instead of %s",
		words.subject, words.verb, than, words.print(value), quantity.Ranged(l.value, words.print))
}

// waitShare returns the share of a worker's time that it blocks on its reads.
func (c *solution) waitShare() stoker.Interval {
	var shares [3]float64
	for v, t := range c.t {
		shares[v] = orNone(t[waiting]) / t[making]
	}
	return bounds.Enclose(shares[bounds.Optimist], shares[bounds.Likely], shares[bounds.Pessimist])
}

// EstimateDecides ends a sentence of Answer.Wrong that may well be true.
const EstimateDecides = ", the estimate allows that: measure this first"

// whatWouldBind returns what would have to be true for another part to bind, first the changes
// that the estimates allow.
func (c *solution) whatWouldBind(a Answer) []string {
	if !a.Step.Known() {
		return unless(a.Unknown)
	}
	var first, all []string
	_, _, bound := c.combine(c.t[bounds.Likely], bounds.Likely)
	second := 0.0
	for part := range parts {
		if part != bound && !c.isUnused(part) {
			second = math.Max(second, orNone(c.t[bounds.Likely][part]))
		}
	}
	for _, l := range c.levers() {
		mark, end := c.t[bounds.Likely][bound], " before it becomes the limit"
		if l.part == bound {
			mark, end = second, " before something else becomes the limit"
		}
		v := l.valueAt(mark)
		if math.IsNaN(v) {
			continue
		}
		text := l.sentence(v, l.part != bound) + end
		if l.value.Contains(v) && l.value.Low < l.value.High {
			first = append(first, text+EstimateDecides)
			continue
		}
		all = append(all, text)
	}
	return append(append(first, all...), unless(a.Unknown)...)
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

// listAssumptions returns the assumptions of the answer.
func (c *solution) listAssumptions() []string {
	var all []string
	if c.workers == 0 {
		all = append(all, "without workers loading and computing take turns. The low end of the step is a loop "+
			"that never waits for the device, so that queued work covers the loading")
	}
	if c.gpus > 1 {
		all = append(all, fmt.Sprintf("%s GPUs share the cores and the storage of a machine", quantity.About(c.gpus)))
	}
	if c.workers > 0 && c.gpus*(c.workers+1) > c.cores[bounds.Likely] {
		all = append(all, fmt.Sprintf("%s processes share %s cores: more workers help no further, and crowding "+
			"may cost up to %.0f %%", quantity.About(c.gpus*(c.workers+1)), quantity.About(c.cores[bounds.Likely]),
			100*(crowding.High-1)))
	}
	if c.workers > 0 && !math.IsInf(c.sharp, 1) {
		all = append(all, "batches differ in cost: in order, a late one holds up the others, and nearly equal "+
			"stages each other")
	}
	if bounds.IsSet(c.HandOver) || c.workers == 0 || !bounds.IsSet(c.Decoded) {
		return all
	}
	return append(all, "handing over a batch is a prior: "+strings.TrimPrefix(collectSource, "prior: "))
}
