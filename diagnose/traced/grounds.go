package traced

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/recording"
)

// groundsOf are those of a trace's judged device.
func (t *filler) groundsOf(run *recording.Run) diagnose.Grounds {
	machine := hardware.MachineOf(t.gpu.Name)
	exchange, mixed := t.findExchange()
	return diagnose.Grounds{
		Program: t.findProgram(run.Facts), Framework: run.Facts.Software.Framework,
		Recorder: run.Facts.Software.Recorder, Record: t.recordWhat(run),
		Exchange: exchange, Mixed: mixed,
		OwnReduce: t.reducesItself(), FewSends: t.sendsFew(), HalfSends: t.sendsHalf(),
		Sharded: slices.ContainsFunc(t.t.Names, recording.ShardsWeights), Reach: machine.Link.Reach, Chip: t.chip,
		Joined: machine.GPU.NVLink.Value > 0, OneOwner: len(run.Facts.Processes) <= 1 && len(t.all.Devices) > 1,
		LateRank: t.describeAwaited(), Kernels: t.kernels.Count, Kinds: len(t.kernels.Totals), Made: t.findMade(),
		Serves: slices.ContainsFunc(t.t.Names, recording.ServerSign),
		Reads:  float64(t.waits.Hidden.Count) / t.countSteps(), Kind: otherKind(run),
		Updates: t.updatesAlone(), Shaped: t.shapedByData(), Grows: t.growsCache(t.findProgram(run.Facts)),
	}
}

// findMade is what the judged kernels' names and launches show to be done to them.
func (t *filler) findMade() diagnose.Made {
	w, graphs, works := &t.t.Device, 0, 0
	for i := range w.Start {
		if w.Device[i] != t.d.Index || w.Start[i] < t.d.From || w.Start[i] >= t.d.To {
			continue
		}
		works++
		if call := w.Call[i]; call >= 0 && recording.LaunchesGraph(t.t.Names[t.t.Host.Name[call]]) {
			graphs++
		}
	}
	allocations, frees, waits := t.countUncaptured()
	return diagnose.Made{
		XLA:         slices.ContainsFunc(t.t.Names, recording.LaunchesCluster),
		Allocations: allocations, Frees: frees, Waits: waits,
		Fused: slices.ContainsFunc(t.kernels.Totals, func(total idle.NameTotal) bool {
			return recording.FusedKernel(t.t.Names[total.Name])
		}),
		Graphs: 2*graphs >= max(1, works),
	}
}

// countUncaptured is how many calls of the judged window allocate or free memory, how many of them free it, and how
// many calls wait for the device.
func (t *filler) countUncaptured() (allocations, frees, waits int) {
	h := &t.t.Host
	first := sort.Search(len(h.Start), func(i int) bool { return h.Start[i] >= t.d.From })
	for i := first; i < len(h.Start) && h.Start[i] < t.d.To; i++ {
		switch name := t.t.Names[h.Name[i]]; {
		case h.Kind[i] != recording.Runtime:
		case recording.AllocatesMemory(name):
			allocations++
			if strings.Contains(name, "Free") {
				frees++
			}
		case recording.WaitsForDevice(name):
			waits++
		}
	}
	return allocations, frees, waits
}

// oftenShaped is the number of operators in a step, whose results are as long as the data tell, from which the step
// goes on by them. [J] A loss that masks its padding has one or two.
const oftenShaped = 10

// shapedByData reports whether steps read again and again how many results there are.
func (t *filler) shapedByData() bool {
	h, n := &t.t.Host, 0.0
	first := sort.Search(len(h.Start), func(i int) bool { return h.Start[i] >= t.d.From })
	for i := first; i < len(h.Start) && h.Start[i] < t.d.To; i++ {
		if h.Kind[i] == recording.Op && recording.DataShaped(t.t.Names[h.Name[i]]) {
			n++
		}
	}
	return n >= oftenShaped*t.countSteps()
}

// updatesAlone reports whether all operators of a trace run within steps of the optimizer.
func (t *filler) updatesAlone() bool {
	h, until, steps := &t.t.Host, int64(math.MinInt64), false
	for i, kind := range h.Kind {
		switch name := t.t.Names[h.Name[i]]; {
		case recording.OptimizerSpan(name):
			until, steps = max(until, h.End[i]), true
		case kind == recording.Op && h.Start[i] >= until:
			return false
		}
	}
	return steps
}

// otherKind is what PyTorch calls the device; "" of CUDA's and ROCm's, and if it is unknown.
func otherKind(run *recording.Run) string {
	if run.Facts.Model == nil {
		return ""
	}
	kind, _, _ := strings.Cut(run.Facts.Model.Device, ":")
	if kind == "cuda" || kind == "cpu" {
		return ""
	}
	return kind
}

// groundsOfHost are those of a trace without a device.
func (t *filler) groundsOfHost(run *recording.Run) diagnose.Grounds {
	s := run.Facts.Software
	return diagnose.Grounds{
		Program: t.findProgram(run.Facts), Framework: s.Framework, Recorder: s.Recorder,
		Record: diagnose.RecordWhat(diagnose.LacksDevice, s), Unlisted: len(run.Facts.GPUs) == 0,
		Serves: slices.ContainsFunc(t.t.Names, recording.ServerSign) ||
			slices.ContainsFunc(t.t.Names, recording.ServerOfCPU),
	}
}

// recordWhat says how to record what a verdict needs and this file lacks; "" if it lacks nothing.
func (t *filler) recordWhat(run *recording.Run) string {
	switch s := run.Facts.Software; {
	case t.isTrial(), t.d.Apart != "":
		return diagnose.RecordWhat(diagnose.LacksSteps, s)
	case t.hidesHost() && !t.hasHost():
		return diagnose.RecordWhat(diagnose.LacksCalls, s)
	case t.describeMissingRanks(run) != "":
		return diagnose.RecordWhat(diagnose.LacksRanks, s)
	}
	return ""
}

// hasHost reports whether operators and the calls of the runtime are in the file, of another device than ROCm's, whose
// older recorders do not link them.
func (t *filler) hasHost() bool {
	kinds := t.t.Host.Kind
	return slices.Contains(kinds, recording.Op) && slices.Contains(kinds, recording.Runtime) &&
		!slices.ContainsFunc(t.t.Names, func(name string) bool { return strings.HasPrefix(name, "hip") })
}

// findProgram is what a trace shows: training if any name is of a backward pass or an
// optimizer; inference if operators of a model were recorded and none is. A loop over a
// DataLoader may train without a sign of it.
func (t *filler) findProgram(f recording.Facts) diagnose.Program {
	if slices.ContainsFunc(t.t.Names, recording.Learns) {
		return diagnose.Training
	}
	computes, loads := false, false
	for i, name := range t.t.Names {
		if _, pass := recording.ServingPass(name); pass {
			return diagnose.Inference
		}
		loads = loads || recording.LoaderSpan(name)
		computes = computes || recording.TorchSign(name) && !isProfilerMark(name) &&
			slices.Contains(t.t.Host.Name, int32(i))
	}
	if computes && !loads {
		return diagnose.Inference
	}
	return diagnose.ProgramOf(f)
}

// isProfilerMark reports whether the profiler writes a name in every program.
func isProfilerMark(name string) bool {
	_, step := recording.StepSpan(name)
	return step || recording.LoaderSpan(name)
}

// findExchange is what most of the collectives' time in the window carries, and whether some of the rest carries
// gradients.
func (t *filler) findExchange() (most recording.Exchange, mixed bool) {
	time := map[recording.Exchange]int64{}
	for _, total := range t.kernels.Totals {
		if total.Family == idle.Exchange {
			time[recording.ExchangeOf(t.t.Names[total.Name])] += total.Time
		}
	}
	for _, e := range []recording.Exchange{recording.Gradients, recording.Activations, recording.Weights} {
		if time[e] > time[most] {
			most = e
		}
	}
	if most == recording.Gradients && slices.ContainsFunc(t.t.Names, recording.SplitsLayers) {
		// most all-reduces are of layers: two in each, and one of gradients in a step
		return recording.Activations, true
	}
	return most, most != recording.Gradients && time[recording.Gradients] > 0
}

// sendsFew reports whether a step has too few collectives for their number to cost time.
func (t *filler) sendsFew() bool {
	n, _ := t.sumExchanges()
	return n > 0 && float64(n)/t.countSteps() <= diagnose.ManyExchanges
}

// sumExchanges returns how many collectives there are, and their time, ns.
func (t *filler) sumExchanges() (count int, time int64) {
	for _, total := range t.kernels.Totals {
		if total.Family == idle.Exchange {
			count, time = count+total.Count, time+total.Time
		}
	}
	return count, time
}

// sendsHalf reports whether most of the time of collectives whose names tell what they add up is for 16 bit.
func (t *filler) sendsHalf() bool {
	half, all := int64(0), int64(0)
	for _, total := range t.kernels.Totals {
		if is, told := recording.SendsHalf(t.t.Names[total.Name]); told && total.Family == idle.Exchange {
			if all += total.Time; is {
				half += total.Time
			}
		}
	}
	return 2*half > all
}

// reducesItself reports whether the host's operators are in the file, and those of DistributedDataParallel are not.
func (t *filler) reducesItself() bool {
	return slices.Contains(t.t.Host.Kind, recording.Op) && !slices.ContainsFunc(t.t.Names, recording.ReducesBuckets)
}

// allocatesFromPool reports whether the program takes memory of the device from a pool of its driver.
func (t *filler) allocatesFromPool() bool {
	return slices.ContainsFunc(t.t.Names, func(name string) bool { return strings.Contains(name, "MallocAsync") })
}

// applyGrounds takes from a finding what its grounds refuse, with the words for it.
func (t *filler) applyGrounds(f diagnose.Finding) diagnose.Finding {
	// causes outside of the program do not depend on its framework
	if f.Name != diagnose.FindingDeviceWait || !t.waitsForOutside() {
		advice := f.Advice
		f = diagnose.Translate(f, t.grounds.Framework)
		if f.Name == diagnose.FindingHostWork && t.grounds.HostWork.Launches() {
			f.Advice = advice // no input is prepared there
		}
	}
	if f.Name == diagnose.FindingLaunchBound {
		f.Advice = t.grounds.FitLaunches(f.Advice)
	}
	kept := slices.DeleteFunc(slices.Clone(f.Settings),
		func(c stoker.Change) bool { return t.grounds.Refuse(c.Setting) != "" || t.grounds.LacksUnit(c) != "" })
	if len(kept) < len(f.Settings) {
		f.Settings = kept
		if f.Name == diagnose.FindingExposedCommunication {
			f.Advice = t.grounds.ExchangeAdvice()
		}
	}
	if f.Name == diagnose.FindingExplicitSync && t.grounds.Refuse(stoker.SyncEvery) != "" {
		f.Advice = "let the host read a step's results while the device computes the next step: two buffers in " +
			"turn, and an event for each (cudaEventRecord, cudaEventSynchronize)"
	}
	if f.Name == diagnose.FindingAllocator && diagnose.IsBare(t.grounds.Framework) && t.allocatesFromPool() {
		f.Advice = "allocate once before the loop. The program takes memory from a pool already, which keeps what is freed if " +
			"its release threshold is raised (cudaMemPoolAttrReleaseThreshold)"
	}
	if kind := t.grounds.Kind; kind != "" {
		f.Advice = strings.NewReplacer("torch.cuda.", "torch."+kind+".", `"cuda"`, `"`+kind+`"`,
			"cudaStreamWaitEvent and record_stream()", "events that one stream records and another waits for",
			"nvidia-smi, MPS, a second container", "a second container", "CUDA events", "events").Replace(f.Advice)
	}
	if f.Name == diagnose.FindingExposedCommunication && t.grounds.LateRank != "" {
		f.Settings, f.Advice = nil, t.grounds.ExchangeAdvice()
	} else if f.Name == diagnose.FindingExposedCommunication {
		f.Advice = t.grounds.FitExchange(f.Advice)
	}
	return t.grounds.KeepSamples(f)
}

// Each step of a decoder concatenates so often at least if its cache grows. [J] Two times for each layer, and one has
// twelve layers and more; what joins heads or images does it in a place or two.
const growths = 20

// leastGrowing is the number of steps from which a file shows that shapes change.
const leastGrowing = 3

// growsCache reports whether each step of a file that does not train concatenates as often as the layers of a decoder.
func (t *filler) growsCache(program diagnose.Program) bool {
	cat, n := int32(slices.Index(t.t.Names, "aten::cat")), 0
	if cat < 0 || len(t.d.Steps) < leastGrowing || program != diagnose.Inference {
		return false
	}
	for i, name := range t.t.Host.Name {
		if name == cat && t.t.Host.Start[i] >= t.d.From && t.t.Host.Start[i] < t.d.To {
			n++
		}
	}
	return n >= growths*len(t.d.Steps)
}
