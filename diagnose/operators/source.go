package operators

import "github.com/stoker-dev/stoker/recording"

// sources names, for each row that is kept, the user's line from which most of
// its time on the host was spent. Threads without a Python frame,
// such as autograd's, are traced to the thread that is waiting for them.
func (b *builder) sources(rows []int32) {
	t := b.t
	if len(t.Frames.Start) == 0 {
		return
	}
	kept := make([]bool, len(b.rows))
	for _, row := range rows {
		kept[row] = true
	}
	s := &stacks{t: t, thread: framed(t), open: make([][]int32, len(t.Threads)), own: make([]int8, len(t.Names))}
	times := map[blame]int64{}
	for _, call := range b.order {
		row := b.of[call]
		if row < 0 || !kept[row] || b.same[call] {
			continue
		}
		if frame := s.at(call); frame >= 0 {
			times[blame{row, t.Frames.Name[frame]}] += t.Host.End[call] - t.Host.Start[call]
		}
	}
	most := map[int32]blame{}
	for k, time := range times {
		best, found := most[k.row]
		if !found || time > times[best] || time == times[best] && k.frame < best.frame {
			most[k.row] = k
		}
	}
	for row, k := range most {
		b.rows[row].Source = t.Names[k.frame]
	}
}

// blame is a row and the name of a frame.
type blame struct{ row, frame int32 }

// framed is the thread whose frames explain each thread: itself if it has
// some, else the one of its process with most.
func framed(t *recording.Timeline) []int32 {
	counts := make([]int, len(t.Threads))
	for _, thread := range t.Frames.Thread {
		counts[thread]++
	}
	most := map[[2]int]int32{} // thread with most frames, by process and rank
	for i, thread := range t.Threads {
		key := [2]int{thread.PID, thread.Rank}
		if best, found := most[key]; !found || counts[i] > counts[best] {
			most[key] = int32(i)
		}
	}
	out := make([]int32, len(t.Threads))
	for i, thread := range t.Threads {
		if out[i] = int32(i); counts[i] == 0 {
			out[i] = most[[2]int{thread.PID, thread.Rank}]
		}
	}
	return out
}

// stacks goes over the frames of all threads in order of time.
type stacks struct {
	t      *recording.Timeline
	thread []int32
	open   [][]int32
	next   int
	own    []int8 // of a name, whether it is the user's: 0 unknown yet, 1 no, 2 yes
}

// at returns the user's innermost frame around a call, or -1. Calls must be given in order of start.
func (s *stacks) at(call int32) int32 {
	f, start := &s.t.Frames, s.t.Host.Start[call]
	for ; s.next < len(f.Start) && f.Start[s.next] <= start; s.next++ {
		thread := f.Thread[s.next]
		if s.users(f.Name[s.next]) {
			s.open[thread] = append(s.still(thread, f.Start[s.next]), int32(s.next))
		}
	}
	thread := s.thread[s.t.Host.Thread[call]]
	s.open[thread] = s.still(thread, start)
	if open := s.open[thread]; len(open) > 0 {
		return open[len(open)-1]
	}
	return -1
}

// still drops frames that have ended from the end of a thread's stack.
func (s *stacks) still(thread int32, at int64) []int32 {
	open := s.open[thread]
	for len(open) > 0 && s.t.Frames.End[open[len(open)-1]] <= at {
		open = open[:len(open)-1]
	}
	return open
}

func (s *stacks) users(name int32) bool {
	if s.own[name] == 0 {
		s.own[name] = 1
		if recording.OwnFrame(s.t.Names[name]) {
			s.own[name] = 2
		}
	}
	return s.own[name] == 2
}
