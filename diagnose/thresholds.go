package diagnose

// This file is the table of thresholds: from where on a figure of a run counts. A row has a name, a
// unit and a source. A source is "[J]" for a judgement without a measurement, else
// "published:" or "measured:" with its place. The judgements were chosen with the labelled runs of
// bench/labelled in view, and the exam in bench/accuracy shows what a change of one does.
//
// Live runs and traces read the same row wherever they ask the same question. What a single
// function needs is a named constant next to it. thresholds_test.go keeps literals out of rules.

// Ramps of what keeps the device waiting, and of its work.
var (
	// InputStall is the device's wait for input, by its own clock or by gaps inside the loader.
	InputStall = Ramp{0.03, 0.07, "share of the window", "[J] runs that need nothing lie below 5 %"}
	// InputLost is the same wait, if other causes are judged by the rest.
	InputLost = Ramp{0.05, 0.20, "share of the window", "published: XProf's moderately and highly input-bound"}
	// InputBesideDevice is the same wait, if a faster device would bring more than faster input.
	InputBesideDevice = Ramp{0.09, 0.11, "share of the window", "[J] in the middle of XProf's moderately input-bound"}
	// IdleByMeter is idle time by a meter alone, which is an upper bound of that wait.
	IdleByMeter = Ramp{0.10, 0.25, "share of the window", "[J]"}
	// IdleBehindBusyLoader is the same where all workers are always at work.
	IdleBehindBusyLoader = Ramp{0.03, 0.08, "share of the window", "[J]"}
	// TrainerAwaitsRing is the trainer's wait for the ring of stoker's loader, also an upper bound.
	TrainerAwaitsRing = Ramp{0.10, 0.25, "share of the window", "[J]"}

	// CopyTime is what copies over the host's link take while no kernel runs.
	CopyTime = Ramp{0.07, 0.15, "share of the window or step", "[J]"}
	// StagedCopies is what copies from pageable memory would take of idle time. A link's rate with
	// them is known within a factor of five: by chance alone they take up to nine tenths.
	StagedCopies = Ramp{0.5, 0.75, "share of the idle time", "[J]"}
	// FreeForCopies is time without a kernel that input does not explain.
	FreeForCopies = Ramp{0.05, 0.12, "share of the window", "[J]"}

	// HostGaps is the device's wait for the host: in gaps up to LongGap, and in longer ones.
	HostGaps = Ramp{0.08, 0.15, "share of the window", "[J]"}
	// ShortKernel is a launch's time over the median kernel's.
	ShortKernel = Ramp{0.5, 1, "ratio", "[J]"}
	// SmallKernels is how much of the SMs kernels use while they run, below which launching them
	// takes longer: 0.6 % for 200 small layers, 73 to 90 % for eleven other loops on H100 and H200.
	SmallKernels = Ramp{0.1, 0.03, "SM activity over utilisation", "measured: bench/gpu"}
	// LaunchAwaitsCore is what the device idles while the launching thread is waiting for a core.
	LaunchAwaitsCore = Ramp{0.05, 0.12, "share of the window", "[J]"}

	// ExchangeAlone is the time of collectives without computation at the same time.
	ExchangeAlone = Ramp{
		0.05, 0.12, "share of the window",
		"[J] torch-tb-profiler warns above 10 %, XProf calls 3 to 15 % moderate",
	}
	// ExchangeOnNetwork is how much of an interface ranks use, if nothing times their waiting.
	ExchangeOnNetwork = Ramp{0.125, 0.25, "share of the interface's rate", "[J]"}
	// RoomForExchange is SM activity, from which the device has no time to wait for ranks.
	RoomForExchange = Ramp{0.85, 0.75, "SM activity", "[J]"}
	// RankLate is what other ranks wait for one: TraceML's warning and critical.
	RankLate = Ramp{LateWarning, LateCritical, "share of the window", "published: TraceML"}

	// DeviceBusy is the time in which some kernel runs, by the meters of a live run.
	DeviceBusy = Ramp{0.82, 0.93, "share of the window", "[J]"}
	// DeviceAtWork is the device's own work in a trace, where the gaps have names.
	DeviceAtWork = Ramp{0.78, 0.90, "share of the window", "[J]"}
	// DeviceAtWorkAlone is the same where next to nothing else takes the rest.
	DeviceAtWorkAlone = Ramp{0.75, 0.90, "share of the window", "[J]"}
	// DeviceLeads is the device's own work where a faster device would bring most: below No the
	// gaps are a separate matter.
	DeviceLeads = Ramp{0.60, 0.70, "share of the window", "[J]"}
	// DeviceLeadsBy is how much more that brings than closing the largest gaps.
	DeviceLeadsBy = Ramp{0, 0.10, "share of the window", "[J]"}
	// DeviceUnused is a device that does nothing, and HeldDeviceUnused one that the job holds.
	DeviceUnused     = Ramp{0.06, 0.03, "utilisation", "[J]"}
	HeldDeviceUnused = Ramp{0.02, 0.01, "utilisation", "[J]"}

	// OwnPartOfInput is a part of the window over input's, from which it is no remainder of it.
	OwnPartOfInput = Ramp{1.5, 3, "ratio", "[J]"}
	// PartBesideKernels is a part of the window over the kernels', from which it limits a device
	// without gaps. A seventh does not.
	PartBesideKernels = Ramp{0.15, 0.4, "ratio", "[J]"}
)

// Ramps of what the host does.
var (
	// WorkersAtWork is how much of their time all workers have a batch to prepare.
	WorkersAtWork = Ramp{0.70, 0.88, "share of the window", "[J]"}
	// WorksInLoader is how much the launching thread works inside its loader's span, and
	// RestsInLoader how much it rests there.
	WorksInLoader = Ramp{0.1, 0.4, "share of the wait", "[J]"}
	RestsInLoader = Ramp{0.6, 0.9, "share of the wait", "[J]"}
	// LoadsWhileIdle is how much of the idle time the launching thread spends in a loader's fetch.
	LoadsWhileIdle = Ramp{0.25, 0.5, "share of the idle time", "[J]"}
	// LaunchThreadAtWork is how much the launching thread works, which may be spinning.
	LaunchThreadAtWork = Ramp{0.6, 0.85, "share of the window", "[J]"}
	// TakesBatchOver is how much of its wait for a batch the launching thread takes one over from
	// a worker, or draws the indices of the next one.
	TakesBatchOver = Ramp{0.4, 0.7, "share of the wait", "[J]"}
	// OwnCodeWhileIdle is how much of the idle time the launching thread works, in a loop that no
	// DataLoader feeds.
	OwnCodeWhileIdle = Ramp{0.5, 0.75, "share of the idle time", "[J]"}
	// AwayWhileIdle is how much of the idle time that thread sleeps or is parked.
	AwayWhileIdle = Ramp{0.2, 0.4, "share of the idle time", "[J]"}

	// BatchesOnTheWay is how much of its time a batch of a worker in a cluster is on its way to the trainer. With
	// two batches begun by each worker, up to half of it is hidden behind the next one's preparation.
	BatchesOnTheWay = Ramp{0.5, 0.65, "share of a batch's time", "[J]"}
	// StoreFull is how much of an object store the batches of a loader take at most. Others use it as well.
	StoreFull = Ramp{0.6, 0.9, "share of the store", "[J]"}
	// NodeSlower is how much less time a batch takes on the other nodes than on the slowest.
	NodeSlower = Ramp{0.25, 0.5, "share of its time", "[J]"}

	// FewSlow is how unevenly long fetches take, from which few slow ones hold the others up. Fetches of
	// samples that are alike vary by less than half of their mean.
	FewSlow = Ramp{1, 1.5, "coefficient of variation", "[J]"}

	// CoresLeft is how many cores the job leaves free.
	CoresLeft = Ramp{0.6, 0.25, "cores", "[J]"}
	// WorkersQueue is how much of their time workers wait for a core.
	WorkersQueue = Ramp{0.1, 0.25, "share of the window", "[J]"}
	// Throttled is how much of the time a CPU quota holds the job back.
	Throttled = Ramp{0.03, 0.07, "share of the window", "[J]"}
	// FetchWantsCore is how much of a fetch wants a core: the rest sleeps or reads.
	FetchWantsCore = Ramp{0.35, 0.65, "share of a fetch", "[J]"}
	// CoresCompute is how many of its cores a job uses whose model seems to be on the CPU, and
	// CoreComputes how much of one core.
	CoresCompute = Ramp{0.4, 0.7, "share of the cores", "[J]"}
	CoreComputes = Ramp{0.6, 0.9, "cores", "[J]"}

	// StorageWait is the part of fetching that is waiting for storage, and RemoteWait the part of that wait
	// is for a network or a program.
	StorageWait = Ramp{0.3, 0.6, "share of fetching", "[J]"}
	RemoteWait  = Ramp{0.3, 0.6, "share of the wait", "[J]"}
	// DiskAtWork is how much of the time a disk has requests.
	DiskAtWork = Ramp{0.8, 0.95, "share of the window", "[J]"}
	// SmallReads is the mean read, below which requests count more than bytes.
	SmallReads = Ramp{1.5 * (128 << 10), 128 << 10, "bytes", "[J] the kernel's readahead asks for as much"}
	// MemoryWait is the share of time in which some task is waiting for memory (the kernel's PSI).
	MemoryWait = Ramp{0.05, 0.15, "share of the window", "[J]"}

	// MeterHigh is what people call a high GPU-Util or CPU, and BothLow what they call low.
	MeterHigh = Ramp{0.8, 0.95, "utilisation", "[J]"}
	BothLow   = Ramp{0.5, 0.3, "utilisation", "[J]"}
)

// Scores: how much of a yes an answer is.
const (
	UnknownScore = 0.5  // score; [J] neither convinces nor rules out
	YesScore     = 0.75 // score, from which an answer is "yes"; [J]
	NoScore      = 0.25 // score, up to which an answer is "no"; [J]
	LikelyScore  = 0.5  // score, from which a question is taken for a yes; [J]
	NamedScore   = 0.05 // score, above which a second rule is named; [J]

	// Unlikely is the score of an unknown answer to a question that would rule the case out, or
	// that the case rests on alone: without evidence it is taken for a probable no.
	Unlikely = 0.2 // score; [J]
)

// Thresholds of what keeps the device waiting, and of its work.
const (
	// FedStall is the longest wait for input of a fed device. A tenth is what several published
	// tools call a busy device; verdicts of runs that need nothing lie below 5 %.
	FedStall = 0.10 // share of the window; [J]

	LeastStall    = 0.02  // share of the window, from which faster input is proposed; [J]
	CoveredWait   = 0.20  // share of the host's time in next(), from which it is worth a word; [J]
	CoveredStall  = 0.05  // share of the window, below which queued work covers such a wait; [J]
	EpochStarts   = 0.03  // share of the window, from which epochs' first batches are a finding; [J]
	MuchIdle      = 0.20  // share of the window, from which an idle device belies its full memory; [J]
	NothingRan    = 0.97  // share of the window, below which an idle device was used all the same; [J]
	Unexplained   = 0.10  // share of the window, from which idle time without a cause is shown; [J]
	StallsDiffer  = 1e-3  // share of the window, by which one device of a trace is waiting longer; [J]
	Mostly        = 0.5   // share, from which something is most of it; [J]
	fullRing      = 0.9   // share of the time with a full ring, from which the trainer is slower; [J]
	leastLost     = 0.05  // share of the window lost to the host: half of LaunchTrigger; [J]
	ShownCause    = 0.005 // share of the window, below which a sentence leaves a cause out; [J]
	ShownXProf    = 5e-4  // share of the window, below which a part of XProf's view is left out; [J]
	NamedInTrace  = 0.05  // share, from which a warning names what a trace does not link; [J]
	LittleAtAll   = 0.10  // share of the window, below which collectives leave the device its time; [J]
	AllInAKernel  = 0.95  // share of the time, in which one kernel spins for another rank; [J]
	LinkInUse     = 0.5   // utilisation, from which a link does not step down to save power; [J]
	SlowLink      = 0.6   // share of the link's rate, up to which it is slow: a generation less; [J]
	BothWays      = 0.5   // rate over the other direction's, from which both carry an exchange; [J]
	AStranger     = 0.5   // processes in the mean, from which one holds the device; [J]
	FewWorks      = 10    // pieces of work, below which a trace shows a trial and no step; [J]
	ManyExchanges = 100   // collectives in a step, from which latency counts; [J]
	LongExchange  = 50e-6 // seconds in the mean, from which an unknown kernel may be an exchange; [J]

	LateWarning  = 0.10 // share of the window; published: TraceML's warning
	LateCritical = 0.20 // share of the window; published: TraceML's critical

	// LongGap is what parts launching from other work of the host.
	LongGap     = 2e-3 // seconds; [J]
	LongGapText = "2 ms"

	unlinkedOfIdle   = 0.2  // share of the idle time that ends with work of unknown launch; [J]
	unlinkedOfWindow = 0.03 // share of the window, likewise; [J]
	queueOfIdle      = 0.5  // share of the idle time in which launched work does not start; [J] most of it

	TensorCores = 7 // compute capability, from which there are Tensor Cores; published: Volta, V100
	TensorTF32  = 8 // compute capability, from which they take TF32 and bf16; published: Ampere, A100
)

// Triggers of findings that a trace and a live run share.
const (
	LaunchTrigger = 0.10 // share of the window; [J]
	WaitTrigger   = 0.01 // share of the window, idle after a wait; [J]
	HeldTrigger   = 0.05 // share of the window in which waiting holds the host, with any gap after it; [J]
	SerialTrigger = 0.05 // share of the window in copies that nothing overlaps; [J]
	TinyPerStep   = 20.0 // small copies in a step; [J]
	TinyCopy      = 64e3 // bytes, below which a copy's call takes longer than its bytes; [J]
)

// Thresholds of what the host does.
const (
	NamedCores     = 0.2  // cores, above which an answer tells who has them; [J]
	ManyOthers     = 0.3  // cores of other programs, from which they may take those of the job; [J]
	OthersAtWork   = 0.05 // cores of the job's other threads that are worth a word; [J]
	TorchAtWork    = 0.5  // cores, above which a process with PyTorch may train unseen; [J]
	NamedQueue     = 0.05 // share of a fetch that is waiting for a core, worth a word; [J]
	HeldByQuota    = 0.05 // share of the window; [J] half of what Throttled calls full
	QuotaInUse     = 0.9  // share of a quota, from which it holds the job back; [J]
	CrowdedFetch   = 0.25 // share of a fetch that is waiting for a core, with too many workers; [J]
	PinThreadBusy  = 0.8  // share of the window, from which the pinning thread is always at work; [J]
	WorkersRest    = 0.7  // share of the window, below which workers wait for others; [J]
	DiskLimitUsed  = 0.8  // share of a group's limit; [J] the kernel's bursts leave some
	LeastFetching  = 0.02 // share of the time, below which nothing is fetched to judge by; [J]
	UsualWait      = 0.01 // share of a step, that a usual wait counts as at least; [J]
	SlowOfWait     = 0.5  // share of the wait for input, that slow fetches take at least if they are its cause; [J]
	ShmPlanned     = 0.8  // share of /dev/shm that queued batches take; [J] batches differ
	PinnedShare    = 0.25 // share of the machine's memory that queued batches lock; [J]
	ManySyncs      = 10.0 // reads of the device in a step: sixty norms, not the loss and a metric; [J]
	PaddingBeyond  = 0.2  // share of a batch beyond its longest sample; [J]
	PaddingUneven  = 0.3  // share of a batch that is padding, if samples of a batch differ in length; [J]
	ShmLeft        = 0.1  // share of /dev/shm that is left at least; [J] others use it as well
	WaitsOfHangs   = 0.7  // share of what hangs lose, above which they wait for a batch; [J]
	OthersOfHangs  = 0.3  // share of it, below which they do not; [J]
	RegularHangs   = 0.2  // coefficient of variation, up to which hangs come at intervals; [J]
	HungOnDisk     = 0.1  // share of the time, above which a hung thread reads; [J]
	SteadyGrowth   = 0.5  // share of the mean growth, that each third of the run has at least; [J]
	GrowthReadings = 12   // readings, below which a growth is not told; [J]
	ShortTraining  = 30   // seconds of steady training, below which a warning says so; [J]
	UnclockedSteps = 0.1  // share of the steps, above which their clocks do not tell the stall; [J]
)

// Thresholds of the ledger and of the row that it leads with.
const (
	// leastWaited is the least idle time of a row's device: below it the row is no loss that people
	// search for.
	leastWaited = 0.05 // share of a row's time; [J]

	// LeadingLoss is what a row outside of the steps loses, from which a verdict may lead with it.
	LeadingLoss    = FedStall // share of the run; [J]
	LeadingUnknown = 0.05     // the same, of a run whose steps have no known limit; [J]

	// MuchLonger is how much longer a first step takes, from which it is one of the warm-up.
	MuchLonger = 3.0 // typical loops; [J]

	// LeadingOnce and LeadingOnceShare are how long what comes once takes before it may lead. A
	// job of hours has no more of it than a trial of a minute.
	LeadingOnce      = 120.0 // seconds; [J]
	LeadingOnceShare = 0.5   // share of the run; [J]

	// FewBatches and ManyPasses tell a loop that makes an iterator for each batch from epochs.
	FewBatches = 2  // batches of a pass, in the mean; [J]
	ManyPasses = 10 // passes, below which nothing is said; [J]

	FewLooks  = 20.0  // looks at the launching thread, below which no line is named; [J]
	NamedLine = 0.3   // share of a row's samples, from which its line is named; [J]
	ShownRow  = 0.005 // share of the run, below which a row is not shown to people; [J]
	SlowLine  = 0.25  // share of preparing a batch, by its low end, from which a line is worth taking away; [J]
)

// Ramps of servers. All were chosen with bench/serving in view.
var (
	// Unasked is the time without a request, from which a server has capacity left.
	Unasked = Ramp{0.20, 0.40, "share of the window", "[J]"}
	// HostForRequests is what the host works for requests while the device idles: as HostGaps.
	HostForRequests = Ramp{0.08, 0.15, "share of the window", "[J]"}
	// Awaited is the time in which requests are there and no core works: sleep tells less than work.
	Awaited = Ramp{0.10, 0.20, "share of the window", "[J]"}
	// WaitingPerSample is how many requests are there for each sample of a pass: while one computes and one is
	// prepared, a third keeps a full device busy.
	WaitingPerSample = Ramp{3, 3.5, "requests", "[J]"}
	// JobsAtOnce is the time in which a worker of a queue does not wait for its next job: as many others wait then as
	// WaitingPerSample asks for, less what is under way.
	JobsAtOnce = Ramp{0.80, 0.87, "share of the worker's time", "[J] M/D/1: 1.6 and 2.9 wait in the mean"}
	// SmallPass is the samples of a pass: a few are small, six are not.
	SmallPass = Ramp{6, 4, "samples", "[J]"}
	// DeviceAsked is the device's work in the time with requests, from which they wait for it.
	DeviceAsked = Ramp{0.50, 0.70, "share of the time with requests", "[J]"}
	// PutOff is how many requests are put off for want of cache, for each that is answered.
	PutOff = Ramp{0.02, 0.10, "requests", "[J]"}
	// CacheInUse is how full a key-value cache is that puts requests off.
	CacheInUse = Ramp{0.43, 0.85, "share of the cache", "[J]"}
)
