//go:build linux

package observe

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
)

// A thread of a server's process that works is found, and forgotten when it has ended.
func TestThreadsThatWorkAreFound(t *testing.T) {
	tid, stop, done := make(chan int), make(chan struct{}), make(chan struct{})
	var work func()
	work = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			go work() // on another one: the main thread is looked at anyhow
			<-done
			return
		}
		defer close(done)
		tid <- unix.Gettid()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
		}
	}
	go work()
	works, busy := <-tid, busyThreads{}
	busy.findBusy(os.Getpid())
	path := fmt.Sprintf("/proc/self/task/%d/schedstat", works)
	before, _ := readOnCores(path)
	leash.Wait(t, "the thread to have worked", func() bool { now, _ := readOnCores(path); return now.on >= before.on+wantsCore })
	if got := busy.findBusy(os.Getpid()); !slices.Contains(got, works) {
		t.Errorf("thread %d is not among %v", works, got)
	}
	close(stop)
	<-done
	leash.Wait(t, "the thread's end", func() bool { return !slices.Contains(busy.findBusy(os.Getpid()), works) })
	if got := busy.findBusy(-1); got != nil {
		t.Errorf("of no process: %v", got)
	}
}

// On a crowded machine a thread that works gets little of a core, and waits for it the rest of the time.
func TestAThreadThatGetsLittleOfACoreWorks(t *testing.T) {
	tid := firstOtherThread(t)
	now, ok := readOnCores(fmt.Sprintf("/proc/self/task/%d/schedstat", tid))
	if !ok {
		t.Skip("the kernel counts no core time by thread")
	}
	busy := busyThreads{}
	busy.findBusy(os.Getpid())
	busy.times[os.Getpid()][tid] = onCores{now.on - 30*time.Millisecond, now.waited - 500*time.Millisecond}
	if got := busy.findBusy(os.Getpid()); !slices.Contains(got, tid) {
		t.Errorf("%d is not among %v", tid, got)
	}
	busy = busyThreads{}
	busy.findBusy(os.Getpid())
	now, _ = readOnCores(fmt.Sprintf("/proc/self/task/%d/schedstat", tid))
	busy.times[os.Getpid()][tid] = onCores{now.on - time.Millisecond, now.waited - 500*time.Millisecond}
	if got := busy.findBusy(os.Getpid()); slices.Contains(got, tid) {
		t.Errorf("%d only wakes, and is among %v", tid, got)
	}
}

// firstOtherThread is a thread of this process, blocked in the kernel until the test ends.
func firstOtherThread(t *testing.T) int {
	tid, done := make(chan int), make(chan struct{})
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	var block func()
	block = func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			go block()
			<-done
			return
		}
		tid <- unix.Gettid()
		_, _ = unix.Read(ends[0], make([]byte, 1))
		close(done)
	}
	go block()
	t.Cleanup(func() {
		_ = unix.Close(ends[1])
		<-done
		_ = unix.Close(ends[0])
	})
	return <-tid
}
