package kineto

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// timelineOp is the category of all events of a timeline that TensorFlow 1 makes of its RunMetadata. What they are
// the name of their process tells.
const timelineOp = "Op"

// plane is what a process of a timeline holds.
type plane struct {
	host           bool // operators
	placed         bool // of a GPU
	device, stream int32
	again          bool // work of other planes once more
	unknown        bool
}

// planeOf reads the name of a process: "/job:localhost/replica:0/task:0/device:GPU:0 Compute" has the operators whose
// work "/device:GPU:0/stream:13 Compute" has. "stream:all" and "memcpy" have it once more.
func planeOf(name string) (p plane, known bool) {
	name, known = strings.CutSuffix(name, " Compute")
	if !known {
		return p, false
	}
	device, stream, work := strings.Cut(name, "/stream:")
	switch lower := strings.ToLower(device); {
	case strings.HasSuffix(lower, "/memcpy"):
		p.again = true
	case !work:
		p.host = strings.HasPrefix(lower, "/job:") || strings.Contains(lower, "cpu:")
		p.placed = strings.Contains(lower, "gpu:")
		return p, p.host
	default:
		p.device = number32(rowNumber([]byte(device[strings.LastIndexByte(device, ':')+1:])))
	}
	n, err := strconv.ParseInt(stream, 10, 32)
	p.stream, p.again = int32(n), p.again || err != nil
	return p, true
}

// firstRun is how long an operator of a device takes on the host if its library is loaded and its way to compute is
// tried, which comes once, nanoseconds. [J] Others take less than 10 ms.
const firstRun = 100_000_000

// nodeOf is the operator of a graph that some work is of: a copy is named for the edge that it goes along.
func nodeOf(name string) string {
	if rest, edge := strings.CutPrefix(name, "edge_"); edge {
		if _, node, numbered := strings.Cut(rest, "_"); numbered {
			return node
		}
	}
	return name
}

// adoptTimeline makes operators and work of a timeline of TensorFlow 1, and reports whether it is one. An operator and
// its work have the same name among their arguments.
func (s *recordStore) adoptTimeline() bool {
	if s.strange[timelineOp] == 0 || s.host.n+s.work.n > 0 {
		return false
	}
	of, found := s.findPlanes()
	if !found {
		return false
	}
	nodes := map[string]int64{}
	for i := range s.loose.n {
		if l := s.loose.at(i); of[l.row].host && l.task >= 0 {
			nodes[s.names[l.task]] = int64(l.task) + 1
		}
	}
	for i := range s.loose.n {
		s.adoptNode(s.loose.at(i), of[s.loose.at(i).row], nodes)
	}
	s.loose = blocks[looseRecord]{}
	delete(s.strange, timelineOp)
	delete(s.strange, "DataFlow")
	return true
}

// findPlanes finds what each row holds. All rows of operators become threads of one process.
func (s *recordStore) findPlanes() (of []*plane, found bool) {
	planes := map[int64]*plane{}
	for r, name := range s.procs {
		if p, known := planeOf(s.names[name]); known {
			planes[s.rows[r].pid], found = &p, true
		}
	}
	none := &plane{unknown: true}
	for i, r := range s.rows {
		p := planes[r.pid]
		if p == nil {
			p = none
		}
		if of = append(of, p); p.host {
			s.rows[i] = row{0, r.pid<<16 | r.tid&(1<<16-1)}
		}
	}
	return of, found
}

// adoptNode takes an event of a timeline.
func (s *recordStore) adoptNode(l *looseRecord, p *plane, nodes map[string]int64) {
	corr := int64(0)
	if l.task >= 0 {
		corr = nodes[nodeOf(s.names[l.task])]
	}
	switch name := s.names[l.name]; {
	case p.unknown:
		s.dropped[unknownWhy]++
	case p.again:
		s.dropped[shadowWhy]++
	case p.host:
		s.placed = s.placed || p.placed
		call := l.name
		if l.task >= 0 { // as XProf writes it
			call = s.addName(s.names[l.task] + ":" + name)
		}
		s.host.append(hostRecord{
			start: l.start, end: l.end, corr: corr, name: call, row: l.row, kind: recording.Op, shapes: -1, types: -1,
		})
	default:
		kind := recording.Kernel
		if strings.HasPrefix(name, "MEMCPY") {
			kind = recording.Copy
		} else if isCollective(name) {
			kind = recording.Collective
		}
		s.work.append(workRecord{
			start: l.start, end: l.end, corr: corr, bytes: -1, name: l.name, group: -1, row: l.row,
			device: p.device, stream: p.stream, perSM: blank.perSM, occupancy: blank.occ, kind: kind,
		})
	}
}

// isFirstRun reports whether a timeline is of a first run: the device waits long within an operator that it works for.
func isFirstRun(t *recording.Timeline) bool {
	works, h, at := map[int32]bool{}, &t.Host, t.Start
	for _, call := range t.Device.Call {
		works[call] = call >= 0 && !recording.LoaderSpan(t.Names[h.Name[call]])
	}
	for i, from := range t.Device.Start {
		if from-at >= firstRun {
			for call := range h.Start {
				within := min(from, h.End[call]) - max(at, h.Start[call])
				if works[int32(call)] && within >= firstRun && 2*within > from-at {
					return true
				}
			}
		}
		at = max(at, t.Device.End[i])
	}
	return false
}

// describeTimeline fills in what a timeline is: one run of a graph. placed is whether operators stand in the lane of a
// GPU, whose work older versions list nowhere.
func (tr *Trace) describeTimeline(placed bool) {
	tr.Facts.Software.Framework = recording.TensorFlowGraphs
	tr.Steps, tr.Facts.StepsFrom = []recording.Step{wholeStep(tr.Timeline)}, recording.OneRun
	tr.Warnings = slices.Clone(tr.Facts.Damage)
	switch {
	case len(tr.Timeline.Device.Start) > 0:
	case placed:
		tr.Facts.GPUs = append(tr.Facts.GPUs, recording.GPU{Name: "a GPU, in whose lane operators stand"})
		tr.Warnings = append(tr.Warnings, recording.NoDeviceWork+
			"operators stand in the lane of a GPU, with the host's times.")
	default:
		tr.Warnings = append(tr.Warnings, recording.NoDeviceWork+"all operators ran on the CPU. The host's side was read.")
	}
}

// wholeStep is the one run of a graph that a timeline holds, as a step.
func wholeStep(t *recording.Timeline) recording.Step {
	nan := math.NaN()
	step := recording.Step{
		Device: -1, Start: float64(t.Start) / 1e9, Period: float64(t.End-t.Start) / 1e9, Wait: nan, Samples: nan,
		Idle: nan, DevicePeriod: nan, Optimized: nan, Ran: nan, Phase: recording.Train,
	}
	if len(t.Threads) > 0 {
		step.PID, step.Rank = t.Threads[0].PID, t.Threads[0].Rank
	}
	if isFirstRun(t) {
		step.Phase = recording.WarmUp
	}
	return step
}
