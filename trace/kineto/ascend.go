package kineto

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Ascend's exporters, msprof and torch_npu, write Chrome's JSON without categories but those of
// PyTorch's own operators. The process of a row tells its kind. Processes are numbered by the program's
// process, the kind of row and the device: pid<<10 | kind<<5 | device.
const (
	ascendHardware = "Ascend Hardware" // tasks, by stream
	ascendHost     = "CANN"            // calls of the runtime
	ascendExchange = "Communication"   // collectives, and their parts below them
	ascendDevice   = 31                // mask of the device
	ascendShift    = 10
	mostPID        = 1 << 22 // Linux numbers processes below it
)

// exchangeStreams keeps streams of collectives apart from those of the hardware.
const exchangeStreams = 1 << 20

// isAscend reports whether a process of the file is Ascend's hardware.
func (s *recordStore) isAscend() bool {
	for _, name := range s.procs {
		if s.names[name] == ascendHardware {
			return true
		}
	}
	return false
}

// dropLoose gives up events without a category.
func (s *recordStore) dropLoose() {
	s.dropped[unknownWhy] += int64(s.loose.n)
	s.loose = blocks[looseRecord]{}
}

// adoptAscend makes calls and work of events without a category.
func (s *recordStore) adoptAscend() {
	roles := map[int64]string{}
	for r, name := range s.procs {
		roles[s.rows[r].pid] = s.names[name]
	}
	for i, r := range s.rows { // PyTorch's own rows have the program's process, numbered either way
		if r.pid > mostPID && roles[r.pid] != ascendHardware && roles[r.pid] != ascendExchange {
			s.rows[i].pid = r.pid >> ascendShift
		}
	}
	place := map[row]int32{}
	for i, r := range s.rows {
		if _, again := place[r]; !again {
			place[r] = int32(i)
		}
	}
	for i := range s.host.n { // two numbers of one thread
		h := s.host.at(i)
		h.row = place[s.rows[h.row]]
	}
	for i := range s.loose.n {
		l := s.loose.at(i)
		of := s.rows[l.row]
		switch role := roles[of.pid]; {
		case role == ascendHardware:
			s.adoptTask(l, of)
		case role == ascendExchange:
			s.adoptExchange(l, of)
		case strings.Contains(s.names[l.name], "@"): // of CANN, whose row was renumbered
			s.host.append(hostRecord{
				start: l.start, end: l.end, corr: l.corr, name: l.name, shapes: -1, types: -1, row: place[of],
				kind: recording.Runtime,
			})
		default:
			s.dropped[spanWhy]++ // sums of what other rows hold
		}
	}
	s.loose = blocks[looseRecord]{}
}

// adoptTask takes a task of the hardware: a kernel, a copy, or a wait, which is no work.
func (s *recordStore) adoptTask(l *looseRecord, of row) {
	name := s.names[l.name]
	task := name
	if l.task >= 0 {
		task = s.names[l.task]
	}
	kind, works := ascendTask(task)
	if !works {
		s.dropped[syncWhy]++
		return
	}
	if kind == recording.Kernel && isCollective(name) {
		kind = recording.Collective
	}
	s.work.append(workRecord{
		start: l.start, end: l.end, corr: l.corr, bytes: -1, name: l.name, group: -1, row: l.row,
		device: int32(of.pid & ascendDevice), stream: number32(of.tid), perSM: blank.perSM, occupancy: blank.occ,
		kind: kind,
	})
}

// ascendTask is what a task of a type does, by its name in Ascend's documentation.
func ascendTask(task string) (kind recording.WorkKind, works bool) {
	task = strings.ToUpper(task)
	switch {
	case recording.ContainsAny(task, "MEMCPY", "SDMA", "PCIE_DMA"):
		return recording.Copy, true
	case recording.ContainsAny(task, "EVENT_", "NOTIFY", "PROFILING_", "TASK_TIMEOUT", "STREAM_", "MODEL_", "WAIT",
		"MAINTENANCE", "PLACE_HOLDER", "LABEL_"):
		return recording.Kernel, false
	}
	return recording.Kernel, true
}

// adoptExchange takes a collective. What its parts do on their planes is in it already.
func (s *recordStore) adoptExchange(l *looseRecord, of row) {
	if !strings.HasPrefix(strings.ToLower(s.names[l.name]), "hcom") {
		s.dropped[shadowWhy]++
		return
	}
	s.work.append(workRecord{
		start: l.start, end: l.end, corr: l.corr, bytes: -1, name: l.name, group: -1, row: l.row,
		device: int32(of.pid & ascendDevice), stream: exchangeStreams | number32(of.tid)&(exchangeStreams-1),
		perSM: blank.perSM, occupancy: blank.occ, kind: recording.Collective,
	})
}
