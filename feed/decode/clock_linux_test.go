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
	before := threadTime()
	time.Sleep(wait)
	if took := threadTime() - before; took < 0 || took > wait/2 {
		t.Errorf("%v of sleep are %v of CPU time", wait, took)
	}
}
