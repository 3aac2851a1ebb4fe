package decode

import (
	"runtime"
	"testing"
	"time"
)

// TestThreadTime: a thread that waits, for a core or for anything, does not age.
func TestThreadTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const wait = 50 * time.Millisecond
	before, begun := threadTime(), time.Now()
	time.Sleep(wait)
	slept := time.Since(begun)
	if took := threadTime() - before; took < 0 || took >= slept { // the clock's time between the two looks is at least slept
		t.Errorf("%v of sleep are %v of CPU time", slept, took)
	}
}
