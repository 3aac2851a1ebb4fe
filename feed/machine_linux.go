package feed

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time that the calling thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// lowerPriority makes the calling thread give way to the trainer. Batch tells the
// scheduler beside niceness that the thread computes and need not be woken at
// once: it then preempts nobody when a job comes. Where it is not allowed, the
// loader works all the same.
func lowerPriority(nice int) {
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil || own.Policy != unix.SCHED_NORMAL && own.Policy != unix.SCHED_BATCH { // chosen by whoever started us
		return
	}
	_ = unix.SchedSetAttr(0,
		&unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: niceBelow(own.Nice, nice)}, 0)
}

// stepBack does the same for the session: where the kernel groups threads by
// session (sched_autogroup, on by default in many distributions), niceness counts
// only within one, and a new one begins at 0 whatever its threads have. The daemon
// has one of its own; whoever shares a session with others, such as a test, must
// not slow them down.
//
// The daemon's other threads are batch too, and those that they start: a release
// wakes one up, which on a full machine would otherwise take the trainer's core
// for milliseconds (bench/loader/RESULTS.md, hand-over).
func stepBack(nice int) {
	session, err := unix.Getsid(0)
	if err != nil || session != os.Getpid() {
		return
	}
	if own, err := unix.SchedGetAttr(0, 0); err == nil {
		// absent where there is no grouping
		_ = os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(int(niceBelow(own.Nice, nice)))), 0)
	}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		if own, err := unix.SchedGetAttr(tid, 0); err == nil && own.Policy == unix.SCHED_NORMAL {
			_ = unix.SchedSetAttr(tid,
				&unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: own.Nice}, 0)
		}
	}
}

// niceBelow is so many steps below a niceness: a training that was started with nice
// has already given way to others.
func niceBelow(own int32, steps int) int32 { return min(own+int32(steps), 19) }
