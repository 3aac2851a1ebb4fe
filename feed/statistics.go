package feed

import (
	"sync/atomic"
	"time"
)

// Statistics counts what a loader does, for its recording. CurrentCounters reads it.
type Statistics struct {
	batches, samples, bad, inexact, faults atomic.Int64
	failed                                 atomic.Int64
	read, decode, transform                atomic.Int64 // nanoseconds
}

// Counters are sums since the loader was opened.
type Counters struct {
	Batches   int64         // filled
	Samples   int64         // in them
	Failed    int64         // batches that are an error
	Bad       int64         // samples found bad, each once
	Inexact   int64         // samples whose bytes may differ from Pillow's
	Faults    int64         // panics that were caught
	Read      time.Duration // of all threads
	Decode    time.Duration
	Transform time.Duration
}

// countBatch adds a finished batch to the counters.
func (s *Statistics) countBatch(f Filled) {
	if f.Err != nil {
		s.failed.Add(1)
		return
	}
	s.batches.Add(1)
	s.samples.Add(int64(f.Count))
	s.inexact.Add(int64(len(f.Inexact)))
	s.read.Add(int64(f.Stages.Read * 1e9))
	s.decode.Add(int64(f.Stages.Decode * 1e9))
	s.transform.Add(int64(f.Stages.Transform * 1e9))
}
