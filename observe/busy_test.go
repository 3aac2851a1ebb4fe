//go:build linux

package observe

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

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
	path := fmt.Sprintf("/proc/self/task/%d/stat", works)
	before, _ := coreTicks(path)
	leash.Wait(t, "the thread to have worked", func() bool { now, _ := coreTicks(path); return now >= before+busyTicks })
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
