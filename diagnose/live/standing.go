package live

import (
	"github.com/stoker-dev/stoker/diagnose"
)

// findStanding are the findings of a live run that are shown with its class.
func (l filler) findStanding() (out []diagnose.Finding) {
	for _, find := range []func() (diagnose.Finding, bool){
		l.findHung, l.findRepeated, l.findSkipping, l.findUnused, l.findWithoutData, l.findHangs, l.findStrangers,
		l.findSlowLink,
		l.findPinThread, l.findDeepQueue, l.findPinnedQueue,
		l.findPadding, l.findCopiedDataset, l.findDriverMemory,
		l.findMemoryGrowth, l.findShortMemory,
		l.findTooManyWorkers, l.findCrowdingThreads, l.findSlurmCores, l.findNUMARemote, l.findStorageSpikes,
	} {
		if f, ok := find(); ok {
			out = append(out, f)
		}
	}
	return out
}
