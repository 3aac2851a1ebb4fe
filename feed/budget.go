package feed

import (
	"fmt"
	"os"
	"sync"

	"github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/internal/cgroup"
)

// PoolOptions say what the loaders of a node may use. A zero field means the default.
type PoolOptions struct {
	Threads int   // default: the cores that may be used, less one where there are four or more
	Nice    int   // 1..19 below the process's own, default 1; see defaultNice
	Memory  int64 // bytes for rings, scratch and files together; default: most of the free memory
}

// budget divides the daemon's memory among rings, scratch of the threads and large images. It
// is checked before anything is allocated: too little memory is an error at the start instead
// of a killed job after an hour.
type budget struct {
	total   int64
	kept    int64 // what all threads keep from sample to sample
	scratch int64 // shared: what large images take beyond kept
	files   int64 // shared: what large files take beyond kept
	marks   int64 // shared: where rows begin in files
	pixels  int   // of the largest image that fits

	mu   sync.Mutex
	free int64 // for rings
}

const (
	// keptFile and keptScratch are what a thread keeps for the next sample, enough for a
	// photograph of 1.8 million pixels. ImageNet's have 0.2 million.
	keptFile    = 4 << 20
	keptScratch = 28 << 20
	// perPixel is what decoding and transforming take at most, in bytes. Measured: 15.6 for a
	// CMYK JPEG, 11.3 for a PNG of 16-bit RGBA, 9.4 for a progressive JPEG of 4:4:4, 2.4 for a
	// usual JPEG.
	perPixel = 16
	// maxPixels is the limit beyond which Pillow refuses a file as a decompression bomb.
	maxPixels = 178956970
	// minScratch: with less, ordinary photographs would not fit.
	minScratch = 64 << 20
	// runtimeBytes is for the Go runtime and the lists of samples.
	runtimeBytes = 128 << 20
	// share is the part of free memory that is taken by default. The trainer needs room to grow.
	share = 0.8
	// maxMarks holds the marks of some 700,000 photographs of ImageNet's size.
	maxMarks = 256 << 20
	// maxFile: see source.Options.
	maxFile = 256e6
)

// scratchBytes returns what decoding an image takes at most.
func scratchBytes(width, height int) int64 { return int64(width) * int64(height) * perPixel }

// newBudget divides the memory that the options ask for, or by default a share of the free memory.
// It fails if the threads would have too little.
func newBudget(o PoolOptions) (*budget, error) {
	free, who := cgroup.FreeMemory(os.DirFS("/"), "self")
	b := &budget{total: o.Memory, kept: int64(o.Threads) * (keptFile + keptScratch)}
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

// heapLimit returns the limit for Go's garbage collector: everything but the rings.
func (b *budget) heapLimit() int64 { return b.kept + b.scratch + b.files + b.marks + runtimeBytes }

// reserveMemory takes memory for rings. The text what says what it is for, and begins the
// error.
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

// releaseMemory returns memory that reserveMemory took.
func (b *budget) releaseMemory(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += bytes
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// allowance is memory that threads share, first come, first served. So a large image gets its
// turn even if smaller ones keep coming.
type allowance struct {
	mu     sync.Mutex
	turn   sync.Cond
	total  int64
	free   int64
	next   uint64 // the number for the next caller
	served uint64 // numbers below it have had their turn
}

func newAllowance(bytes int64) *allowance {
	a := &allowance{total: bytes, free: bytes}
	a.turn.L = &a.mu
	return a
}

// takeBytes blocks until the given number of bytes is free, and returns how many it took: at
// most the total, though the limits on files and pixels keep every sample below that.
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

// giveBack returns bytes that takeBytes took.
func (a *allowance) giveBack(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free += bytes
	a.turn.Broadcast()
}
