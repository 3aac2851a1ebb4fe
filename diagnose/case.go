package diagnose

import (
	"strings"

	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// Case is what rules ask: what was measured of the judged window, and questions of it with
// their answers. Package live fills it from the signals of a job, package traced from a
// profiler's gaps. A rule sees nothing else, and cannot tell which of the two it was. NaN is
// unknown; a Quantity that cannot be asked of the run is the zero one.
type Case struct {
	Measured

	// What kind of steps the window has.
	HasSteps      bool    // steps over a loader are known
	HasUnfedSteps bool    // steps of a loop are known that no loader feeds
	Rows          []Row   // of the time by the device's own clock; nil if its work was not seen
	IsTrial       bool    // a trace holds next to no work of the device: it tells nothing
	Glimpse       float64 // share of the recording that is judged, if next to none and the rest is not known; else 0
	TooFewSteps   bool    // steps were seen or begun, too few to judge
	OnlySkips     bool    // batches are fetched and thrown away, and nothing else was done yet

	// What kind of recording a trace is.
	ModelComputes  bool       // operators of a model are in a recording without a device's work
	DeviceSign     string     // what shows that a device was used in such a recording: an operator, a device's name; ""
	CPUWork        []Evidence // that operators of the CPU alone take much of such a recording
	HostLoading    []Evidence // that the loop is inside its loader for much of it
	HostInput      []Evidence // that it waits for its input for most of it
	HostReceives   []Evidence // that operators wait for other processes for most of it
	DeviceTraced   bool       // the recorder of such a recording was asked for the device's calls, and there was none
	DeviceListed   bool       // DeviceSign is no more than a device that the file lists
	IsStartUp      bool       // a program's start: most idle time is what happens once
	InsteadOfSteps string     // what was recorded instead of steady steps, "graph capture"; "" if it has some
	Once           Once       // what a program's start is made of
	Recorder       float64    // share of the window that is idle because the host was recorded
	Causes         []Cause    // of idle time, most first
	LoneGap        float64    // seconds of the gap with most of the idle time, 0 if it is spread over several
	GapEvidence    []Evidence
	WarmUpEvidence []Evidence

	Grounds Grounds // what advice the recording can carry

	// The program and the machine.
	IsTraining       bool    // a profiler ran over steps, or a loader served batches
	Ending           *Ending // nil if it ended with 0, or continues
	Model            *ModelFacts
	GPUCount         int        // in the machine, as far as they can be seen
	TorchLoaded      bool       // PyTorch is loaded
	HookLoaded       bool       // and the hook is in it
	HookMissing      bool       // the hook is not in the program that is judged
	NoPython         bool       // the job's processes were watched, and none of them is a Python program
	HoldsDevice      bool       // a process of the job holds the device
	KernelsRecur     bool       // the device works again and again, however little
	LoaderIterated   bool       // a DataLoader was iterated
	LooksAtAsker     bool       // LoopLines are of the thread that asks for batches, and another one launches
	Asker            string     // another thread that asks for the batches, a sentence; "" none, or unknown
	LaunchThreadTime string     // where the launching thread's time goes, a sentence; "" unknown
	ProgramEvidence  []Evidence // of steps and loaders, where nothing tells that it is training

	// Input: who loads, and whether the device is waiting for it.
	InputShort          Quantity
	InputShortBeside    Quantity // the same, where Parts do not tell which of the two leads
	LaunchThreadLoads   Quantity // without workers
	LaunchThreadAtWork  Quantity // always
	WorkersLoad         Quantity
	WorkersSaturated    Quantity // they always have a batch to prepare
	OwnCodeDelaysDevice Quantity // no DataLoader is there, and the program's own code keeps the device waiting
	JobAwaitsOthers     Quantity // no DataLoader is there, and nothing of the job works while the device is idle
	FewAreSlow          Quantity // samples, which hold the others up
	TakesBatchesOver    Quantity // the launching thread, most of the time that it is waiting for them
	SamplerDraws        Quantity // in the launching thread, most of that time
	FetchEvidence       []Evidence

	// The loader's workers run in a Ray cluster. Of them nothing above is asked but InputShort.
	ClusterLoads     Quantity
	ClusterAtWork    Quantity // its workers always have a batch to prepare
	ClusterMoves     Quantity // batches are on their way for long
	ClusterStoreFull Quantity
	ClusterNodeSlow  Quantity

	Lines []Line // of code on which preparing a batch goes, most first

	// Cores: loading wants one and none is left; a quota has them, or other programs.
	LoadingLacksCores  Quantity
	QuotaTakesCores    Quantity
	OthersTakeCores    Quantity
	LaunchingLacksCore Quantity // which keeps the device waiting
	CoreEvidence       []Evidence

	// Storage: loading is waiting for it, and of which kind that is.
	LoadingWaitsForStorage Quantity
	MemoryShort            Quantity
	StorageRemote          Quantity // over a network, or from a program
	DiskExhausted          Quantity
	RequestsSmall          Quantity

	// What the device's time goes into.
	DeviceBusy            Quantity // it computes all the time
	CopiesTakeTime        Quantity
	RoomForCopies         Quantity // there is time for them to take
	DeviceWaitsForLaunch  Quantity
	LaunchOutlastsKernel  Quantity
	DeviceWaitsInLongGaps Quantity // for the host
	CollectivesRunAlone   Quantity
	ExchangeUntimed       Quantity // ranks exchange much, and nothing tells how long computing is waiting for it
	OneRankLate           Quantity // the other ranks wait for it
	SeveralRanks          bool     // the job has other ranks: a kernel that is waiting for them counts as running
	ClockHeldDown         Quantity // by heat or the board's protection
	DeviceShared          Quantity // programs outside the job compute on it

	// Servers.
	NobodyAsks  Quantity // for much of the time
	PassesSmall Quantity // a pass takes few of the requests that wait
	HostServes  Quantity // the host works for requests while the device idles
	NobodyWorks Quantity // requests are there, the device idles, and no core works for them
	FewerPasses float64  // the device's work, over that of passes that took all requests that are there
	OnDevice    bool     // a device's clock ticks within passes, or steps wait for a device
	CacheIsFull Quantity // a language model's cache, so that requests are put off

	// Words beside the class.
	RankComparison string // a sentence; "" if there is one rank
	Findings       []Finding
	UtilPattern    []Finding // the shape of GPU-Util's curve, said last
	Doubts         []string  // as in Verdict
	Paced          bool      // as in Verdict
	Replay         *replay.Trace
	Warnings       []string
}

// NewCase knows nothing.
func NewCase() *Case { return &Case{Measured: nothingMeasured()} }

// ModelFacts is where the model's parameters lie.
type ModelFacts struct{ Device, DType string }

// OnCPU reports whether the parameters are known to lie in host memory.
func (m *ModelFacts) OnCPU() bool { return m != nil && strings.HasPrefix(m.Device, "cpu") }

// MostStall is what the device can have waited for input at most, where its clock is not
// known: no longer than it idled, nor than the thread that asks for batches is kept waiting, be it
// another thread than the one that launches.
func (c *Case) MostStall() float64 {
	if waits := c.Costs.Wait / c.Costs.HostStep; c.HasSteps && waits >= 0 {
		return min(c.Idle, waits)
	}
	return c.Idle
}

// LineEvidence says on which lines a fetch spends its time.
func (c *Case) LineEvidence() []Evidence {
	var said []string
	for _, line := range c.Lines[:min(LinesSaid, len(c.Lines))] {
		said = append(said, WholePercent(line.Share.Point)+" "+line.String())
	}
	if len(said) == 0 {
		return nil
	}
	return AddEvidence(nil, c.Lines[0].Share.Point, "ratio", string(recording.FetchStack),
		"by line, preparing batches goes into: %s", strings.Join(said, ", "))
}
