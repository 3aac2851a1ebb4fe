//go:build linux

package cpu

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/recording"
)

// thread is one thread whose state is read ten times a second. Its files stay open, which ties
// them to this very thread: when it is gone they return ESRCH, even if its number is in use
// again.
type thread struct {
	subject            string
	stat, wchan, sched int  // file descriptors, -1 where the file cannot be had
	letter             byte // of the last sample at which the kernel named its sleep, 0: none yet
	slept              recording.State
}

// watch opens the files of a thread.
func watch(proc string, pid, tid int) (*thread, error) {
	folder := fmt.Sprintf("%s/%d/task/%d/", proc, pid, tid)
	t := &thread{subject: fmt.Sprintf("thread/%d", tid), wchan: -1, sched: -1}
	var err error
	if t.stat, err = openFile(folder + "stat"); err != nil {
		return nil, err
	}
	t.wchan, _ = openFile(folder + "wchan")
	t.sched, _ = openFile(folder + "schedstat") // kernels without CONFIG_SCHED_INFO have none
	return t, nil
}

func openFile(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			if err != nil {
				return -1, fmt.Errorf("open %s: %w", path, err)
			}
			return fd, nil
		}
	}
}

func (t *thread) close() {
	for _, fd := range []int{t.stat, t.wchan, t.sched} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// look reads what the thread is doing now. The buffer is reused from thread to
// thread. ok is false when the thread is gone.
func (t *thread) look(buffer []byte) (state recording.State, ok bool) {
	letter, ok := stateLetter(pread(t.stat, buffer))
	if !ok {
		return 0, false
	}
	if letter != 'S' && letter != 'D' {
		return threadState(letter, "")
	}
	name := bytes.TrimSpace(pread(t.wchan, buffer))
	if len(name) > 0 && name[0] != '0' {
		t.letter = letter
		t.slept, ok = threadState(letter, string(name))
		return t.slept, ok
	}
	// Since 6.12 a thread that went to sleep may stay on its core's queue while others
	// use the core (EEVDF's delayed dequeue), and has no wchan then: it sleeps on as before.
	if letter == t.letter {
		return t.slept, true
	}
	return threadState(letter, "")
}

// stateLetter returns the state in a text of proc_pid_stat(5). The name before it may hold anything.
func stateLetter(stat []byte) (letter byte, ok bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 || end+2 >= len(stat) {
		return 0, false
	}
	return stat[end+2], true
}

// Glance returns what the first thread of a process does now, and when the process began (clock
// ticks since the machine booted). The agent uses it for the processes of many jobs. Of another
// user's process the kernel only says whether it runs, sleeps, or sleeps for a disk.
func Glance(proc string, pid int) (state recording.State, began uint64, ok bool) {
	t, err := watch(proc, pid, pid)
	if err != nil {
		return 0, 0, false
	}
	defer t.close()
	buffer := make([]byte, 1024)
	if began, ok = t.readField(buffer, 22); !ok {
		return 0, 0, false
	}
	state, ok = t.look(buffer)
	return state, began, ok
}

// readTimes reads how long the thread ran and how long it waited for a core since it
// began, seconds.
func (t *thread) readTimes(buffer []byte) (ran, queued float64, ok bool) {
	fields := bytes.Fields(pread(t.sched, buffer))
	if len(fields) < 2 {
		return 0, 0, false
	}
	a, rest := parseNumber(fields[0])
	b, more := parseNumber(fields[1])
	return float64(a) / 1e9, float64(b) / 1e9, len(rest)+len(more) == 0
}

// processor returns the processor on which the thread ran last; -1 if the kernel does not say.
func (t *thread) processor(buffer []byte) int {
	n, ok := t.readField(buffer, 39)
	if !ok {
		return -1
	}
	return int(n)
}

// readField returns a number of proc_pid_stat(5), which counts fields from 1; the name is the
// second and may hold anything.
func (t *thread) readField(buffer []byte, n int) (value uint64, ok bool) {
	stat := pread(t.stat, buffer)
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < n-2 {
		return 0, false
	}
	value, rest := parseNumber(fields[n-3])
	return value, len(rest) == 0
}

// parseNumber reads the decimal number at the start of text.
func parseNumber(text []byte) (value uint64, rest []byte) {
	for len(text) > 0 && text[0] >= '0' && text[0] <= '9' {
		value = value*10 + uint64(text[0]-'0')
		text = text[1:]
	}
	return value, text
}

func pread(fd int, buffer []byte) []byte {
	if fd < 0 {
		return nil
	}
	for {
		n, err := unix.Pread(fd, buffer, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n < 0 {
			return nil
		}
		return buffer[:n]
	}
}
