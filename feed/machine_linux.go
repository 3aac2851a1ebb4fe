package feed

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that the calling thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// lowerPriority makes the calling thread give way to the trainer. Besides its niceness it gets
// SCHED_BATCH, which tells the scheduler that the thread computes and need not be woken at
// once. Then it does not preempt other threads when a job arrives. If the system refuses, the
// loader works without it.
func lowerPriority(nice int) {
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil || own.Policy != unix.SCHED_NORMAL && own.Policy != unix.SCHED_BATCH {
		return // whoever started Stoker chose a policy
	}
	_ = unix.SchedSetAttr(0,
		&unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: niceBelow(own.Nice, nice)}, 0)
}

// stepBack gives the daemon's session the same niceness. If the kernel groups threads by
// session (sched_autogroup, on by default in many distributions), niceness counts only within a
// session, and a new session begins at 0. The daemon has its own session. A process that shares
// one, such as a test, does nothing here, as it would slow the others down.
//
// The daemon's other threads, and threads that they start, become SCHED_BATCH too. Each release
// wakes one of them, which on a full machine would otherwise take the trainer's core for
// milliseconds (bench/loader/RESULTS.md, hand-over).
func stepBack(nice int) {
	session, err := unix.Getsid(0)
	if err != nil || session != os.Getpid() {
		return
	}
	if own, err := unix.SchedGetAttr(0, 0); err == nil {
		// absent if the kernel does not group threads
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

// niceBelow adds steps to a niceness, up to 19. It starts from the process's own niceness,
// because a training started with nice already gives way to others.
func niceBelow(own int32, steps int) int32 { return min(own+int32(steps), 19) }
