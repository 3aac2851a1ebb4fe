package decode

import (
	"cmp"
	"fmt"
)

// The defaults of Limits.
const (
	defaultPixels = 178_956_970
	defaultScans  = 100
	defaultMemory = 240 << 20
)

func (l Limits) maxPixels() int { return cmp.Or(l.Pixels, defaultPixels) }
func (l Limits) maxMemory() int { return cmp.Or(l.Memory, defaultMemory) }
func (l Limits) mostScans() int { return cmp.Or(l.Scans, defaultScans) }

// CheckPixels refuses an image that is too large, before anything is allocated.
func (l Limits) CheckPixels(width, height int) error {
	if width*height <= l.maxPixels() {
		return nil
	}
	return &SampleError{
		TooLarge, -1,
		fmt.Sprintf("an image of %d x %d pixels: at most %d are decoded", width, height, l.maxPixels()),
	}
}

// checkMemory refuses an image that would need too many bytes while it is decoded.
func (l Limits) checkMemory(bytes int) error {
	if bytes <= l.maxMemory() {
		return nil
	}
	return &SampleError{
		TooLarge, -1,
		fmt.Sprintf("decoding it would take %d MiB of memory: one image may take %d MiB", bytes>>20, l.maxMemory()>>20),
	}
}
