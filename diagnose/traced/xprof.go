package traced

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/quantity"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// xprofAnswer is what the input-pipeline analysis of XProf, the profiler page of
// TensorBoard for TensorFlow and JAX, makes of the same steps, in its own
// definitions, for comparison. They differ from ours: of a run with a GPU only the
// device's events count, so that all of the host's work while nothing ran is "All
// Others"; a copy that a kernel covers does not count.
//
// Source: openxla/xprof, read 2026-11-21: xplane_to_step_events.cc (what an event
// is), event_span.h (which of two that overlap counts), op_stats_to_input_pipeline_
// analysis.cc (sums and thresholds). A TPU's analysis is another one, by infeed; it
// is not restated here.
type xprofAnswer struct {
	Steps int
	Step  float64 // mean length as XProf takes it, seconds

	// Shares of all steps, 0 to 1; they add up to 1.
	Input, Output, Compute, DeviceToDevice, Collectives, HostCompute, AllOthers float64
}

// XProf's thresholds, shares of the step.
const (
	moderateInput, highInput   = 0.05, 0.20
	moderateOthers, highOthers = 0.03, 0.15 // also those of collectives and kernel launch
)

// rating is XProf's answer: how input-bound the run is.
func (x xprofAnswer) rating() string {
	switch {
	case !(x.Step > 0):
		return "unknown"
	case x.Input >= highInput:
		return "HIGHLY input-bound"
	case x.Input >= moderateInput:
		return "MODERATELY input-bound"
	case x.AllOthers >= moderateOthers:
		return "POTENTIALLY input-bound"
	}
	return "NOT input-bound"
}

// String is a sentence to print next to our verdict.
func (x xprofAnswer) String() string {
	parts := []string{}
	for _, p := range []struct {
		name  string
		share float64
	}{
		{"device compute", x.Compute},
		{"input", x.Input},
		{"output", x.Output},
		{"device to device", x.DeviceToDevice},
		{"collectives", x.Collectives},
		{"host compute", x.HostCompute},
		{"All Others", x.AllOthers},
	} {
		if p.share >= diagnose.ShownXProf {
			parts = append(parts, p.name+" "+quantity.Percent(p.share))
		}
	}
	text := fmt.Sprintf("XProf would say %s: of a step of %s, %s (it counts an input share of 5 %% as moderate and "+
		"20 %% as high, 3 and 15 %% of All Others)",
		x.rating(), quantity.AboutSeconds(x.Step), strings.Join(parts, ", "))
	if x.Collectives >= moderateOthers {
		level := "moderately"
		if x.Collectives >= highOthers {
			level = "highly"
		}
		text += ", and " + level + " bound by collectives"
	}
	return text
}

// Kinds of an instant in XProf's order: of those that overlap the last counts.
const (
	xOthers = iota
	xHostCompute
	xHostToDevice
	xCollective
	xWaitInput
	xDeviceToDevice
	xDeviceToHost
	xCompute
	xKinds
)

// xEvent is one event of a step.
type xEvent struct {
	from, to int64
	kind     uint8
}

// xStep is one step with the events of its group.
type xStep struct {
	device, host [2]int64 // its longest mark on a device and on the host
	events       []xEvent
	computes     bool
}

// xNumber is a step's number, and how many had it before on the same device:
// every loop counts from 0.
type xNumber struct{ n, again int }

// analyseAsXProf is XProf's answer; false if XProf does not know such runs, or the run has no
// steps by which XProf would group events.
func analyseAsXProf(run *recording.Run, all *idle.Analysis) (xprofAnswer, bool) {
	f := run.Facts
	otherFile := f.Software.Recorder != "" || f.Software.Framework == recording.TensorFlowGraphs
	if f.Software.Framework == "" || diagnose.IsBare(f.Software.Framework) || otherFile || run.Timeline == nil ||
		len(f.GPUs) > 0 && strings.Contains(f.GPUs[0].Name, "TPU") {
		return xprofAnswer{}, false
	}
	steps := map[xNumber]*xStep{}
	if len(run.Timeline.Device.Start) > 0 {
		for i := range all.Devices {
			addDevice(run, &all.Devices[i], steps)
		}
	} else {
		addHost(run, steps)
	}
	var sums [xKinds]int64
	x, total := xprofAnswer{}, int64(0)
	for _, s := range steps { // sums of integers: in any order
		from, to := s.bounds()
		if !s.computes || to <= from {
			continue // not well-formed, as XProf calls it
		}
		x.Steps++
		total += to - from
		for kind, ns := range s.timePerKind(from, to) {
			sums[kind] += ns
		}
	}
	if total == 0 {
		return xprofAnswer{}, false
	}
	share := func(kind int) float64 { return float64(sums[kind]) / float64(total) }
	x.Step = toSeconds(total) / float64(x.Steps)
	x.Input, x.Output, x.Compute = share(xHostToDevice)+share(xWaitInput), share(xDeviceToHost), share(xCompute)
	x.DeviceToDevice, x.Collectives, x.HostCompute = share(xDeviceToDevice), share(xCollective), share(xHostCompute)
	x.AllOthers = share(xOthers)
	return x, true
}

// addDevice adds a device's events to the steps that launched them.
func addDevice(run *recording.Run, d *idle.Device, steps map[xNumber]*xStep) {
	w := &run.Timeline.Device
	marks, seen := map[xNumber][2]int64{}, map[int]int{}
	numbers := make([]xNumber, len(d.Steps))
	for i, s := range d.Steps {
		count := run.Steps[s.Index].N
		n := xNumber{count, seen[count]}
		numbers[i] = n
		seen[count]++
		if steps[n] == nil {
			steps[n] = &xStep{}
		}
		marks[n] = [2]int64{math.MaxInt64, 0}
		if run.Steps[s.Index].Device < 0 {
			steps[n].host = longer(steps[n].host, [2]int64{s.HostFrom, s.HostTo})
		}
	}
	for i := range w.Start {
		if w.Device[i] != d.Index {
			continue
		}
		at := w.Start[i]
		if call := w.Call[i]; call >= 0 {
			at = run.Timeline.Host.Start[call]
		}
		k := sort.Search(len(d.Steps), func(k int) bool { return d.Steps[k].HostFrom > at }) - 1
		if k < 0 || at >= d.Steps[k].HostTo {
			continue
		}
		n := numbers[k]
		kind := kindOfWork(run.Timeline, i)
		s := steps[n]
		s.events = append(s.events, xEvent{w.Start[i], w.End[i], kind})
		if kind == xCompute || kind == xCollective {
			s.computes = s.computes || kind == xCompute
			m := marks[n]
			marks[n] = [2]int64{min(m[0], w.Start[i]), max(m[1], w.End[i])}
		}
	}
	for n, m := range marks {
		steps[n].device = longer(steps[n].device, m)
	}
}

func kindOfWork(t *recording.Timeline, work int) uint8 {
	name := t.Names[t.Device.Name[work]]
	switch t.Device.Kind[work] {
	case recording.Collective:
		return xCollective
	case recording.Copy:
		switch {
		case recording.ToHost(name):
			return xDeviceToHost
		case recording.ToDevice(name):
			return xHostToDevice
		}
		return xDeviceToDevice
	case recording.Kernel, recording.Set:
	}
	return xCompute
}

// addHost adds the host's events to the steps that they begin in: of a run without a
// device.
func addHost(run *recording.Run, steps map[xNumber]*xStep) {
	h := &run.Timeline.Host
	for i, s := range run.Steps {
		from := int64(math.Round(1e9 * s.Start))
		steps[xNumber{i, 0}] = &xStep{host: [2]int64{from, from + int64(math.Round(1e9*s.Period))}}
	}
	for i := range h.Start {
		k := sort.Search(len(run.Steps), func(k int) bool { return run.Steps[k].Start > toSeconds(h.Start[i]) }) - 1
		name := run.Timeline.Names[h.Name[i]]
		if _, mark := recording.StepSpan(name); k < 0 || mark {
			continue
		}
		s := steps[xNumber{k, 0}]
		kind := uint8(xHostCompute)
		if recording.LoaderSpan(name) {
			kind = xWaitInput
		} else {
			s.computes = true
		}
		s.events = append(s.events, xEvent{h.Start[i], h.End[i], kind})
	}
}

func longer(a, b [2]int64) [2]int64 {
	if b[1]-b[0] > a[1]-a[0] {
		return b
	}
	return a
}

// bounds is a step's time: the longest on a device, unless the host's mark holds all
// of that, as where every step is waiting for the device.
func (s *xStep) bounds() (from, to int64) {
	d, h := s.device, s.host
	if d[1] <= d[0] || h[0] <= d[0] && h[1] >= d[1] {
		return h[0], h[1]
	}
	return d[0], d[1]
}

// timePerKind is how long each kind counts within a time.
func (s *xStep) timePerKind(from, to int64) [xKinds]int64 {
	type edge struct {
		at   int64
		kind uint8
		by   int
	}
	var edges []edge
	for _, e := range s.events {
		if a, b := max(e.from, from), min(e.to, to); b > a {
			edges = append(edges, edge{a, e.kind, 1}, edge{b, e.kind, -1})
		}
	}
	sort.SliceStable(edges, func(i, j int) bool { return edges[i].at < edges[j].at })
	var out [xKinds]int64
	var open [xKinds]int
	at := from
	for _, e := range append(edges, edge{to, xOthers, 0}) {
		top := xOthers
		for kind := range open {
			if open[kind] > 0 {
				top = kind
			}
		}
		out[top] += e.at - at
		at = e.at
		open[e.kind] += e.by
	}
	return out
}
