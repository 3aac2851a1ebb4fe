package traced

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// frameCost is the host's time to record one call of Python with with_stack=True,
// seconds: 0.19 to 0.34 us for functions of Python, 0.30 to 0.81 us within modules
// (bench/trace/frames.py, PyTorch 2.15, 2 cores AMD EPYC, load 2 to 7, 2026-11-28, n = 6 each).
var frameCost = stoker.Interval{Low: 0.2e-6, Point: 0.3e-6, High: 0.8e-6}

// leastRecorder is the share of the window from which the recorder's own time is worth a word. [J]
const leastRecorder = 0.02

// measureRecorder estimates how much of the window is idle time in which the host recorded
// calls of Python. A program without a profiler does not have it.
func (t *filler) measureRecorder() {
	kept, inGaps := t.countFrames()
	if kept == 0 {
		return
	}
	all := float64(kept)
	if length := t.t.End - t.t.Start; length > 0 {
		all += float64(t.t.Dropped[recording.ShortFrames]) * float64(t.d.WindowLength()) / float64(length)
	}
	t.frames = all
	host := t.parts.Host + t.parts.Long
	window := toSeconds(t.d.WindowLength())
	t.recorder = min(host, frameCost.Point*all*float64(inGaps)/float64(kept)/window)
	if t.recorder < leastRecorder {
		t.recorder = 0
		return
	}
	left := 1 - t.recorder/host
	t.parts.Host, t.parts.Long = left*t.parts.Host, left*t.parts.Long
}

// countFrames counts the calls of Python that start in the window, and those of them that
// start while the device is idle for the host's sake.
func (t *filler) countFrames() (kept, inGaps int) {
	f := &t.t.Frames
	if len(f.Start) == 0 {
		return 0, 0
	}
	at := 0
	skip := func(until int64) (n int) {
		for at < len(f.Start) && f.Start[at] < until {
			at, n = at+1, n+1
		}
		return n
	}
	skip(t.d.From)
	for s := range t.all.Slices(t.d, t.d.From, t.d.To) {
		kept += skip(s.From)
		n := skip(s.To)
		if kept += n; s.Cause.Host() || s.Cause == idle.DataLoader {
			inGaps += n
		}
	}
	return kept + skip(t.d.To), inGaps
}

// describeRecorder says how much of the idle time the recorder itself makes.
func (t *filler) describeRecorder() string {
	if t.recorder == 0 {
		return ""
	}
	window := toSeconds(t.d.WindowLength())
	return fmt.Sprintf("%s calls of Python were recorded with their stacks, which takes the host about %s (%s to %s): %s of "+
		"the window is idle for that alone, and is taken off what the host could save",
		quantity.About(t.frames), quantity.AboutSeconds(frameCost.Point*t.frames),
		quantity.AboutSeconds(frameCost.Low*t.frames),
		quantity.AboutSeconds(min(window, frameCost.High*t.frames)), quantity.Percent(t.recorder))
}

// leaveOutRecorder says of a share that the recorder's own time is no part of it.
func (t *filler) leaveOutRecorder() string {
	if t.recorder == 0 {
		return ""
	}
	return ", the recorder's own time left out"
}
