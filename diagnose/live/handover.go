package live

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// How many tensors, or objects of Python, a batch has at least that takes long to take over for their number. [J]
// With fewer, the loop is there because its workers are too busy to answer.
const (
	manyTensors = 16
	manyObjects = 256
)

// askHandOver is whether the launching thread takes batches over while it is waiting for them.
func (l filler) askHandOver() diagnose.Quantity {
	taken, all := l.measureInLoader(diagnose.HandOver)
	d := l.run.FindLoader(l.Costs.Window.PID, l.Costs.Window.Loader)
	if piped, takes, waits := l.measureReceiving(); d != nil && l.Costs.Workers > 0 && l.LoopLines.Looks >= fewLooks &&
		d.BatchBytes >= largeBatch && piped >= leastPiped*waits {
		share := takes / waits
		return diagnose.AskShare("Is the launching thread taking batches over while it waits for them?", share,
			diagnose.TakesBatchOver, "").
			WithEvidence(share, "ratio", diagnose.SignalPiped,
				"stack samples of the launching thread find it reading a batch from a worker's pipe, or unpickling it, %s of the "+
					"time that it waits for one: a tensor comes in shared memory, and the %s of this batch come as NumPy arrays",
				quantity.Percent(share), quantity.AboutBytes(d.BatchBytes))
	}
	if d == nil || d.Tensors < manyTensors && d.Objects < manyObjects || l.Costs.Workers == 0 ||
		!(l.LoopLines.Looks >= fewLooks) || !(taken > 0) {
		return diagnose.Quantity{}
	}
	share := taken / all
	q := diagnose.AskShare("Is the launching thread taking batches over while it waits for them?", share,
		diagnose.TakesBatchOver, "").
		WithEvidence(share, "ratio", string(recording.FetchStack),
			"stack samples of the launching thread find it taking a batch over from a worker %s of the time that it waits "+
				"for one",
			quantity.Percent(share))
	if d.Tensors >= manyTensors {
		return q.WithEvidence(float64(d.Tensors), "tensors", "batch.tensors",
			"a batch has %s, and each is handed over by itself", quantity.Many(d.Tensors, "tensor"))
	}
	return q.WithEvidence(float64(d.Objects), "objects", "batch.objects",
		"a batch has %s objects of Python or more beside its tensors: they are pickled by a worker and made again here, one "+
			"by one", quantity.About(float64(d.Objects)))
}

// A batch that comes through a pipe. [J] The message of a tensor in shared memory has less than a kilobyte, and no
// sample finds the thread reading it.
const (
	largeBatch = 1e6 // bytes
	leastPiped = 0.2 // share of the launching thread's time in its loader
)

// measureReceiving returns how long the launching thread copies what a worker writes into a pipe, how long it takes
// batches over in all, and how long it is in its loader.
func (l filler) measureReceiving() (piped, takes, waits float64) {
	stacks, _ := l.run.FetchStacks(l.From, l.To, recording.Loading{PID: l.Costs.Window.PID, Outside: true})
	for _, s := range stacks {
		if !slices.ContainsFunc(s.Places, isLoader) {
			continue
		}
		waits += s.Seconds
		if kindInLoader(s) != diagnose.HandOver {
			continue
		}
		takes += s.Seconds
		last := s.Places[len(s.Places)-1]
		if !s.Asleep && last.File == "multiprocessing/connection.py" && strings.HasSuffix(last.Function, "_recv") {
			piped += s.Seconds
		}
	}
	return piped, takes, waits
}

// measureInLoader returns how long the launching thread does work of a kind in its loader, and how long it is there.
func (l filler) measureInLoader(kind diagnose.Kind) (its, all float64) {
	for _, line := range l.LoopLines.Lines {
		if slices.Contains(diagnose.OfLoader, line.Kind) {
			all += line.Seconds
		}
		if line.Kind == kind {
			its += line.Seconds
		}
	}
	return its, all
}

// askSampler is whether the program's sampler draws indices in the launching thread, while workers and device wait for
// them.
func (l filler) askSampler() diagnose.Quantity {
	drawn, all := l.measureInLoader(diagnose.Sampling)
	for _, line := range l.LoopLines.Lines {
		if line.Kind == diagnose.Sampling && line.Own.File == "" { // of a library, which may do anything there
			drawn -= line.Seconds
		}
	}
	share := drawn / all
	if l.Costs.Workers == 0 || !(l.LoopLines.Looks >= fewLooks) || !(share > diagnose.TakesBatchOver.No) {
		return diagnose.Quantity{}
	}
	return diagnose.AskShare("Does the sampler draw indices in the launching thread while that waits for a batch?", share,
		diagnose.TakesBatchOver, "").
		WithEvidence(share, "ratio", diagnose.SignalSampler,
			"stack samples of the launching thread find it in the loader's sampler %s of the time that it waits for a batch",
			quantity.Percent(share))
}
