//go:build linux

package observe

import (
	"slices"

	"github.com/stoker-dev/stoker/observe/stack"
	"github.com/stoker-dev/stoker/observe/step"
	"github.com/stoker-dev/stoker/recording"
)

// linesEvery is how often it is written where loading threads were, seconds.
const linesEvery = 5

// lines tells the watch of stacks which threads load, and writes its samples. Workers
// do, and a trainer's own thread may.
func (r *recorder) lines(now float64) {
	if r.o.NoLines || r.job == nil {
		return
	}
	var threads []stack.Thread
	for _, p := range r.job.Processes() {
		switch {
		case p.End > 0:
		case p.Role == recording.RoleTrainer:
			threads = append(threads, r.loopThreads(p)...)
		case p.Role == recording.RoleServer:
			threads = append(threads, serverThread(p, p.PID))
			threads = append(threads, r.busyOf(p)...)
		case p.Role == recording.RoleWorker:
			threads = append(threads, stack.Thread{PID: p.PID, TID: p.PID, For: recording.Loading{
				PID:    p.Parent,
				Worker: true,
			}})
		}
	}
	if r.stacks == nil {
		if len(threads) == 0 {
			return
		}
		r.stacks = stack.Start()
	}
	r.stacks.Follow(threads)
	r.noteAbsence("lines", r.stacks.Why())
	if now >= r.nextLines {
		r.nextLines = now + linesEvery
		r.stacks.Write(now, r.out)
		r.awaits(now)
	}
}

// awaits writes where coroutines of servers waited.
func (r *recorder) awaits(now float64) {
	if r.awaited == nil {
		r.awaited = map[string]float64{}
	}
	for _, p := range r.intake.Processes() {
		sums := map[string]float64{}
		for _, a := range p.Awaits {
			s := recording.Stack{
				Loading: recording.Loading{PID: p.PID, Outside: true}, Asleep: true,
				Awaits: recording.Awaits(a.Who), Places: stack.PlacesOfCoroutine(a.Frames),
			}
			own := slices.ContainsFunc(s.Places, recording.Place.Own)
			if s.Awaits == recording.OfTask && own && !stack.IsOwn(a.Frames[0].File) {
				s.Awaits = recording.OfRequest // a framework began it, as a middleware does for a request
			}
			if len(s.Places) > 0 {
				sums[s.SeriesSubject()] += a.Seconds
			}
		}
		for subject, seconds := range sums {
			last, known := r.awaited[subject]
			if known && last == seconds {
				continue
			}
			if !known {
				r.out.AddSample(recording.AwaitStack, subject, r.wroteAwaits, 0)
			}
			r.awaited[subject] = seconds
			r.out.AddSample(recording.AwaitStack, subject, now, seconds)
		}
	}
	r.wroteAwaits = now
}

// loopThreads returns the threads of a trainer that are looked at: the one that launches; of a
// server also the one that takes requests, those that ran its model lately, and others that
// work.
func (r *recorder) loopThreads(p recording.Process) []stack.Thread {
	heard := r.intake.FindProcess(p.PID)
	if heard == nil || !heard.Serves && !r.takesRequests() {
		return []stack.Thread{{PID: p.PID, TID: p.LaunchThread, For: recording.Loading{PID: p.PID}}}
	}
	threads := []stack.Thread{serverThread(p, p.PID), serverThread(p, p.LaunchThread)} // the same one is followed once
	for _, tid := range heard.Runners {
		threads = append(threads, serverThread(p, tid))
	}
	return append(threads, r.busyOf(p)...)
}

// busyOf returns the other threads of a server's process that work.
func (r *recorder) busyOf(p recording.Process) (threads []stack.Thread) {
	for _, tid := range r.busy.findBusy(p.PID) {
		threads = append(threads, serverThread(p, tid))
	}
	return threads
}

// takesRequests reports whether some process of the job takes requests.
func (r *recorder) takesRequests() bool {
	return slices.ContainsFunc(r.intake.Processes(), func(p step.Process) bool { return p.Serves })
}

func serverThread(p recording.Process, tid int) stack.Thread {
	return stack.Thread{PID: p.PID, TID: tid, For: recording.Loading{PID: p.PID}, Server: true}
}

// endLines writes what was seen last.
func (r *recorder) endLines() {
	if r.stacks != nil {
		r.stacks.Close()
		r.stacks.Write(r.clock.now(), r.out)
		r.awaits(r.clock.now())
	}
}
