package kineto

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Ascend's exporters, msprof and torch_npu, write Chrome's JSON without categories but those of
// PyTorch's own operators. The process of a row tells its kind. Processes are numbered by the program's
// process, the kind of row and the device: pid<<10 | kind<<5 | device. Before 2024 two digits stood behind
// the program's process.
const (
	ascendHardware = "Ascend Hardware" // tasks, by stream
	ascendProgram  = "Python"          // PyTorch's operators
	ascendDevice   = 31                // mask of the device
	ascendShift    = 10
	ascendDigits   = 100
	mostPID        = 1 << 22 // Linux numbers processes below it
)

// isExchange reports whether a process of a file holds collectives, and their parts below them.
func isExchange(role string) bool { return role == "Communication" || role == "HCCL" }

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
		if r.pid > mostPID && roles[r.pid] != ascendHardware && !isExchange(roles[r.pid]) {
			s.rows[i].pid = programOf(r.pid, roles)
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
	for i := range s.frames.n {
		f := s.frames.at(i)
		f.row = place[s.rows[f.row]]
	}
	for i := range s.flows.n {
		f := s.flows.at(i)
		f.row = place[s.rows[f.row]]
	}
	only := onlyDevice(roles)
	device := func(pid int64) int32 {
		if only >= 0 {
			return only
		}
		return int32(pid & ascendDevice)
	}
	parts, whole := s.findExchangeRows(roles)
	var waited []*looseRecord // parts of collectives that the file does not hold as a whole
	for i := range s.loose.n {
		l := s.loose.at(i)
		of := s.rows[l.row]
		if task := strings.ToUpper(s.taskOf(l)); strings.Contains(task, "NOTIFY") && strings.Contains(task, "WAIT") {
			s.awaits = append(s.awaits, [2]int64{l.start, l.end})
		}
		switch role := roles[of.pid]; {
		case role == ascendHardware && parts[l.row] && whole:
			s.dropped[shadowWhy]++
		case role == ascendHardware && parts[l.row]:
			waited = append(waited, l)
		case role == ascendHardware:
			s.adoptTask(l, of, device(of.pid))
		case isExchange(role):
			s.adoptExchange(l, of, device(of.pid))
		case strings.Contains(s.names[l.name], "@"): // of CANN, whose row was renumbered
			s.host.append(hostRecord{
				start: l.start, end: l.end, corr: l.corr, name: l.name, shapes: -1, types: -1, row: place[of],
				kind: recording.Runtime,
			})
		default:
			s.dropped[spanWhy]++ // sums of what other rows hold
		}
	}
	s.joinParts(waited, device)
	s.loose = blocks[looseRecord]{}
}

// betweenParts is the longest pause within a collective, ns. [J] Between its parts are microseconds, waits for other
// ranks being parts, too; between collectives are kernels.
const betweenParts = 50_000

// joinParts makes collectives of their parts on all streams of a device. A wait for another rank's notification is a
// part: the device exchanges data, and is not idle for want of work.
func (s *recordStore) joinParts(parts []*looseRecord, of func(pid int64) int32) {
	device := func(l *looseRecord) int32 { return of(s.rows[l.row].pid) }
	slices.SortStableFunc(parts, func(a, b *looseRecord) int {
		return cmp.Or(cmp.Compare(device(a), device(b)), cmp.Compare(a.start, b.start))
	})
	for i := 0; i < len(parts); {
		first, end, works := parts[i], parts[i].end, false
		for ; i < len(parts) && device(parts[i]) == device(first) && parts[i].start <= end+betweenParts; i++ {
			end = max(end, parts[i].end)
			_, moves := ascendTask(s.taskOf(parts[i]))
			works = works || moves
		}
		if !works { // events alone
			s.dropped[syncWhy]++
			continue
		}
		s.work.append(workRecord{
			start: first.start, end: end, corr: first.corr, bytes: -1, name: s.addName(joinedName),
			group: -1, row: first.row,
			device: device(first), stream: exchangeStreams, perSM: blank.perSM, occupancy: blank.occ,
			kind: recording.Collective,
		})
	}
}

// joinedName is what a collective is called whose parts alone are in the file.
const joinedName = "HCCL collective"

// describeAscend fills in what a file of Ascend's tells of a program that shows nothing of PyTorch.
func (m *merger) describeAscend(t *Trace) (bare bool) {
	if !m.store.isAscend() || slices.ContainsFunc(t.Timeline.Names, recording.TorchSign) {
		return false
	}
	t.Facts.Software.Framework, t.Facts.Software.Recorder = recording.CANN, recording.Msprof
	return true
}

// programOf is the program's process, by the number of one of its rows' processes.
func programOf(pid int64, roles map[int64]string) int64 {
	if roles[pid>>ascendShift] != ascendProgram && roles[pid/ascendDigits] == ascendProgram {
		return pid / ascendDigits
	}
	return pid >> ascendShift
}

// oftenNotified is one in how many tasks of a stream is a notification, from which the stream is one of a
// collective. [J] Half of them are on such streams, next to none on others.
const oftenNotified = 4

// findExchangeRows finds the streams of the hardware on which parts of collectives run: tasks that copy, reduce and
// notify other ranks, or that have no names beside collectives. whole reports whether the file holds these.
func (s *recordStore) findExchangeRows(roles map[int64]string) (parts map[int32]bool, whole bool) {
	tasks, notified, unnamed := map[int32]int{}, map[int32]int{}, map[int32]int{}
	for i := range s.loose.n {
		l := s.loose.at(i)
		role := roles[s.rows[l.row].pid]
		whole = whole || isExchange(role) && s.isHcom(l)
		if role != ascendHardware {
			continue
		}
		tasks[l.row]++
		if s.names[l.name] == "Other" {
			unnamed[l.row]++
		}
		if strings.Contains(strings.ToUpper(s.names[l.name]+s.taskOf(l)), "NOTIFY") {
			notified[l.row]++
		}
	}
	parts = map[int32]bool{}
	for r, n := range tasks {
		parts[r] = notified[r] > 0 && oftenNotified*notified[r] >= n || whole && unnamed[r] == n
	}
	return parts, whole
}

// onlyDevice is the number of the only device whose hardware has a row; -1 if there are several. Of other rows the
// number does not tell in older files.
func onlyDevice(roles map[int64]string) int32 {
	only := int32(-1)
	for pid, role := range roles {
		if role != ascendHardware {
			continue
		}
		if only >= 0 {
			return -1
		}
		only = int32(pid & ascendDevice)
	}
	return only
}

// isHcom reports whether an event is a whole collective: it is called so, or its row is one of whole collectives.
func (s *recordStore) isHcom(l *looseRecord) bool {
	if strings.HasPrefix(strings.ToLower(s.names[l.name]), "hcom") {
		return true
	}
	name, known := s.labels[l.row]
	return known && strings.Contains(s.names[name], "Communication")
}

// taskOf is the type of a task; its name if the file does not tell.
func (s *recordStore) taskOf(l *looseRecord) string {
	if l.task >= 0 {
		return s.names[l.task]
	}
	return s.names[l.name]
}

// adoptTask takes a task of the hardware: a kernel, a copy, or a wait, which is no work.
func (s *recordStore) adoptTask(l *looseRecord, of row, device int32) {
	name := s.names[l.name]
	kind, works := ascendTask(s.taskOf(l))
	if works && kind == recording.Kernel && namesTask(name) { // older exporters call most types "Other"
		kind, works = ascendTask(name)
	}
	if !works {
		s.dropped[syncWhy]++
		return
	}
	if kind == recording.Kernel && isCollective(name) {
		kind = recording.Collective
	}
	s.work.append(workRecord{
		start: l.start, end: l.end, corr: l.corr, bytes: -1, name: l.name, group: -1, row: l.row,
		device: device, stream: number32(of.tid), perSM: blank.perSM, occupancy: blank.occ,
		kind: kind,
	})
}

// namesTask reports whether a name is that of a task of the hardware and not of an operator.
func namesTask(name string) bool { return name == strings.ToUpper(name) || name == "MemcopyAsync" }

// ascendTask is what a task of a type does, by its name in Ascend's documentation.
func ascendTask(task string) (kind recording.WorkKind, works bool) {
	task = strings.ToUpper(task)
	switch {
	case recording.ContainsAny(task, "MEMCPY", "MEMCOPY", "SDMA", "PCIE_DMA"):
		return recording.Copy, true
	case recording.ContainsAny(task, "EVENT_", "NOTIFY", "PROFILING_", "TASK_TIMEOUT", "STREAM_", "MODEL_", "WAIT",
		"MAINTENANCE", "PLACE_HOLDER", "LABEL_", "WRITE VALUE", "WRITE_VALUE"):
		return recording.Kernel, false
	}
	return recording.Kernel, true
}

// adoptExchange takes a collective. What its parts do on their planes is in it already.
func (s *recordStore) adoptExchange(l *looseRecord, of row, device int32) {
	if !s.isHcom(l) {
		s.dropped[shadowWhy]++
		return
	}
	s.work.append(workRecord{
		start: l.start, end: l.end, corr: l.corr, bytes: -1, name: l.name, group: -1, row: l.row,
		device: device, stream: exchangeStreams | number32(of.tid)&(exchangeStreams-1),
		perSM: blank.perSM, occupancy: blank.occ, kind: recording.Collective,
	})
}
