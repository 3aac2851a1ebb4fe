package idle_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// What of collectives and copies no computation covers is what a look at every microsecond
// finds, however many kernels overlap.
func TestUncoveredByComputation(t *testing.T) {
	const end = 400
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		l := newLine()
		l.host(recording.Op, 0, end, "aten::step")
		computed := [end]bool{}
		type span struct{ from, to int }
		var exchanges, copies []span
		for from := 0; from < end-60; from += random.IntN(12) {
			s := span{from, from + 1 + random.IntN(60)}
			switch random.IntN(3) {
			case 0:
				l.work(recording.Kernel, float64(s.from), float64(s.to), "kernel", -1)
				for at := s.from; at < s.to; at++ {
					computed[at] = true
				}
			case 1:
				l.work(recording.Collective, float64(s.from), float64(s.to), "ncclDevKernel_AllReduce", -1)
				exchanges = append(exchanges, s)
			default:
				l.work(recording.Copy, float64(s.from), float64(s.to), "Memcpy HtoD (Pinned -> Device)", -1)
				copies = append(copies, s)
			}
		}
		a := idle.Analyse(&recording.Run{Timeline: l.t})
		d := &a.Devices[0]
		uncovered := func(spans []span) (ns int64) {
			for _, s := range spans {
				if 1000*int64(s.from) < d.From || 1000*int64(s.from) >= d.To {
					continue
				}
				for at := s.from; at < s.to; at++ {
					if !computed[at] {
						ns += 1000
					}
				}
			}
			return ns
		}
		exposed := int64(0)
		for _, kind := range a.SumExchanges(d).Kinds {
			exposed += kind.Exposed
		}
		if want := uncovered(exchanges); exposed != want {
			t.Fatalf("collectives are exposed for %d ns, expected %d", exposed, want)
		}
		if got, want := a.SumCopies(d).ToDevice.Alone, uncovered(copies); got != want {
			t.Fatalf("copies are alone for %d ns, expected %d", got, want)
		}
	}
}

// Of calls that nest deeper than any program's the outermost count: what is open is looked
// at for each gap.
func TestCallsNestedWithoutEnd(t *testing.T) {
	const deep = 5000
	l := newLine()
	for i := range deep {
		kind, name := recording.Op, "aten::op"
		if i == deep-1 {
			kind, name = recording.Runtime, "cudaStreamSynchronize"
		}
		l.host(kind, float64(i), float64(4*deep-i), name)
	}
	l.kernel(deep, deep+1, l.launch(deep))
	l.kernel(2*deep, 2*deep+1, l.launch(2*deep))
	a := idle.Analyse(&recording.Run{Timeline: l.t})
	if d := &a.Devices[0]; d.Causes[idle.Sync] > d.Causes[idle.CPUOp]/100 {
		t.Errorf("causes %v: the innermost of %d calls counted", d.Causes, deep)
	}
}

// A process may drive many devices: the busiest are judged, and all are counted.
func TestManyDevicesOfOneProcess(t *testing.T) {
	l := newLine()
	for n := range 40 {
		at := 100 * float64(n)
		l.kernel(at+10, at+20+float64(n%20), l.launch(at))
		l.t.Device.Device[n] = int32(n)
		if n > 0 {
			l.t.Devices = append(l.t.Devices, recording.Device{Index: n, GPU: -1, PID: l.t.Devices[0].PID, Rank: -1})
		}
	}
	a := idle.Analyse(&recording.Run{Timeline: l.t})
	if len(a.Devices) != 16 || a.Worked != 40 {
		t.Fatalf("%d of %d devices are judged", len(a.Devices), a.Worked)
	}
	for _, d := range a.Devices {
		if d.Index%20 < 12 {
			t.Errorf("device %d is judged, and others work longer", d.Index)
		}
	}
}
