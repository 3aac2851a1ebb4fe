package idle_test

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// A recording without steps ends with the device's last work: memory that is freed at the exit keeps no device waiting.
// A launch whose work the file lost, and a host that goes on computing, do.
func TestWholeRecordingEndsWithItsWork(t *testing.T) {
	for name, c := range map[string]struct {
		kind recording.CallKind
		call string
		to   int64 // us
	}{
		"gives back":      {recording.Runtime, "cudaFree_v3020", 114},
		"destroys events": {recording.Runtime, "cudaEventDestroy_v3020", 114},
		"waits":           {recording.Runtime, "cudaDeviceSynchronize", 114},
		"notes an event":  {recording.Runtime, "cudaEventRecord", 114},
		"launches":        {recording.Runtime, "cudaLaunchKernel", 190},
		"computes on":     {recording.Op, "aten::mm", 190},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine()
			for i := range 10 {
				at := 10 * float64(i)
				l.kernel(at+14, at+24, l.launch(at))
			}
			l.host(c.kind, 180, 190, c.call)
			run := &recording.Run{Timeline: l.sorted()}
			run.Steps = []recording.Step{{PID: 1, Rank: -1, Period: 190e-6}}
			run.Facts.StepsFrom = recording.WholeRecording
			if d := idle.Analyse(run).Devices[0]; d.To/1000 != c.to {
				t.Errorf("the window ends at %d us, want %d", d.To/1000, c.to)
			}
		})
	}
}

// A host that waits in a call for the device, before any recorded work begins and behind its launch, waits for work
// from before the recording.
func TestAWaitForEarlierWorkIsNotIdle(t *testing.T) {
	l := newLine()
	first := l.launch(1000)
	l.host(recording.Runtime, 1010, 43_000, "cudaStreamSynchronize")
	l.kernel(43_000, 43_010, first)
	for i := range 30 {
		at := 43_100 + 100*float64(i)
		l.kernel(at+10, at+90, l.launch(at))
	}
	run := &recording.Run{Timeline: l.sorted(), Steps: []recording.Step{{PID: 1, Rank: -1, Period: 46.2e-3}}}
	run.Facts.StepsFrom = recording.WholeRecording
	a := idle.Analyse(run)
	if w := a.Waits(&a.Devices[0]); w.Hidden.Time+w.Explicit.Time > 1e6 {
		t.Errorf("%+v are waits of the window", w)
	}
	if d := a.Devices[0]; d.From/1000 != 43_000 || !d.Earlier {
		t.Errorf("the window begins at %d us, earlier %v; want 43000, true", d.From/1000, d.Earlier)
	}
}

// A page of managed memory that moves as somebody touches it is no copy with a call of its own.
func TestMigrationsAreNoTinyCopies(t *testing.T) {
	for name, want := range map[string]int{"Memcpy HtoD (Managed -> Device)": 0, "Memcpy HtoD (Pinned -> Device)": 2} {
		l := newLine()
		for i := range 2 {
			l.work(recording.Copy, 100+20*float64(i), 110+20*float64(i), name, -1)
			l.t.Device.Bytes[i] = 4096
		}
		l.kernel(150, 160, l.launch(0))
		a := idle.Analyse(&recording.Run{Timeline: l.sorted()})
		c := a.SumCopies(&a.Devices[0])
		if c.Tiny.Count != want || c.Joint != max(0, want-1) || c.Migrated.Count != 2-want {
			t.Errorf("%s: %d tiny ones, %d joint, %d migrated", name, c.Tiny.Count, c.Joint, c.Migrated.Count)
		}
	}
}
