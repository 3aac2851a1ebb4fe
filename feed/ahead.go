package feed

import "sync/atomic"

// Reading ahead. Two decoding threads keep only two files in flight, but a cold disk or network
// storage is fast only with many. So when a batch is queued, separate threads announce its
// files to the kernel. If all files are in the page cache, announcing would waste 1 % of the
// CPU. Therefore one batch in probeEvery is not announced, and its time decides whether the
// next ones are.
const (
	readersAhead = 16   // more readers do not make cold reading faster
	waitingAhead = 4096 // announcements in the queue; further files are read unannounced
	probeEvery   = 32
	// slowRead is the mean time for a file above which it did not come from memory. A file of
	// 100 KB takes 27 us warm, and 100 us or more cold.
	slowRead = 150e-6
)

// announcer is a file to be announced to the kernel, because it will be read soon.
type announcer struct {
	loader *Loader
	file   int // index in the source
}

// reading is what a loader has learnt about its storage.
type reading struct {
	batches atomic.Int64
	slow    atomic.Bool
}

// announce asks the kernel to fetch the files of a batch, if the storage is slow.
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

// readAhead announces queued files until the pool is closed.
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
