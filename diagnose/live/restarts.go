package live

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Start values. [J]
const (
	fewRestarts = 3 // processes that start one after another, from which they do it again and again
	fewImports  = 2 // of them, of which it is known where they import PyTorch
)

// findRestarts finds processes of one parent that load PyTorch one after another, as a server's workers that end after
// so many requests, or a process for each job. Several at a time are ranks, or workers beside each other.
func (l filler) findRestarts() (most diagnose.Restarts) {
	passes := map[int]float64{}
	for _, s := range l.run.Steps {
		if first, seen := passes[s.PID]; !seen || s.Start < first {
			passes[s.PID] = s.Start
		}
	}
	children := map[int][]recording.Process{}
	for _, p := range l.run.Facts.Processes {
		_, trains := passes[p.Parent] // its children are a DataLoader's workers, which start anew in each epoch
		// one that ends with its only pass may have said nothing, and passes for its parent's worker
		if p.Parent > 0 && p.Role != recording.RoleFeed && !trains {
			children[p.Parent] = append(children[p.Parent], p)
		}
	}
	for _, all := range children {
		slices.SortFunc(all, func(a, b recording.Process) int { return cmp.Compare(a.Start, b.Start) })
		if r := l.measureRestarts(all, passes); r.Seconds > most.Seconds {
			most = r
		}
	}
	return most
}

// measureRestarts adds up what processes need from their start to their first pass, or to their end if none was seen.
// It is zero if some of them run at the same time, or if no line that imports PyTorch is known of two. A start is when
// the process was first seen.
func (l filler) measureRestarts(all []recording.Process, passes map[int]float64) (r diagnose.Restarts) {
	for i, p := range all {
		last := i == len(all)-1
		if !last && (p.End == 0 || all[i+1].Start < p.End) {
			return diagnose.Restarts{}
		}
		until, known := passes[p.PID]
		if !known {
			until = p.End
		}
		r.Seconds += max(0, until-p.Start)
		if p.Imports == "" {
			continue
		}
		at := recording.ParseLine(p.Imports)
		if r.Imports > 0 && at != r.At {
			return diagnose.Restarts{} // several programs
		}
		r.Imports, r.At = r.Imports+1, at
	}
	r.Count = len(all)
	if r.Count < fewRestarts || r.Imports < fewImports {
		return diagnose.Restarts{}
	}
	from := all[0].Start
	r.Share = r.Seconds / (l.run.End() - from)
	if _, subject := l.findGPU(); l.run.KernelSeries(subject) != nil {
		busy := l.run.KernelTime(subject, recording.Window{Start: from, End: l.run.End()}).Share
		if !math.IsNaN(busy) {
			r.Share = min(r.Share, 1-busy)
		}
	}
	return r
}
