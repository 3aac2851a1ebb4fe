package decode

import (
	"fmt"
	"runtime"
	"time"
)

// The defaults of Limits.
const (
	defaultPixels = 178_956_970
	defaultScans  = 100
	defaultTime   = 2 * time.Second
	defaultMemory = 240 << 20
)

func (l Limits) pixels() int         { return or(l.Pixels, defaultPixels) }
func (l Limits) memory() int         { return or(l.Memory, defaultMemory) }
func (l Limits) scans() int          { return or(l.Scans, defaultScans) }
func (l Limits) time() time.Duration { return or(l.Time, defaultTime) }

func or[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// checkPixels refuses an image that is too large, before anything is allocated.
func (l Limits) checkPixels(width, height int) error {
	if width*height <= l.pixels() {
		return nil
	}
	return &Error{TooLarge, -1, fmt.Sprintf("an image of %d x %d pixels; at most %d are decoded", width, height, l.pixels())}
}

// checkMemory refuses an image that would need too many bytes while it is decoded.
func (l Limits) checkMemory(bytes int) error {
	if bytes <= l.memory() {
		return nil
	}
	return &Error{TooLarge, -1, fmt.Sprintf("decoding it would take %d MiB of memory; one image may take %d MiB", bytes>>20, l.memory()>>20)}
}

// stopwatch measures the CPU time of one image. The goroutine stays on its thread
// until stop.
type stopwatch struct {
	now        func() time.Duration
	limit, end time.Duration
}

func (l Limits) start() stopwatch {
	runtime.LockOSThread()
	now := l.clock
	if now == nil {
		now = threadTime
	}
	return stopwatch{now, l.time(), now() + l.time()}
}

func (stopwatch) stop() { runtime.UnlockOSThread() }

func (w stopwatch) check() error {
	if w.now() <= w.end {
		return nil
	}
	return &Error{TooLarge, -1, fmt.Sprintf("not decoded within %v of CPU time, which is what one image may take", w.limit)}
}
