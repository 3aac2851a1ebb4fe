package kineto

import "github.com/stoker-dev/stoker/recording"

// autogradHost is the process that torch.autograd's old profiler names for operators of the host. What it names for
// the device's are times between two events around each operator, which tell neither kernels nor idle time.
var autogradHost = rowNumber([]byte("CPU functions"))

// adoptAutograd makes calls of the operators that torch.autograd's old profiler wrote, if the file has no part of a
// device: then they are all that there was.
func (s *recordStore) adoptAutograd() {
	if s.strange[autogradName] == 0 || s.host.n > 0 {
		return
	}
	for i := range s.loose.n {
		if s.rows[s.loose.at(i).row].pid != autogradHost {
			return
		}
	}
	for i := range s.rows {
		s.rows[i].pid = 0
	}
	for i := range s.loose.n {
		l := s.loose.at(i)
		s.host.append(hostRecord{
			start: l.start, end: l.end, name: l.name, row: l.row, kind: recording.Op, shapes: -1, types: -1,
		})
	}
	s.loose = blocks[looseRecord]{}
	delete(s.strange, autogradName)
}
