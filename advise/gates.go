package advise

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// gain is a change with its forecast, on its way through the gates.
type gain struct {
	evidence
	trace *replay.Trace // nil for a bound that no replay gives
	check replay.Check
	edit  replay.Edit
	fix   *Fix

	likely float64 // by the likely case alone; 0 not asked yet
	played bool    // fix.Forecast is the replay's
}

// gates is the list of checks, in order. refuses says why a gain does not pass, "" if it passes. It
// may also lower the gain to what the gate allows. Those from the first with replays on ask a replay.
// docs/traces.md lists them for readers.
var gates = []struct {
	gate    Gate
	asks    string
	replays bool
	refuses func(*gain) string
}{
	{Program, "does a program of this kind have the setting?", false, (*gain).checkProgram},
	{Program, "can the device do it?", false, (*gain).checkUnit},
	{Program, "is something else the limit?", false, (*gain).checkLimit},
	{Program, "is it more than a trial of a few kernels?", false, (*gain).checkTrial},
	{Program, "does it shorten what limits the steps?", false, (*gain).checkAim},
	{Program, "is it the host's own work that limits the steps?", false, (*gain).checkHostWork},
	{Program, "is it done already?", false, (*gain).checkDone},
	{Evidence, "is the device's work in the file as it was?", false, (*gain).checkDamage},
	{Evidence, "is it known what the host did before the work?", false, (*gain).checkLinks},
	{Evidence, "does the device wait for the program?", false, (*gain).checkQueue},
	{Evidence, "does the job wait for this rank?", false, (*gain).checkRank},
	{Evidence, "is there work that could go on meanwhile?", false, (*gain).checkBeside},
	{Evidence, "can the host do without what it waits for?", false, (*gain).checkReads},
	{Evidence, "is the replay of the steps that are judged?", true, (*gain).checkSteps},
	{Physics, "has the link room, and the device?", true, (*gain).checkRoom},
	{Evidence, "is the reason of the delay in the file?", true, (*gain).checkDelays},
	{Physics, "is it less than the device's idle time?", true, (*gain).keepBelowIdle},
	{Evidence, "was the host's work recorded?", true, (*gain).boundUnseen},
	{Physics, "who fills the page-locked memory?", true, (*gain).boundFilling},
	{Evidence, "does the file show what repeats?", true, (*gain).checkRepeats},
	{Program, "is it waiting that limits the steps?", true, (*gain).checkWaits},
}

// askGates returns the first gate that refuses a change, and why.
func (g *gain) askGates() (by Gate, why string) {
	for _, gate := range gates {
		if gate.replays && g.trace == nil {
			continue
		}
		if why := gate.refuses(g); why != "" {
			return gate.gate, why
		}
	}
	return "", ""
}

func (g *gain) checkProgram() string {
	return g.verdict.Grounds.RefuseAny(g.fix.Changes)
}

func (g *gain) checkUnit() string { return g.verdict.Grounds.LacksAnyUnit(g.fix.Changes) }

func (g *gain) checkLimit() string { return g.refuses(*g.fix) }

// first is the setting that a change is about; "" of work that no setting moves.
func (g *gain) first() stoker.Setting {
	if len(g.fix.Changes) == 0 {
		return ""
	}
	return g.fix.Changes[0].Setting
}

// changes reports whether a change is about one of some settings.
func (g *gain) changes(settings []stoker.Setting) bool { return slices.Contains(settings, g.first()) }

// ofModel are settings of a model as a whole: how it computes, and how much at a time.
var ofModel = []stoker.Setting{
	stoker.Precision, stoker.TF32, stoker.Compile, stoker.CUDAGraphs, stoker.BatchSize, stoker.FusedOptimizer,
}

// leastKinds is how many kinds of kernels a model has at least, if no steps repeat. [J] A layer has a product, a bias
// or an activation, a norm or a sum, and something that moves data; the benchmark of an operator has one or two.
const leastKinds = 5

// checkTrial refuses settings of a model for a file that measures an operator, or that holds little but a start.
func (g *gain) checkTrial() string {
	kernels, kinds, steps := g.verdict.Grounds.Kernels, g.verdict.Grounds.Kinds, len(g.costs.Window.Steps)
	if steps < fewRepeats && 0 < kernels && kernels < leastPass && g.changes(ofLaunches) {
		return fmt.Sprintf("%s in the file, and none of its steps is known to come again: a start or a trial looks so",
			quantity.Many(kernels, "kernel"))
	}
	if g.run.Facts.StepsFrom == recording.OneRun && g.changes(ofLaunches) {
		return "the file holds one run of a graph: whether others take as long is not known"
	}
	loops := g.verdict.Grounds.Program == diagnose.Training || steps > fewRepeats
	if loops || kinds == 0 || kinds >= leastKinds || !g.changes(ofModel) {
		return ""
	}
	return fmt.Sprintf("all that runs is %s of %s: this measures an operator, and the setting is one of a model",
		quantity.Many(kernels, "kernel"), quantity.Many(kinds, "kind"))
}

// mostlyBusy is the share of the window in kernels from which to compute faster is what helps. [J]
const mostlyBusy = 2.0 / 3

// aims say which class a setting is for, and which share of the window kernels take at least. A value
// of the setting comes first.
var aims = []struct {
	setting  stoker.Setting
	value    any // nil is any
	classes  []diagnose.Class
	busy     bool // kernels have to run most of the window; of launch-bound it is not asked
	shortens string
}{
	{stoker.Precision, nil, []diagnose.Class{diagnose.GPUBound}, true, "kernels"},
	{stoker.TF32, nil, []diagnose.Class{diagnose.GPUBound}, true, "kernels"},
	{stoker.Compile, "default", []diagnose.Class{diagnose.GPUBound, diagnose.LaunchBound}, true, "kernels"},
	{stoker.Compile, nil, []diagnose.Class{diagnose.LaunchBound}, false, "launches"},
	{stoker.CUDAGraphs, nil, []diagnose.Class{diagnose.LaunchBound}, false, "launches"},
	{stoker.BatchSize, nil, []diagnose.Class{diagnose.LaunchBound}, false, "launches"},
}

// checkAim refuses what shortens a part of the steps that does not limit them.
func (g *gain) checkAim() string {
	if len(g.fix.Changes) == 0 {
		return ""
	}
	class, kernels := g.verdict.Class, g.verdict.Shares.Kernel
	for _, aim := range aims {
		if aim.setting != g.first() || aim.value != nil && aim.value != g.fix.Changes[0].To {
			continue
		}
		switch {
		case class == diagnose.Unknown:
			return "what limits the steps is not known"
		case g.verdict.Paced && aim.shortens == "launches":
			return "the device is busy, and launching takes the host as long: what fewer launches alone gain is not known"
		case !slices.ContainsFunc(aim.classes, class.Is):
			return fmt.Sprintf("this is %s: what the verdict names comes before %s", withoutKind(class), aim.shortens)
		case aim.busy && class != diagnose.LaunchBound && kernels < mostlyBusy:
			return fmt.Sprintf("it shortens %s, and they run %s of the window: less than %s", aim.shortens,
				quantity.Percent(kernels), quantity.Percent(mostlyBusy))
		}
		return ""
	}
	if g.changes(ofPinning) && class != diagnose.TransferBound && g.judgedLoader() == nil {
		if !g.pins() {
			return unseenNext
		}
		return "no loader fills buffers here: to make and fill a page-locked one may take as long as is won"
	}
	return ""
}

// withoutKind is the class of a device that is the limit, whichever kind of its work takes most; else the class itself.
func withoutKind(class diagnose.Class) diagnose.Class {
	if class.Is(diagnose.GPUBound) {
		return diagnose.GPUBound
	}
	return class
}

// unseenNext is the doubt about copies from page-locked memory if no loader fills it.
const unseenNext = "no loader is in the file: whether the next data are there before a step ends is not known"

// pins reports whether memory is to be page-locked that is not yet.
func (g *gain) pins() bool { return g.changes([]stoker.Setting{stoker.PinMemory}) }

// ofPinning are settings that need page-locked memory.
var ofPinning = []stoker.Setting{stoker.PinMemory, stoker.NonBlocking, stoker.SideStream}

// checkDone refuses what the file shows to be done.
func (g *gain) checkDone() string {
	switch made := g.verdict.Grounds.Made; {
	case !g.changes([]stoker.Setting{stoker.Compile, stoker.CUDAGraphs}):
	case made.Graphs:
		return "graphs launch half of the work already"
	case made.Fused && g.fix.Changes[0].To == "default":
		return "the file holds kernels that a compiler fused"
	}
	return ""
}

// mostLost is the share of a file's device work without a right time from which it carries no
// gain. [J] A twentieth is what a gain must reach to be spoken of.
const mostLost = 0.05

func (g *gain) checkDamage() string {
	if lost := g.run.Facts.WorkLost; lost > mostLost {
		return fmt.Sprintf("%s of the device's work has no right time in the file: what waits for what is not known",
			quantity.Percent(lost))
	}
	return ""
}

// ofDevice are settings whose worth the device's own work tells, exchanges with it: what launched it matters little.
var ofDevice = []stoker.Setting{stoker.Precision, stoker.TF32, stoker.Device, stoker.Accumulation}

func (g *gain) checkLinks() string {
	if len(g.fix.Changes) == 0 || g.changes(ofDevice) {
		return "" // the host's own work was seen
	}
	if lost := g.shareOf(idle.Unlinked); diagnose.HidesHost(lost, g.verdict.Idle) {
		return fmt.Sprintf("%s of the window passes before work that the file links to no launch: what the host did "+
			"for it is not known", quantity.Percent(lost))
	}
	return ""
}

// shareOf is the share of the window that is idle for a cause.
func (g *gain) shareOf(cause idle.Cause) float64 {
	for _, c := range g.verdict.Causes {
		if c.Cause == cause.String() {
			return c.Share
		}
	}
	return 0
}

func (g *gain) checkQueue() string {
	if g.changes(ofDevice) {
		return ""
	}
	if waits := g.shareOf(idle.DeviceWait); diagnose.HoldsQueue(waits, g.verdict.Idle) {
		return fmt.Sprintf("launched work waits %s of the window on an idle device, and no reason is in the file: "+
			"less of it, or an earlier launch, may change nothing", quantity.Percent(waits))
	}
	return ""
}

// mostAwaited is the share of the window in which nothing but collectives run, or are waited for, from which the
// limit is another rank, or the link, and not what this rank does. [J]
const mostAwaited = 0.5

func (g *gain) checkRank() string {
	alone := g.verdict.Shares.Communication + g.shareOf(idle.Communication)
	switch {
	case g.first() == stoker.SyncEvery && g.verdict.Class == diagnose.NetworkBound && len(g.run.Facts.Processes) > 1:
		return "the exchange between ranks is the limit, and what waits before it may be what is exchanged"
	case len(g.run.Facts.Processes) != 1 || g.run.Facts.Processes[0].World <= 1 || g.changes(ofExchange):
	case alone > mostAwaited || g.verdict.Class == diagnose.NetworkBound:
		return fmt.Sprintf("nothing but collectives run, or are waited for, %s of the window, and the other ranks have no file here: what "+
			"this one does sooner it may only wait for longer", quantity.Percent(alone))
	case g.first() == stoker.BatchSize && g.verdict.Grounds.ExchangesSamples():
		return "ranks exchange more with a larger batch, and what that takes one rank's file does not tell"
	}
	return ""
}

// ofExchange are settings that change what ranks exchange.
var ofExchange = []stoker.Setting{stoker.Accumulation, stoker.BucketMB}

// checkHostWork refuses to move the host's work if something else is the limit, if the work is to launch the device's,
// and if it comes once: a first call, one gap of the only step, or behind all kernels.
func (g *gain) checkHostWork() string {
	if g.fix.Name != Overlap {
		return ""
	}
	class, work, rate := g.verdict.Class, g.verdict.Grounds.HostWork, g.frameRate()
	switch {
	case class != "" && class != diagnose.Unknown && !class.Is(diagnose.CPUBound):
		return fmt.Sprintf("this is %s: what the verdict names comes first", class)
	case work.Keeps:
		return "most of the long gaps allocate or free memory: that comes first, and cannot be done ahead"
	case work.Before:
		return "a step that is left out takes longer than those that are judged, most of it to allocate or free memory: that " +
			"comes first"
	case work.Launches():
		return fmt.Sprintf("most of it is %s, which launches the device's work: it cannot run beside it", work.In)
	case rate > 0:
		return fmt.Sprintf("a step comes every %s, %.0f a second, and the host does nothing that was recorded between: a "+
			"program that keeps time, as for frames of a video, looks so", quantity.AboutSeconds(1/rate), rate)
	case work.Last:
		return "no kernel comes behind the longest gap: nothing of the device's work waits for it"
	case diagnose.IsBare(g.verdict.Grounds.Framework) && g.verdict.Grounds.Traffic.Read && !work.First:
		return "the host reads what the device computed, and may need it for the work that is next"
	case work.Once:
		return "one gap of the only step has most of it: whether it comes again is not known"
	case work.IsFirstCall():
		return fmt.Sprintf("%s takes long before the first kernel: a first call does, and it comes once", work.In)
	}
	return ""
}

// frameRates are how many frames of a video or a display come a second. A program without a framework keeps one of them
// if the median of its steps is within half a per cent of it. [J]
var frameRates = []float64{24, 25, 30, 50, 60, 120}

const (
	sameRate   = 0.005
	enoughRate = 20 // steps
)

// frameRate returns the rate that a program's steps keep while its host does nothing that was recorded; 0 if none.
func (g *gain) frameRate() float64 {
	steps := g.costs.Window.Steps
	if !diagnose.IsBare(g.verdict.Grounds.Framework) || len(steps) < enoughRate ||
		g.shareOf(idle.Unrecorded) < unseenHost*g.verdict.Idle {
		return 0
	}
	periods := make([]float64, len(steps))
	for i, s := range steps {
		periods[i] = s.Period
	}
	median := stat.Median(periods)
	for _, rate := range frameRates {
		if math.Abs(median*rate-1) < sameRate {
			return rate
		}
	}
	return 0
}

// checkBeside refuses to move the host's work next to the device's if a file holds a kernel or two: one has
// to end before the host continues, or the host before it begins. It also does so if no steps repeat, nothing
// trains and the file names no line of Python: compilation and first calls look the same, and come once.
func (g *gain) checkBeside() string {
	kernels, repeats := g.verdict.Grounds.Kernels, len(g.costs.Window.Steps) > fewRepeats
	switch {
	case g.fix.Name != Overlap || kernels == 0:
		return ""
	case kernels < diagnose.FewWorks:
		return fmt.Sprintf("only %s in the file: nothing else shows what the device could compute meanwhile",
			quantity.Many(kernels, "kernel"))
	case !repeats && g.verdict.Grounds.Program != diagnose.Training && !g.isOwnLine():
		return g.describeSteps() + ": what the host does may be compilation, loading or a first call, which comes once"
	}
	return ""
}

// isOwnLine reports whether the host's work is on a line of Python that the file names.
func (g *gain) isOwnLine() bool {
	return slices.ContainsFunc(g.verdict.Findings, func(f diagnose.Finding) bool {
		return f.Name == diagnose.FindingHostWork && strings.Contains(f.Source, ".py(")
	})
}

// mostReads is how often a step asks the device for a value that it only shows. [J] A loss and one metric. A program
// that asks for more values uses some of them to decide what comes next.
const mostReads = 2

// checkReads refuses to wait less often where the steps of a framework ask for several values: some decide what
// comes next.
func (g *gain) checkReads() string {
	reads := g.verdict.Grounds.Reads
	if g.first() != stoker.SyncEvery || diagnose.IsBare(g.verdict.Grounds.Framework) || reads <= mostReads {
		return ""
	}
	return fmt.Sprintf("a step asks the device for values %s times: some of them may decide what the program does next",
		quantity.AboutMany(reads))
}

// mostOff is how far the replay without a change may be off the recording. [J] Four times of what makes
// gains an upper bound.
const mostOff = 0.2

// sameStep is how far the replay's step may be from that of the judged window. [J]
const sameStep = 0.1

func (g *gain) checkSteps() string {
	recorded, off := g.check.Mean, g.check.Off()
	if !(g.check.Recorded > 0) || !(recorded > 0) {
		return "the steps have no length that could get shorter"
	}
	if math.Abs(off) > mostOff {
		return fmt.Sprintf("the replay without a change is %s off the recording: something that it needs is not in "+
			"the file", quantity.Percent(math.Abs(off)))
	}
	if step := g.costs.Step; g.verdict.HasSteps && math.Abs(recorded/step-1) > sameStep && g.lead() == 0 {
		return fmt.Sprintf("the replay plays steps of %s, and those that are judged take %s", quantity.AboutSeconds(recorded),
			quantity.AboutSeconds(step))
	}
	return ""
}

// lead is the part of the only replayed step that is not judged: the program's start before the
// device's first work. A change of the input may shorten it, any other one does not; 0 if that is not so.
func (g *gain) lead() float64 {
	ofStart := g.verdict.HasSteps && len(g.costs.Window.Steps) == 1 && g.check.Mean > g.costs.Step &&
		len(g.run.Facts.Processes) == 1 // of several a replay plays all
	if !ofStart || g.changes(ofInput) {
		return 0
	}
	return g.check.Mean - g.costs.Step
}

// checkRoom refuses what a link or a stream has no room for.
func (g *gain) checkRoom() string {
	floor := g.trace.Floor(g.edit)
	most := max(1, g.edit.Batch) * g.check.Recorded / floor.Seconds
	if most >= leastGain || floor.On == replay.NoResource {
		return ""
	}
	if why := g.checkWaits(); why != "" { // the window's share of kernels is another than the replayed steps'
		return why
	}
	what := map[replay.Resource]string{
		replay.Stream:     "kernels of one stream",
		replay.AllStreams: "kernels that never ran side by side in the file",
		replay.LinkDown:   "copies to the device, one after the other at the link's rate,",
		replay.LinkUp:     "copies to the host, one after the other at the link's rate,",
		replay.BothLinks:  "copies of both directions, which never ran side by side in the file,",
	}[floor.On]
	return fmt.Sprintf("%s take %s of a step: at most %s", what, quantity.Percent(floor.Seconds/g.check.Recorded),
		quantity.AboutRatio(most))
}

// mostLate is the share of the window in which work is late for no recorded reason, from
// which that is why a change of the host gains nothing. [J]
const mostLate = 0.05

func (g *gain) checkDelays() string {
	late := g.trace.LateShare()
	if late < mostLate || g.isLikely() {
		return ""
	}
	return fmt.Sprintf("work starts late after its launch, %s of the time in all, and no reason is in the file: an earlier "+
		"launch may not help", quantity.Percent(late))
}

// hides reports whether an edit does no more than take idle time away: the device's work
// stays. The recorder makes idle time that no other run has.
func hides(e replay.Edit) bool {
	return e == replay.Edit{
		Workers: e.Workers, Times: e.Times, Prefetch: e.Prefetch, Cores: e.Cores, NoLoading: e.NoLoading,
		SyncEvery: e.SyncEvery, Graphs: e.Graphs, NoAllocator: e.NoAllocator, NoCollector: e.NoCollector,
	}
}

// keepBelowIdle keeps what only takes idle time away below what there is of it.
func (g *gain) keepBelowIdle() string {
	if g.play(); !g.played || !(g.verdict.Idle >= 0) {
		return ""
	}
	s, real := &g.fix.Forecast.Speedup, 1-g.verdict.Recorder
	if g.edit.Graphs { // most of the saved time is the host's between launches, the recorder's among it
		s.Low, s.Point, s.High = max(1, real*s.Low), max(1, real*s.Point), max(1, real*s.High)
	}
	if !hides(g.edit) {
		return ""
	}
	most := real / max(1-g.verdict.Idle, 1e-3)
	s.Low, s.High = min(s.Low, most), min(s.High, most)
	if s.Point > most {
		s.Point = most
	}
	return ""
}

// boundUnseen bounds a gain from idle time in which the host was not recorded.
func (g *gain) boundUnseen() string {
	if g.play(); g.played {
		g.bound(g.fix)
	}
	return ""
}

// boundFilling leaves only the upper end of a gain from page-locked memory if no loader fills it: the program then
// has to write its data there itself, which may take as long as a pageable copy, or sooner than it does.
func (g *gain) boundFilling() string {
	if g.play(); g.played && g.changes(ofPinning) && g.judgedLoader() == nil {
		g.fix.Forecast.Speedup = stoker.Interval{Low: 1, Point: math.NaN(), High: g.fix.Forecast.Speedup.High}
		g.fix.Mind = "no loader fills the buffers here: if the program first copies its data to page-locked memory, " +
			"that may take as long as is won"
		if !g.pins() {
			g.fix.Mind = unseenNext
		}
	}
	return ""
}

// fewRepeats is the number of steps up to which a file shows nothing that repeats. [J]
const fewRepeats = 2

// leastPass is how many kernels one pass of a model launches at least. [J] A program that only starts launches
// tens of them; a small residual network has 80.
const leastPass = 50

// ofLaunches are settings by which the host launches less for each sample.
var ofLaunches = []stoker.Setting{stoker.Compile, stoker.CUDAGraphs, stoker.BatchSize}

// checkRepeats refuses, for a file that shows no steps, what only steps can show: a program that does not train may
// wait for results that it needs at once, and memory that a first pass allocates is there for the next one.
func (g *gain) checkRepeats() string {
	switch {
	case len(g.costs.Window.Steps) > fewRepeats:
	case g.changes(ofPinning) && g.lead() > 0 && !g.run.Facts.MarksSteps():
		return g.describeSteps() + ": whether such copies come again is not known"
	case g.edit.SyncEvery > 0 && !g.verdict.Grounds.ReadsLoss():
		return g.describeSteps() + ": whether the program needs what it waits for at once is not known"
	case g.edit.NoAllocator && g.verdict.Grounds.Made.Frees > 0:
		return g.describeSteps() + ": whether memory is freed and allocated in later steps as well is not known"
	case g.edit.NoAllocator:
		return g.describeSteps() + ": a first pass allocates what later ones reuse"
	}
	return ""
}

// checkWaits refuses to wait less often for a device that is the limit.
func (g *gain) checkWaits() string {
	if g.first() != stoker.SyncEvery || !g.verdict.Class.Is(diagnose.GPUBound) {
		return ""
	}
	return "waits are not the limit: this is gpu-bound"
}

// describeSteps says how few of a program's steps are judged: the file may hold others, as a first one.
func (g *gain) describeSteps() string {
	n := len(g.costs.Window.Steps)
	if n == 0 || !g.run.Facts.MarksSteps() {
		return "the file marks no steps"
	}
	return "only " + quantity.Many(n, "step") + quantity.Ending(n, " is judged", " are judged")
}

// isLikely reports whether the likely case gains enough for the worst and the best to be played.
func (g *gain) isLikely() bool {
	if g.likely == 0 {
		g.likely = max(1, g.withoutLead(g.trace.Likely(g.edit)))
	}
	return g.likely >= leastPlayed || g.check.Bounds()
}

// play makes the forecast, once, if there may be a gain.
func (g *gain) play() {
	if g.played || !g.isLikely() {
		return
	}
	g.fix.Forecast, g.played = g.trace.Forecast(g.edit), true
	if lead := g.lead(); lead > 0 {
		g.takeOff(lead)
	}
	g.keepToExchange()
	g.fix.Notes = append(g.fix.Notes, g.fix.Forecast.Notes...)
}

// keepToExchange keeps the bound of exchanges that come more seldom to the share that the verdict gives them, with the
// optimizer's steps: a replay also takes away what a lone rank waits for another one's start.
func (g *gain) keepToExchange() {
	at := slices.IndexFunc(g.verdict.Findings, func(f diagnose.Finding) bool {
		return f.Name == diagnose.FindingExposedCommunication
	})
	if at < 0 || g.edit.Accumulate <= 1 || !g.trace.Lone() {
		return
	}
	left, w := 1-1/float64(g.edit.Accumulate), g.costs.Window
	most := atRemoval(left * (g.verdict.Findings[at].Share + g.trace.UpdateShare(w.Start, w.End)))
	if s := &g.fix.Forecast.Speedup; most < s.High {
		*s = stoker.Interval{Low: min(s.Low, most), Point: math.NaN(), High: most}
	}
}

// withoutLead is a gain of the judged part of a replayed step alone.
func (g *gain) withoutLead(likely float64) float64 {
	lead := g.lead()
	if lead <= 0 {
		return likely
	}
	batches := max(1, g.edit.Batch)
	return batches * g.costs.Step / max(batches*g.check.Mean/likely-lead, g.trace.Floor(g.edit).Seconds)
}

// takeOff takes the time that is not judged off a forecast's step: only the rest gets shorter.
func (g *gain) takeOff(lead float64) {
	f, floor := &g.fix.Forecast, g.trace.Floor(g.edit).Seconds
	for _, end := range []*float64{&f.Step.Low, &f.Step.Point, &f.Step.High} {
		*end = max(*end-lead, floor)
	}
	f.Bound, f.Next = "", "" // of a path that counts that time
	all := max(1, g.edit.Batch) * g.costs.Step
	point := all / f.Step.Point
	if math.IsNaN(f.Speedup.Point) { // only bounded
		point = math.NaN()
	}
	f.Speedup = stoker.Interval{Low: all / f.Step.High, Point: point, High: all / f.Step.Low}
}

// gainOf is a candidate before the gates.
func (e evidence) gainOf(t *replay.Trace, c candidate) (*gain, bool) {
	edit, unknown := replay.EditOf(c.changes)
	if len(unknown) > 0 && unknown[0] == c.changes[0].Setting {
		return nil, false
	}
	fix := &Fix{
		Name: c.name(), Title: c.title, Changes: c.changes, Effort: c.effort, Risk: c.risk,
		Untested: isUntested(c.changes), Notes: slices.Clone(c.notes),
		Lossless: !e.verdict.Grounds.ReadsLoss(),
	}
	if e.moreWorkers(*fix) || c.name() == string(stoker.NumWorkers) {
		fix.Mind = e.verdict.Grounds.UnknownData()
	}
	if edit.Graphs && e.verdict.Grounds.Grows {
		fix.Mind = "a cache that grows by aten::cat has another shape in each step, and a graph is captured for each: " +
			"first one of a fixed size (transformers: cache_implementation=\"static\")"
	}
	return &gain{evidence: e, trace: t, check: t.Check(), edit: edit, fix: fix}, true
}

// weigh returns a candidate's fix if it passes all gates and gains enough, else the gate that refused it.
func (g *gain) weigh() (Fix, *Rejected) {
	if by, why := g.askGates(); why != "" {
		return Fix{}, &Rejected{Name: g.fix.Name, Why: why, Gate: by}
	}
	if !g.isLikely() {
		return Fix{}, &Rejected{
			Name: g.fix.Name, Why: fmt.Sprintf("no measurable gain (%s in the replay)", quantity.AboutRatio(g.likely)),
		}
	}
	if !g.worthIt(g.fix.Forecast) && !boundOnly(*g.fix) {
		return Fix{}, &Rejected{Name: g.fix.Name, Why: notWorth(g.fix.Forecast)}
	}
	g.settleStep()
	return *g.fix, nil
}

// settleStep makes the forecast step the judged one over the gain: gates may have lowered the gain, and the replay may
// play the median where the verdict is about the mean.
func (g *gain) settleStep() {
	s, now := g.fix.Forecast.Speedup, g.check.Recorded
	if g.verdict.HasSteps {
		now = g.costs.Step
	}
	if now *= max(1, g.edit.Batch); s.Known() && g.fix.Forecast.Step.Known() && now > 0 {
		g.fix.Forecast.Step = stoker.Interval{Low: now / s.High, Point: now / s.Point, High: now / s.Low}
	}
}
