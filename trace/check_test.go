package trace

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// check holds for every Run that is read, however bad the file was.
func check(t testing.TB, run *recording.Run) {
	t.Helper()
	tl := run.Timeline
	if tl == nil {
		t.Fatal("no timeline")
	}
	h, f, d := &tl.Host, &tl.Frames, &tl.Device
	lengths(t, "host", len(h.Start), len(h.End), len(h.Name), len(h.Thread), len(h.Kind), len(h.Shapes), len(h.Types))
	lengths(t, "frames", len(f.Start), len(f.End), len(f.Name), len(f.Thread))
	lengths(t, "device", len(d.Start), len(d.End), len(d.Name), len(d.Device), len(d.Stream), len(d.Kind), len(d.Call),
		len(d.Bytes), len(d.Blocks), len(d.Threads), len(d.PerSM), len(d.Occupancy), len(d.Group))
	times(t, "host", tl, h.Start, h.End)
	times(t, "frames", tl, f.Start, f.End)
	times(t, "device", tl, d.Start, d.End)
	within(t, "names of calls", h.Name, 0, len(tl.Names))
	within(t, "shapes", h.Shapes, -1, len(tl.Names))
	within(t, "types", h.Types, -1, len(tl.Names))
	within(t, "threads", h.Thread, 0, len(tl.Threads))
	within(t, "names of frames", f.Name, 0, len(tl.Names))
	within(t, "threads of frames", f.Thread, 0, len(tl.Threads))
	within(t, "names of work", d.Name, 0, len(tl.Names))
	within(t, "groups", d.Group, -1, len(tl.Names))
	within(t, "devices", d.Device, 0, len(tl.Devices))
	within(t, "links", d.Call, -1, len(h.Start))
	for _, on := range tl.Devices {
		if on.GPU < -1 || on.GPU >= len(run.Facts.GPUs) {
			t.Errorf("device %+v has no GPU", on)
		}
	}
	for i := range d.Bytes {
		if d.Bytes[i] < -1 || d.Blocks[i] < 0 || d.Threads[i] < 0 || math.IsInf(float64(d.PerSM[i]), 0) || math.IsInf(float64(d.Occupancy[i]), 0) {
			t.Errorf("work %d: %d bytes, %d blocks of %d threads, %g per SM, occupancy %g", i, d.Bytes[i], d.Blocks[i], d.Threads[i], d.PerSM[i], d.Occupancy[i])
		}
	}
	for i, s := range run.Steps {
		if !(s.Period > 0) || math.IsInf(s.Period, 0) || s.Start < 0 || s.Wait > s.Period*1.0000001 || i > 0 && s.Start < run.Steps[i-1].Start {
			t.Errorf("step %+v", s)
		}
	}
}

func lengths(t testing.TB, what string, n ...int) {
	t.Helper()
	if slices.Min(n) != slices.Max(n) {
		t.Errorf("%s: columns of %d entries", what, n)
	}
}

func times(t testing.TB, what string, tl *recording.Timeline, start, end []int64) {
	t.Helper()
	if !slices.IsSorted(start) {
		t.Errorf("%s: not in order of start", what)
	}
	for i := range start {
		if start[i] < 0 || end[i] < start[i] || end[i] > tl.End {
			t.Fatalf("%s: from %d to %d, the file ends at %d", what, start[i], end[i], tl.End)
		}
	}
}

func within(t testing.TB, what string, indices []int32, least, n int) {
	t.Helper()
	for _, i := range indices {
		if int(i) < least || int(i) >= n {
			t.Fatalf("%s: index %d of %d", what, i, n)
		}
	}
}
