package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// Restarts are processes that load PyTorch one after another.
type Restarts struct {
	Count   int
	Imports int             // of them, of which it is known that they import PyTorch
	Seconds float64         // from their starts to their first passes, or to their ends where none was seen, in all
	Share   float64         // of the run, while the device idles
	At      recording.Place // the program's line that imports PyTorch; without a file if unknown
}

// Measured is what was measured of a run's judged window, before anybody judges it: plain
// figures. Package live fills it from signals and package traced from a profiler's file. Rules,
// ledger, plan and JSON read the same fields. NaN is unknown. Figures lists them with their
// names, units and origins.
type Measured struct {
	Restarts Restarts // processes that load PyTorch one after another

	From, To float64 // seconds: the window, else the run's second half
	Costs    measure.Costs

	// The device.
	Stall            float64 // share of the window in which it waited for input
	StallSource      Source
	Idle             float64          // share of the window in which nothing ran on it
	Util             float64          // share of the window in which some kernel ran
	UtilFrom         recording.Signal // what told that of a live job
	Shares           Shares
	Device           int       // as in Verdict
	Parts            Parts     // what the window went into
	ClockShare       float64   // mean clock over its highest
	OtherJobsShare   float64   // share of the time in which kernels of other jobs ran
	RankLateBy       float64   // share of the window in which other ranks wait for one that is late
	DeviceMemoryUsed []float64 // of each GPU, share of its memory

	Requests  measure.Requests // of a server
	Garbage   float64          // share of the window in which Python collected garbage
	LoopLines LoopLines        // where the launching thread was, while it prepared no batch
	Beside    LoopLine         // where another thread mostly ran while that one waited for a lock; the zero one unknown

	// Its work, in a trace.
	WorksRecorded float64 // pieces of work in the whole recording
	WorksJudged   float64 // pieces of work in the window
	LaunchCalls   float64 // calls that launch work in a recording that holds none of it
	Kernels       KernelShares
}

// nothingMeasured is where every figure is unknown.
func nothingMeasured() Measured {
	nan := math.NaN()
	return Measured{
		Stall: nan, Idle: nan, Util: nan, Shares: Shares{nan, nan, nan, nan}, Parts: unknownParts(), Device: -1,
		Requests:      measure.NoRequests(),
		WorksRecorded: nan, WorksJudged: nan, RankLateBy: nan, ClockShare: nan, Garbage: nan, OtherJobsShare: nan,
		Kernels: KernelShares{Plain: nan, Tensor: nan, Moving: nan, Vector: nan, Major: nan},
	}
}

// DescribeBeside says where another thread mostly runs while the launching one waits for a lock; "" unknown.
func (m *Measured) DescribeBeside() string {
	if m.Beside.Own.File == "" {
		return ""
	}
	return fmt.Sprintf("Meanwhile another thread of its process runs, %s of that time in %s (%s)",
		WholePercent(m.Beside.Share.Point), m.Beside.Own.Function, m.Beside.Short())
}

// Figure is one of the figures with its name, its unit and its origin.
type Figure struct {
	Name   string
	Value  float64
	Unit   string
	Origin string
}

// Figures are those that are known: what the device did, then the mean costs of a step.
func (m *Measured) Figures() []Figure {
	all := []Figure{
		{"window", m.To - m.From, "s", "step"},
		{"stall", m.Stall, "ratio", string(m.StallSource)},
		{"idle", m.Idle, "ratio", meterOf(m)},
		{"kernels", m.Util, "ratio", meterOf(m)},
		{"copies_alone", m.Shares.Copy, "ratio", "step.copy"},
		{"communication_alone", m.Shares.Communication, "ratio", "step.exchange"},
		{"waits_for_launch", m.Parts.Host, "ratio", "step.launches"},
		{"waits_for_host", m.Parts.Long, "ratio", "step.launches"},
		{"waits_for_core", m.Parts.Queued, "ratio", string(recording.ThreadQueue)},
		{"waits_now_and_then", m.Parts.Rare, "ratio", "step"},
		{"waits_for_unknown", m.Parts.Unnamed, "ratio", meterOf(m)},
		{"garbage", m.Garbage, "ratio", string(recording.Garbage)},
		{"clock_share", m.ClockShare, "ratio", string(recording.GPUClock)},
		{"kernels_of_others", m.OtherJobsShare, "ratio", string(recording.GPUOthers)},
		{"rank_late", m.RankLateBy, "ratio", "step.exchange"},
	}
	if r := m.Requests; r.Known() {
		all = append(all, []Figure{
			{"requests", r.Rate, "1/s", string(recording.RequestsCame)},
			{"no_requests", r.None, "ratio", string(recording.Unasked)},
			{"requests_at_a_time", r.InFlightAsked(), "requests", string(recording.InFlight)},
			{"request_p50", r.Time(0.5), "s", string(recording.RequestTime)},
			{"request_p99", r.Time(0.99), "s", string(recording.RequestTime)},
			{"first_byte_p50", r.FirstByte(0.5), "s", string(recording.FirstByteTime)},
			{"requests_per_pass", r.PerPass(), "requests", "step.ran"},
			{"samples_per_pass", r.Batch, "samples", "step.samples"},
			{"waits_for_requests", m.Parts.Unasked, "ratio", string(recording.Unasked)},
			{"requests_wait", m.Parts.Awaited, "ratio", string(recording.FetchLooks)},
		}...)
	}
	if c := m.Costs; len(c.Window.Steps) > 0 {
		all = append(all, []Figure{
			{"step", c.Step, "s", "step"},
			{"host_wait", c.Wait, "s", "step.wait"},
			{"fetch", c.Fetch, "s", string(recording.FetchWall)},
			{"fetch_core", c.FetchCPU, "s", string(recording.FetchCPU)},
			{"fetch_queue", c.FetchQueue, "s", string(recording.ThreadQueue)},
			{"fetch_cv", c.FetchCV, "ratio", string(recording.FetchWallSquares)},
			{"fetch_slow", c.FetchSlow, "s", string(recording.FetchWall)},
			{"collate", c.FetchCollate, "s", string(recording.FetchCollate)},
			{"workers_at_work", c.WorkersBusy, "ratio", string(recording.ThreadState)},
			{"launch_thread_core", c.LaunchCPU, "s", string(recording.ThreadCPU)},
			{"launch_thread_queue", c.LaunchQueue, "s", string(recording.ThreadQueue)},
			{"cores_used", c.CoresUse, "cores", string(recording.TreeCPU)},
			{"cores_of_others", c.Others, "cores", string(recording.MachineCPU)},
			{"held_back_by_quota", c.Throttled, "ratio", string(recording.Throttled)},
			{"read_from_storage", c.DiskRate, "bytes/s", string(recording.ProcessDisk)},
		}...)
	}
	return slices.DeleteFunc(all, func(f Figure) bool { return math.IsNaN(f.Value) })
}

// meterOf is the signal that told for how long kernels ran.
func meterOf(m *Measured) string {
	if !math.IsNaN(m.WorksRecorded) {
		return string(FromTrace)
	}
	return string(cmp.Or(m.UtilFrom, recording.GPUUtilisation))
}
