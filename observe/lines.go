//go:build linux

package observe

import (
	"github.com/stoker-dev/stoker/observe/stack"
	"github.com/stoker-dev/stoker/recording"
)

// linesEvery is how often it is written where loading threads were, seconds.
const linesEvery = 5

// lines tells the watch of stacks which threads load, and writes what it saw. Workers
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
			threads = append(threads, stack.Thread{PID: p.PID, TID: p.LaunchThread, For: recording.Loading{PID: p.PID}})
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
	r.absent("lines", r.stacks.Why())
	if now >= r.nextLines {
		r.nextLines = now + linesEvery
		r.stacks.Write(now, r.out)
	}
}

// endLines writes what was seen last.
func (r *recorder) endLines() {
	if r.stacks != nil {
		r.stacks.Close()
		r.stacks.Write(r.clock.now(), r.out)
	}
}
