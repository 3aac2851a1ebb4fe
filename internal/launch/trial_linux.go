package launch

import (
	"os"
	"runtime"
	"sync"
)

// trialThreads is the number of threads that a trial starts at once: as many as start before a
// verb checks how many more are possible.
const trialThreads = 8

// EndTrial ends a process that stoker_entry started to test whether Go's runtime starts here.
// main calls it first, after all packages are initialized.
func EndTrial() {
	if !atStart.trial {
		return
	}
	var begun, ended sync.WaitGroup
	begun.Add(trialThreads)
	for range trialThreads {
		ended.Go(func() {
			runtime.LockOSThread()
			begun.Done()
			begun.Wait()
		})
	}
	ended.Wait()
	runtime.GC()
	os.Exit(0)
}
