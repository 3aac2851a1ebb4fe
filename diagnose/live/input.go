package live

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// fillInput takes what rules about input ask.
func (l filler) fillInput() {
	k := l.Costs
	l.InputShort = l.askInputShort()
	l.LaunchThreadLoads = l.askLaunchThreadLoads()
	l.WorkersLoad = diagnose.AskFact("Are there worker processes?", k.Workers > 0, diagnose.WorkersText(k)).
		WithEvidence(k.Cores-k.CoresUse, "cores", "tree.cpu", "%.1f of %.1f cores are free",
			max(0, k.Cores-k.CoresUse), l.countCores())
	l.WorkersLoad.Evidence = slices.Concat(l.WorkersLoad.Evidence, l.describeCoreRivals())
	l.WorkersSaturated = diagnose.AskShare("Do the workers always have a batch to prepare?", l.WorkersPreparing(),
		diagnose.WorkersAtWork, "")
	l.WorkersSaturated.Evidence = l.describeWorkers()
	l.TakesBatchesOver = l.askHandOver()
	l.SamplerDraws = l.askSampler()
	l.FewAreSlow = l.askFewSlow()
	l.LoadingWaitsForStorage = l.askStorage()
	l.LoadingLacksCores = l.askCoresFull()
	l.fillCoreHolders()
	l.LaunchingLacksCore = l.askLaunchingLacksCore()
	l.CoreEvidence = l.describeCoreRivals()
	l.Lines = l.findLines()
	l.FetchEvidence = slices.Concat(l.describeFetch(), l.LineEvidence())
	if l.Costs.Cluster != nil {
		l.fillCluster(l.Costs.Cluster)
	}
	switch l.LoaderIterated = len(l.run.Facts.Loaders) > 0; {
	case l.HasSteps && l.Costs.Other(l.run) != "":
		l.fillOtherInput()
	case l.HasSteps:
	case l.LoaderIterated || l.HookMissing && !l.loadsLittle():
		l.LaunchThreadAtWork = l.askLaunchThreadAtWork()
	default:
		l.fillUnfed()
	}
	if small := l.askSmallKernels(); small.Score > 0 {
		l.DeviceWaitsForLaunch = small
		l.yieldTo(small)
	}
}

// askInputShort is the question that every rule about input begins with.
func (l filler) askInputShort() diagnose.Quantity {
	switch {
	case !math.IsNaN(l.Stall):
		return diagnose.AskShare("Does the device wait for input, by its own clock?", l.Stall, diagnose.InputStall, "").
			WithEvidence(l.Stall, "ratio", "step.idle",
				"the device waits for input %s of the time (%s of a %s step, by the device's own clock)",
				quantity.Percent(l.Stall), quantity.AboutSeconds(l.Costs.Idle), quantity.AboutSeconds(l.Costs.Step))
	case l.OnlyRingKnown():
		return diagnose.AskShare("Does the trainer wait for batches (an upper bound of waiting for input)?",
			l.RingWait(), diagnose.TrainerAwaitsRing,
			"work that is queued on the device may cover a wait of the host").
			WithEvidence(l.RingWait(), "ratio", "step.wait",
				"the trainer waits for batches %s of the time, and its device may have had work meanwhile (stoker "+
					"observe tells)", quantity.Percent(l.RingWait())).
			WithEvidence(l.Costs.Feed.Full, "ratio", "feed.full", "the loader's ring is full %s of the time",
				quantity.Percent(l.Costs.Feed.Full))
	}
	idle := diagnose.IdleByMeter
	if l.loadersNeverRest() {
		idle = diagnose.IdleBehindBusyLoader
	}
	return diagnose.AskShare("Is the device idle (by "+l.NameMeter()+", an upper bound of waiting for input)?",
		l.MostStall(), idle, "the device's own clock is not known here").
		WithEvidence(l.Idle, "ratio", l.MeterSignal(),
			"no kernel runs %s of the time (by %s, and waiting for input is at most that)",
			quantity.Percent(l.Idle), l.NameMeter())
}

// loadersNeverRest reports whether every worker has a batch to prepare all the time: one that is
// ahead of the device would park, so what the device idles is for want of input.
func (l filler) loadersNeverRest() bool {
	return l.Costs.Workers > 0 && l.WorkersPreparing() >= neverRest
}

// neverRest is the share of the time at work from which workers are not ahead of the device.
const neverRest = 0.95

// askLaunchThreadLoads is whether the launching thread loads the batches.
func (l filler) askLaunchThreadLoads() diagnose.Quantity {
	k := l.Costs
	free := k.Cores - k.CoresUse + l.measureHelpers()
	q := diagnose.AskFact("Does the launching thread load by itself?", k.Workers == 0, diagnose.WorkersText(k)).
		WithEvidence(free, "cores", "tree.cpu", "%.1f of %.1f cores are free for workers", max(0, free),
			l.countCores())
	q.Evidence = slices.Concat(q.Evidence, l.describeCoreRivals())
	return q
}

// askLaunchThreadAtWork is whether the launching thread is at work all the time; a thread that
// spins for the device seems the same.
func (l filler) askLaunchThreadAtWork() diagnose.Quantity {
	if loading := l.measureLoading(); !math.IsNaN(loading) {
		return diagnose.AskShare("Does the launching thread prepare batches while the device is idle?",
			min(1, loading/l.Idle), diagnose.LoadsWhileIdle, "").
			WithEvidence(loading, "ratio", string(recording.FetchLooks),
				"no loader process exists, and stack samples find the launching thread in a loader's fetch %s of "+
					"the time", quantity.Percent(loading)).
			AddMeter(l.Case, l.Idle, "no kernel runs %s of the time", quantity.Percent(l.Idle))
	}
	states := l.run.Find(recording.ThreadState, measure.LaunchThread(l.run, l.Costs.Window.PID))
	busy := 1 - states.Share(l.From, l.To, recording.Parked, recording.Asleep)
	return diagnose.AskShare("Is the launching thread always at work?", busy, diagnose.LaunchThreadAtWork,
		"a thread that spins for the device looks the same").
		WithEvidence(busy, "ratio", "thread.state",
			"no loader process exists and the launching thread is at work %s of the time", quantity.Percent(busy)).
		AddMeter(l.Case, l.Idle, "no kernel runs %s of the time", quantity.Percent(l.Idle))
}

// measureLoading is the share of its time that the launching thread is in a loader's fetch, by samples of its
// stack; NaN if it was looked at too seldom.
func (l filler) measureLoading() float64 {
	pid := l.Costs.Window.PID
	_, within := l.run.FetchStacks(l.From, l.To, recording.Loading{PID: pid})
	_, outside := l.run.FetchStacks(l.From, l.To, recording.Loading{PID: pid, Outside: true})
	if outside == 0 || within+outside < fewLooks { // older recordings have no samples outside
		return math.NaN()
	}
	return within / (within + outside)
}

// loadsLittle reports whether no process loads, and the launching thread is seen to do something else while
// the device is idle.
func (l filler) loadsLittle() bool {
	return l.Costs.Workers == 0 && l.measureLoading() < diagnose.LoadsWhileIdle.Yes*l.Idle
}

// inputRests reports whether the device cannot be waiting for input, as far as that is seen from outside.
func (l filler) inputRests() bool {
	return l.loadsLittle() || l.Costs.Workers > 0 && l.WorkersPreparing() < diagnose.LoadsWhileIdle.Yes
}

func (l filler) describeWorkers() []diagnose.Evidence {
	if l.Costs.Feed != nil {
		return l.ThreadEvidence()
	}
	k := l.Costs
	busy := l.WorkersPreparing()
	if k.WithoutData() > 0 {
		return diagnose.AddEvidence(nil, busy, "ratio", string(recording.WorkersEnded),
			"only %s of %d workers had data to give, at work %s of the time", quantity.About(k.Giving), k.Workers,
			quantity.Percent(busy))
	}
	return diagnose.AddEvidence(nil, busy, "ratio", "thread.state", "%d worker%s at work %s of the time", k.Workers,
		quantity.Ending(k.Workers, " is", "s are"), quantity.Percent(busy))
}

// describeFetch says how long a batch takes to prepare and where that time goes, in per cent
// that add up to 100.
func (l filler) describeFetch() []diagnose.Evidence {
	k := l.Costs
	if k.Workers == 0 && k.Feed == nil && l.Grounds.Beside && k.Split != nil && !math.IsNaN(k.Fetch) {
		return diagnose.AddEvidence(nil, k.Fetch, "seconds", "fetch.wall",
			"preparing one batch takes the thread that asks for it, which is not the one that launches, %s: %s",
			quantity.AboutSeconds(k.Fetch), describeSplit(k.Split))
	}
	switch {
	case k.Feed != nil: // its threads tell the time by themselves
		return diagnose.AddEvidence(nil, coreDemand(k.Split), "ratio", "fetch.split", "that time goes into: %s",
			describeSplit(k.Split))
	case k.Split == nil && k.Workers == 0:
		return diagnose.AddEvidence(nil, k.Fetch, "seconds", "fetch.wall",
			"preparing one batch takes the launching thread %s%s, and the rest of the step takes %s",
			quantity.AboutSeconds(k.Fetch), diagnose.CoreShare(k), quantity.AboutSeconds(k.HostStep-k.Wait))
	case k.Split == nil:
		return diagnose.AddEvidence(nil, k.Fetch, "seconds", "fetch.wall", "preparing one batch takes a worker %s%s",
			quantity.AboutSeconds(k.Fetch), diagnose.CoreShare(k))
	case math.IsNaN(k.Fetch):
		return diagnose.AddEvidence(nil, coreDemand(k.Split), "ratio", "fetch.split", "a worker's time goes into: %s",
			describeSplit(k.Split))
	case k.Workers == 0:
		return diagnose.AddEvidence(nil, k.Fetch, "seconds", "fetch.wall",
			"preparing one batch takes the launching thread %s: %s. The rest of the step takes %s",
			quantity.AboutSeconds(k.Fetch), describeSplit(k.Split), quantity.AboutSeconds(k.HostStep-k.Wait))
	}
	return diagnose.AddEvidence(nil, k.Fetch, "seconds", "fetch.wall", "preparing one batch takes a worker %s: %s",
		quantity.AboutSeconds(k.Fetch), describeSplit(k.Split))
}

// coreDemand is the share of a fetch in which it wants a core; NaN unknown.
func coreDemand(s *measure.FetchSplit) float64 {
	if s == nil {
		return math.NaN()
	}
	return s.Wants()
}

// describeSplit names the parts of a fetch that are there.
func describeSplit(s *measure.FetchSplit) string {
	if s == nil {
		return "unknown"
	}
	var said []string
	names := [...]string{
		"on a core", "waiting for a core", "waiting for storage", "waiting for the network",
		"asleep otherwise (a timer, a lock, a pipe, another program)",
	}
	for i, part := range quantity.Hundred(s.Core, s.Queued, s.Storage, s.Network, s.Asleep) {
		if part > 0 {
			said = append(said, fmt.Sprintf("%d %% %s", part, names[i]))
		}
	}
	return strings.Join(said, ", ")
}

// fillOtherInput takes what rules may ask of a loop whose input is no DataLoader: how long it
// waited is known, and nothing of workers, settings or the cost of a batch.
func (l filler) fillOtherInput() {
	none := diagnose.Quantity{}
	l.LaunchThreadLoads, l.WorkersLoad, l.WorkersSaturated, l.FetchEvidence = none, none, none, nil
	l.OwnCodeDelaysDevice = diagnose.AskFact("Is the input something else than a DataLoader?", true,
		l.Costs.Other(l.run))
	l.OwnCodeDelaysDevice.Evidence = append(slices.Clone(l.InputShort.Evidence),
		diagnose.AddEvidence(nil, l.Costs.Wait, "seconds", "step.wait",
			"the loop waits %s of a %s step for its next batch, which no DataLoader prepares: how is unknown",
			quantity.AboutSeconds(l.Costs.Wait), quantity.AboutSeconds(l.Costs.HostStep))...)
}
