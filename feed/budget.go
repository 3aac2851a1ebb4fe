package feed

import (
	"fmt"
	"os"
	"sync"

	"github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/internal/cgroup"
)

// The memory of a daemon is one number: rings, scratch of the threads and large
// images together. It is checked before anything is allocated, so that too little
// memory is a sentence at the start and not a killed job after an hour.
type budget struct {
	total   int64
	threads int
	kept    int64 // of all threads: what they keep from sample to sample
	scratch int64 // shared: what large images take beyond that
	files   int64 // shared: what large files take beyond that
	marks   int64 // shared: where rows begin in files
	pixels  int   // of the largest image that fits

	mu   sync.Mutex
	free int64 // for rings
}

const (
	// keptFile and keptScratch are what a thread keeps for the next sample: a
	// photograph of 1.8 million pixels. ImageNet's are 0.2 million.
	keptFile    = 4 << 20
	keptScratch = 28 << 20
	// perPixel is what decoding and transforming take at most, in bytes: measured are
	// 15.6 for a CMYK JPEG, 11.3 for a PNG of 16-bit RGBA, 9.4 for a progressive
	// JPEG of 4:4:4, 2.4 for a usual one.
	perPixel = 16
	// maxPixels: what Pillow refuses as a decompression bomb.
	maxPixels = 178956970
	// minScratch: below it ordinary photographs would not fit.
	minScratch = 64 << 20
	// runtimeBytes are the Go runtime's, and the lists of samples.
	runtimeBytes = 128 << 20
	// share of what is free that is taken where nothing is said: the trainer
	// grows too.
	share = 0.8
	// maxMarks are those of some 700,000 photographs of ImageNet's size.
	maxMarks = 256 << 20
	// maxFile: see source.Options.
	maxFile = 256e6
)

// scratchBytes is what decoding an image takes at most.
func scratchBytes(width, height int) int64 { return int64(width) * int64(height) * perPixel }

func newBudget(o PoolOptions) (*budget, error) {
	free, who := cgroup.FreeMemory(os.DirFS("/"), "self")
	b := &budget{total: o.Memory, threads: o.Threads, kept: int64(o.Threads) * (keptFile + keptScratch)}
	switch {
	case b.total == 0 && free == 0: // not known
		b.total = b.kept + runtimeBytes + maxPixels*perPixel*2
	case b.total == 0:
		b.total = int64(share * float64(free))
	case free > 0 && b.total > free:
		return nil, fmt.Errorf("a memory of %s is asked for, but %s: ask for less", mebibytes(b.total), who)
	}
	rest := b.total - b.kept - runtimeBytes
	b.marks = max(0, min(maxMarks, rest/64))
	rest -= b.marks
	b.scratch = min(maxPixels*perPixel-keptScratch, rest/2)
	b.files = min(maxFile-keptFile, rest/8)
	if b.scratch < minScratch {
		return nil, &source.Outage{Lasts: true, Err: fmt.Errorf(
			"%s of memory are too few for %d threads, which need %s (%s): use fewer threads or give more memory",
			mebibytes(b.total), o.Threads, mebibytes(b.kept+runtimeBytes+2*minScratch), who)}
	}
	b.pixels = int((b.scratch + keptScratch) / perPixel)
	b.free = rest - b.scratch - b.files
	return b, nil
}

// heapLimit is what Go's collector should keep below: all but the rings.
func (b *budget) heapLimit() int64 { return b.kept + b.scratch + b.files + b.marks + runtimeBytes }

// reserveMemory reserves memory of the rings; what says in words what for.
func (b *budget) reserveMemory(bytes int64, what string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.free {
		return &source.Outage{Lasts: true, Err: fmt.Errorf(
			"%s need %s, but of the memory of %s only %s are left: give a smaller depth or batch, or more memory",
			what, mebibytes(bytes), mebibytes(b.total), mebibytes(b.free))}
	}
	b.free -= bytes
	return nil
}

func (b *budget) releaseMemory(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += bytes
}

// maxFile is the largest file that there is room for.
func (p *Pool) maxFile() int64 { return p.budget.files + keptFile }

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// allowance is memory that threads share, first come, first served: so a large
// image gets its turn among many that are not so large.
type allowance struct {
	mu     sync.Mutex
	turn   sync.Cond
	total  int64
	free   int64
	next   uint64 // the number that the next to come gets
	served uint64 // numbers below it have been
}

func newAllowance(bytes int64) *allowance {
	a := &allowance{total: bytes, free: bytes}
	a.turn.L = &a.mu
	return a
}

// takeBytes waits until so many bytes are free, and returns what it took: no more than
// all of it, though the caps on files and pixels keep every sample below that.
func (a *allowance) takeBytes(bytes int64) int64 {
	bytes = min(bytes, a.total)
	if bytes <= 0 {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	number := a.next
	a.next++
	for number != a.served || a.free < bytes {
		a.turn.Wait()
	}
	a.free -= bytes
	a.served++
	a.turn.Broadcast()
	return bytes
}

func (a *allowance) giveBack(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free += bytes
	a.turn.Broadcast()
}
