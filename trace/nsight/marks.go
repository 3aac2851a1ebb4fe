package nsight

import (
	"strconv"

	"stoker/recording"
)

// family are the ranges of a process whose names differ in a number only.
type family struct {
	pid  int
	name string
}

// markSteps gives the ranges that mark steps the name that PyTorch's profiler
// gives them: of each process the family of ranges, "iteration 1", "iteration 2",
// … that lasts longest in all.
func (r *reader) markSteps() {
	s := &stepMarks{r: r, t: r.out.Timeline, known: map[int32]string{}, best: map[int]string{}}
	s.choose()
	last := map[int]int{}
	for i, kind := range s.t.Host.Kind {
		if kind != recording.Annotation {
			continue
		}
		f, ok := s.of(i)
		if !ok || s.best[f.pid] != f.name {
			continue
		}
		_, number, _ := stepMark(r.names.list[s.t.Host.Name[i]])
		n, err := strconv.Atoi(number)
		if before, found := last[f.pid]; err != nil || found && n <= before {
			n = before + 1
		}
		last[f.pid] = n
		s.t.Host.Name[i] = r.names.id([]byte("ProfilerStep#" + strconv.Itoa(n)))
	}
}

type stepMarks struct {
	r     *reader
	t     *recording.Timeline
	known map[int32]string // name: family, "" none
	best  map[int]string   // process: its family of steps
}

// of is the family of a host event.
func (s *stepMarks) of(i int) (family, bool) {
	name := s.t.Host.Name[i]
	f, found := s.known[name]
	if !found {
		if text, _, ok := stepMark(s.r.names.list[name]); ok {
			f = text
		}
		s.known[name] = f
	}
	return family{s.t.Threads[s.t.Host.Thread[i]].PID, f}, f != ""
}

// choose settles each process's family: the one that lasts longest of those that
// come at least twice; none where PyTorch's own marks are there.
func (s *stepMarks) choose() {
	total, count := map[family]int64{}, map[family]int{}
	marked := map[int]bool{}
	for i, kind := range s.t.Host.Kind {
		if kind != recording.Annotation {
			continue
		}
		f, ok := s.of(i)
		if ok {
			total[f] += s.t.Host.End[i] - s.t.Host.Start[i]
			count[f]++
		} else if _, own := recording.StepSpan(s.r.names.list[s.t.Host.Name[i]]); own {
			marked[f.pid] = true
		}
	}
	for f, time := range total {
		before, found := s.best[f.pid]
		most := total[family{f.pid, before}]
		if count[f] >= 2 && !marked[f.pid] && (!found || time > most || time == most && f.name < before) {
			s.best[f.pid] = f.name
		}
	}
	said := map[string]bool{}
	for _, name := range s.best {
		said[name] = true
	}
	for name := range said {
		s.r.warn("The NVTX ranges %q are taken as steps.", clean([]byte(name), 60))
	}
}
