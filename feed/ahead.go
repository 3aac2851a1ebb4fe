package feed

import "sync/atomic"

// Reading ahead: two threads that decode have two files in flight, but a cold disk
// or network storage is fast only with many. So the files of a batch are announced
// to the kernel when the batch is queued, by threads that do nothing else. With
// everything in the page cache that would cost 1 % of the CPU for nothing: hence
// one batch in probeEvery is not announced, and its time decides for the others.
const (
	readersAhead = 16   // where cold reading stops getting faster
	waitingAhead = 4096 // announcements; what comes on top is read unannounced
	probeEvery   = 32
	// slowRead is the mean time of a file above which it did not come from memory:
	// 27 us warm, 100 us and more cold, of a file of 100 KB.
	slowRead = 150e-6
)

// announcer is a file that will be read soon.
type announcer struct {
	loader *Loader
	file   int // index in the source
}

// reading is what a loader knows of its storage.
type reading struct {
	batches atomic.Int64
	slow    atomic.Bool
}

// announce has the kernel fetch the files of a batch, where that is worth it.
func (l *Loader) announce(b *batch) {
	b.probe = l.reading.batches.Add(1)%probeEvery == 1
	if b.probe || !l.reading.slow.Load() {
		return
	}
	for i := range b.slice.Count {
		select {
		case l.pool.ahead <- announcer{l, l.fileOf(b.pass.order.At(b.slice.First + i))}:
		default:
			return
		}
	}
}

// learnTime takes the time of a batch that was not announced.
func (r *reading) learnTime(b *batch, f Filled) {
	if b.probe && f.Count > 0 {
		r.slow.Store(f.Stages.Read/float64(f.Count) > slowRead)
	}
}

func (p *Pool) readAhead() {
	for {
		select {
		case <-p.ended:
			return
		case a := <-p.ahead:
			a.loader.source.Announce(a.file)
		}
	}
}
