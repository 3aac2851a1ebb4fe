package rules

// rules are all rules, in the order in which they are explained. `make golden` adds a new one at the end.
var rules = []Rule{
	// <!-- begin rules -->
	startUp,
	gpuBound,
	mainThreadLoader,
	tooFewWorkers,
	clusterBound,
	handOver,
	slowSamples,
	cpuExhausted,
	neighbour,
	cgroupThrottled,
	ioBound,
	transferBound,
	launchBound,
	cpuBound,
	networkBound,
	straggler,
	throttled,
	sharedGPU,
	computeOnCPU,
	waitsOutside,
	notTraining,
	noLoad,
	batchTooSmall,
	serverHost,
	serverWaits,
	cacheFull,
	// <!-- end rules -->
}
