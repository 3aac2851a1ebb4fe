package idle

import (
	"math"
	"sort"

	"github.com/stoker-dev/stoker/recording"
)

// What torch-tb-profiler, the TensorBoard plug-in for PyTorch's traces that was
// removed in April 2026, computed: for comparison, in its own definitions. They
// differ from ours: a kernel counts wherever it runs, a collective is a kernel,
// and the efficiency of an instant is the sum of blocks per SM of all kernels
// that run, at most 1.

// Level is a value that holds from one instant to another.
type Level struct {
	From, To int64
	Value    float64
}

// PluginSMEfficiency is the plug-in's "Est. SM Efficiency" over time; instants at
// which nothing with known blocks runs have no level.
func (a *Analysis) PluginSMEfficiency(d *Device) []Level {
	type edge struct {
		at int64
		by float64
	}
	var edges []edge
	w := &a.t.Device
	for _, i := range a.works.members(d.Index) {
		per := float64(w.PerSM[i])
		if (w.Kind[i] == recording.Kernel || w.Kind[i] == recording.Collective) && per > 0 {
			edges = append(edges, edge{w.Start[i], per}, edge{w.End[i], -per})
		}
	}
	sort.SliceStable(edges, func(i, j int) bool { return edges[i].at < edges[j].at })
	var levels []Level
	sum, running := 0.0, 0
	for i, e := range edges {
		sum += e.by
		running++
		if e.by < 0 {
			running -= 2
		}
		if running == 0 {
			sum = 0 // rounding must not outlive the kernels
		}
		if i+1 < len(edges) && running > 0 && edges[i+1].at > e.at {
			levels = append(levels, Level{e.at, edges[i+1].at, min(sum, 1)})
		}
	}
	return levels
}

// Mean is the mean of levels over a window, 0 where none holds; NaN without a
// window.
func Mean(levels []Level, from, to int64) float64 {
	sum := 0.0
	for _, l := range levels {
		if a, b := max(l.From, from), min(l.To, to); b > a {
			sum += l.Value * float64(b-a)
		}
	}
	if to <= from {
		return math.NaN()
	}
	return sum / float64(to-from)
}

// PluginUtilisation is the plug-in's "GPU Utilization" over time: the share of
// each bucket in which some kernel runs. Buckets are a power of ten microseconds
// long, at most a hundred of them; the last one takes the rest.
func (a *Analysis) PluginUtilisation(d *Device, from, to int64) []Level {
	size := int64(1000)
	for float64(to-from)/float64(size) > 100 {
		size *= 10
	}
	n := (to - from) / size
	if n == 0 {
		return nil
	}
	levels := make([]Level, n)
	for i := range levels {
		levels[i] = Level{From: from + int64(i)*size, To: from + int64(i+1)*size}
	}
	levels[n-1].To = to
	w := &a.t.Device
	end := from
	for _, i := range a.works.members(d.Index) {
		if w.Kind[i] != recording.Kernel && w.Kind[i] != recording.Collective {
			continue
		}
		start, until := max(w.Start[i], end), min(w.End[i], to)
		for start < until {
			b := min((start-from)/size, n-1)
			stop := min(until, levels[b].To)
			levels[b].Value += float64(stop - start)
			start = stop
		}
		end = max(end, until)
	}
	for i := range levels {
		levels[i].Value /= float64(levels[i].To - levels[i].From)
	}
	return levels
}
