package launch

import (
	"os"
	"runtime"
	"sync"
)

// trialThreads are the threads that begin in a trial at once: as many as begin before a
// verb looks how many more there can be.
const trialThreads = 8

// EndTrial ends a process that stoker_entry started to see whether Go's runtime begins
// here. main calls it first, when all packages are initialized.
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
