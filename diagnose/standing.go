package diagnose

// standing are the findings of a live run that stand beside its class.
func (l live) standing() (out []Finding) {
	for _, find := range []func() (Finding, bool){
		l.hung, l.hangs, l.skipping, l.strangers, l.slowLink, l.pinThread, l.deepQueue, l.copiedDataset, l.memoryGrowth, l.shortMemory,
		l.tooManyWorkers, l.slurmCores, l.numaRemote, l.storageSpikes,
	} {
		if f, ok := find(); ok {
			out = append(out, f)
		}
	}
	return out
}
