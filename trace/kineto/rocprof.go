package kineto

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Processes that rocprof's own JSON names, of before rocprofv3. Kernels are in one per device, "GPU0".
const (
	rocprofCalls   = "CPU HIP API"
	rocprofDriver  = "CPU HSA API"
	rocprofCopies  = "COPY"
	rocprofRanges  = "Markers and Ranges"
	rocprofDevices = "GPU"
)

// rocprofFlow is the category of the flows of rocprof and of a timeline of TensorFlow 1: their ends are of phase t.
const rocprofFlow = "dataflow"

// adoptRocprof makes calls and work of a file of rocprof, and reports whether it is one. Which device a copy is of
// it does not tell where several worked: such a file is left alone.
func (s *recordStore) adoptRocprof() bool {
	if s.host.n+s.work.n > 0 || s.loose.n == 0 {
		return false
	}
	roles, devices, calls := map[int64]string{}, 0, false
	for r, name := range s.procs {
		role := s.names[name]
		roles[s.rows[r].pid] = role
		calls = calls || role == rocprofCalls
		if number, gpu := strings.CutPrefix(role, rocprofDevices); gpu && number != "" {
			devices++
		}
	}
	if devices != 1 || !calls {
		return false
	}
	threads := map[int64]int32{} // a range is on the thread of the calls within it
	for i, r := range s.rows {
		if roles[r.pid] == rocprofCalls {
			threads[r.tid] = int32(i)
		}
	}
	for i := range s.loose.n {
		s.adoptRocprofEvent(s.loose.at(i), roles, threads)
	}
	s.loose = blocks[looseRecord]{}
	s.strange = map[string]int64{}
	return true
}

func (s *recordStore) adoptRocprofEvent(l *looseRecord, roles map[int64]string, threads map[int64]int32) {
	of, name := s.rows[l.row], s.names[l.name]
	host := hostRecord{
		start: l.start, end: l.end, name: l.name, row: l.row, kind: recording.Runtime, shapes: -1, types: -1,
	}
	work := workRecord{
		start: l.start, end: l.end, bytes: -1, name: l.name, group: -1, row: l.row, stream: number32(of.tid),
		perSM: blank.perSM, occupancy: blank.occ, kind: recording.Kernel,
	}
	switch role := roles[of.pid]; {
	case role == rocprofCalls:
		s.host.append(host)
	case role == rocprofRanges:
		host.kind = recording.Annotation
		if thread, known := threads[of.tid]; known {
			host.row = thread
		}
		s.host.append(host)
	case role == rocprofCopies:
		if work.kind = recording.Copy; recording.ContainsAny(name, "Fill", "emset") {
			work.kind = recording.Set
		}
		s.work.append(work)
	case strings.HasPrefix(role, rocprofDevices):
		if isCollective(name) {
			work.kind = recording.Collective
		}
		s.work.append(work)
	default: // calls of HSA, by which those of HIP do their work
		s.dropped[shadowWhy]++
	}
}

// describeRocprof fills in what a file of rocprof tells of its program and device.
func (m *merger) describeRocprof(t *Trace) {
	t.Facts.Software.Recorder = recording.Rocprof
	if !slices.ContainsFunc(t.Timeline.Names, recording.TorchSign) {
		t.Facts.Software.Framework = "HIP"
	}
	said, _ := decodeMember[map[string]string](m, "otherData")
	for i := 1; said[fmt.Sprintf("Agent%d.Name", i)] != "" && len(t.Facts.GPUs) == 0; i++ {
		agent := func(key string) string { return said[fmt.Sprintf("Agent%d.%s", i, key)] }
		if agent("DeviceType") != "GPU" {
			continue
		}
		t.Facts.GPUs = []recording.GPU{{
			Name: "AMD " + cmp.Or(agent("MarketingName"), agent("Name")),
			SMs:  int(rowNumber([]byte(agent("ComputeUnit")))),
		}}
		for d := range t.Timeline.Devices {
			t.Timeline.Devices[d].GPU = 0
		}
	}
}
