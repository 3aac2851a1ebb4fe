package feed

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNice: the pool's threads have given way, the others have not.
func TestNice(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := scheduling(t)
	if before.Policy != unix.SCHED_NORMAL {
		t.Skipf("the test itself runs with policy %d", before.Policy)
	}
	pool := newTestPool(t, 3)
	done := queue(pool, time.Time{}, 9, func(int) {
		if own := scheduling(t); own.Nice != min(before.Nice+defaultNice, 19) || own.Policy != unix.SCHED_BATCH {
			t.Errorf("a thread of the pool has nice %d, policy %d; the test has nice %d", own.Nice, own.Policy, before.Nice)
		}
	})
	await(t, done)
	if after := scheduling(t); after != before {
		t.Errorf("another thread had nice %d, policy %d, and has nice %d, policy %d", before.Nice, before.Policy, after.Nice, after.Policy)
	}
}

// scheduling is that of the calling thread.
func scheduling(t *testing.T) unix.SchedAttr {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Error(err)
		return unix.SchedAttr{}
	}
	return *attr
}
