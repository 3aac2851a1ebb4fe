package cpu

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Kernel functions in which a thread sleeps, by the start of their names (the compiler adds
// ".isra.0" and the like). Seen on kernel 6.18 with CPython 3.11 and PyTorch 2.15; with older
// names.
//
// A function in none of the lists counts as parked: a loader worker waits for its next index in
// poll, a pipe, a futex or a Unix socket (poll_schedule_timeout, do_poll, anon_pipe_read,
// futex_do_wait, do_epoll_wait, unix_stream_read_generic, do_sigtimedwait).
var (
	remoteSleeps = []string{
		"sk_wait_data", "tcp_recvmsg", "wait_woken", // a TCP read; with poll and a timeout in front it seems parked
		"rpc_", "nfs", "fuse_", "__fuse_", "request_wait_answer", // also uninterruptible
		"p9_", "cifs_", "smb2_", "wait_for_response", "ceph_", "lustre", "ptlrpc_", "cl_sync_io",
	}
	diskSleeps = []string{
		"io_cqring_wait", "read_events", // io_uring and libaio wait for what they asked for
	}
	elseSleeps = []string{
		"hrtimer_nanosleep", "do_nanosleep", "common_nsleep", "clock_nanosleep",
		"do_wait", "kernel_wait4", // for a program that it runs: a decoder, a shell command
		"wait_for_vfork_done", "locks_lock_inode_wait", "flock_lock_inode_wait", "__do_sys_pause", "sys_pause",
		"inet_csk_accept", "do_signal_stop",
		"nv_", "nvidia", "uvm_", // the GPU's driver
	}
)

// threadState returns a thread's state from its state letter and the kernel function in which it
// sleeps. ok is false for a dead thread.
func threadState(letter byte, wchan string) (state recording.State, ok bool) {
	switch letter {
	case 'R':
		return recording.Running, true
	case 'D':
		if begins(wchan, remoteSleeps) {
			return recording.Remote, true
		}
		if begins(wchan, elseSleeps) {
			return recording.Asleep, true
		}
		return recording.OnDisk, true
	case 'S', 'I':
		return sleepState(wchan), true
	case 'T', 't':
		return recording.Asleep, true
	}
	return 0, false
}

func sleepState(wchan string) recording.State {
	switch {
	case begins(wchan, remoteSleeps):
		return recording.Remote
	case begins(wchan, diskSleeps):
		return recording.OnDisk
	case begins(wchan, elseSleeps):
		return recording.Asleep
	}
	return recording.Parked
}

func begins(name string, heads []string) bool {
	for _, head := range heads {
		if strings.HasPrefix(name, head) {
			return true
		}
	}
	return false
}
