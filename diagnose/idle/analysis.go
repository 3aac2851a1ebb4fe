package idle

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker/recording"
)

// Analysis is what the devices of a Timeline did, and what the host did in
// their gaps. It reads the Timeline and changes nothing in it.
type Analysis struct {
	Devices   []Device // those with work, in order of Timeline.Devices; of a process with many the busiest
	Worked    int      // how many devices worked
	Processes []Process

	t        *recording.Timeline
	rows     [6][]uint8  // place in table + 1 by kind and name, 0 unknown yet; the last is for frames
	calls    lists       // host calls of each thread
	frames   lists       // Python frames of each thread
	works    lists       // work of each device
	first    []int32     // of a host call, the first work that it launched; -1 none
	launched []int32     // of a thread, the last call that launched any; -1 none
	opens    []bool      // of a work, whether it is the first of its name on its device
	named    lists       // host calls of each name, once they were asked for
	usual    []int64     // of a name, the median length of its host calls once it was asked for, else 0
	of       []int32     // process of each thread
	hosts    lists       // host calls of each process
	every    []int32     // all host calls, once they were asked for
	marked   bool        // the file shows where steps begin and end
	framed   bool        // names of a framework are in the file
	compiled bool        // the program shows no sign of Python
	turns    []stretches // of each thread, when it was on a CPU, once that was asked for
	comm     []int8      // of a name, whether it is a collective: 0 unknown yet
}

// Process is one process of the Timeline, of one rank.
type Process struct {
	PID, Rank  int
	Main       int32 // index of the thread that owns the steps; -1 unknown
	Waits      int32 // of the thread that is waiting for tf.data where that is not Main; -1 none
	Start, End int64 // of its host events

	steps []span // on the host's clock
	runs  bool   // marks tell that steps went before the recording
}

// Device is what one device did in its judged window. Nanoseconds.
type Device struct {
	Index   int32 // into Timeline.Devices
	Process int   // into Analysis.Processes; -1 unknown
	From    int64 // the judged window
	To      int64

	Steps   []Step     // that are judged; none where the whole recording is
	Seen    int        // steps that were recorded
	Left    []Unjudged // of these, those that are not judged
	StartUp bool       // a trace of a program's start: see WarmUp

	// Apart names the content of a recording without a steady step, such as graph
	// capture: nothing of it is to be judged.
	Apart recording.Phase

	Kernel        int64 // some kernel ran that is no collective
	Copy          int64 // a copy or set ran and no kernel
	Fills         bool  // nearly all time of copies and sets that start in the window is of sets
	Crossing      int64 // of Copy, what crossed the link to the host
	Communication int64 // a collective ran and nothing else
	Idle          int64 // nothing ran
	Causes        [Causes]int64

	// Opening is the part of Communication, and of the gaps charged to it, before the end of the
	// recording's first collective: ranks are not recorded from the same instant on, and
	// a rank there may be waiting for another's recorder, or its start.
	Opening int64

	// Joining is Opening if it lasts as long as making a communicator does.
	Joining int64

	// Start is how long the program ran until its first call of the device, or, if SetUp, until the device was set up:
	// no part of the window.
	Start int64
	SetUp bool

	// Edge is the gap before the first work of a recording that no mark bounds, if it is no
	// part of the window.
	Edge int64

	// Earlier is whether the device worked throughout Edge on launches from before the recording, and Queued how long
	// the first recorded work waited for that, from the call that launched it on.
	Earlier bool
	Queued  int64

	Works  int           // pieces of work that start in the window
	Places [Causes]Place // of each cause the gap with most of it
	Short  [Causes]Place // of each cause the gap below 2 ms with most of it

	Long   int64 // time of the host's causes in gaps of 2 ms and more, and in long ranges: no launch takes that long
	Ranged int64 // of Long, the part in shorter gaps

	Touched int64 // of Long, the part in shorter gaps that end as the host touches managed memory

	LongOnce int64 // of Long, what happens once

	Compiles, Allocates int64 // of WarmUp, what compiles, and what allocates
	Around              int64 // of WarmUp, the time beside calls that set something up, in which nothing was recorded

	LongAllocator int64 // of Long, what allocates

	// LongWork is the part of Long that the host spent on its other work, which might run
	// at the same time as the device's: not on waiting, allocations and work that happens once.
	LongWork int64

	// BeforeTiny is the host's part of gaps that end with a copy of less than 64 KiB
	// to the device: such copies are all overhead.
	BeforeTiny int64

	// AfterSync is idle time that begins with the return from a wait for the
	// device, at most the time waited: after hidden synchronisation and after explicit calls.
	AfterSync [2]int64
}

// WindowLength is the length of the judged window, nanoseconds.
func (d *Device) WindowLength() int64 { return d.To - d.From }

// Busy is the time in which anything ran, nanoseconds.
func (d *Device) Busy() int64 { return d.Kernel + d.Copy + d.Communication }

// Share is a part of the window, 0 to 1; NaN without a window.
func (d *Device) Share(ns int64) float64 {
	if d.To <= d.From {
		return math.NaN()
	}
	return float64(ns) / float64(d.To-d.From)
}

// Place is one gap and how much of it has a cause.
type Place struct {
	From, To int64 // the gap
	Time     int64 // of it with the cause
	Slice    Slice // its longest slice with the cause
}

// Slice is a part of a gap with one cause.
type Slice struct {
	From, To int64
	Cause    Cause
	Thread   int32 // whose doing it was, -1 the device's
	Call     int32 // index into Timeline.Host, -1 none
	Frame    int32 // innermost Python frame, index into Timeline.Frames; -1 none
	Next     int32 // the work that ended the gap, -1 none followed
	Gap      [2]int64
	Compiles bool // the gap ends with the first run of a kernel that is compiled for it
	Around   bool // nothing was recorded in it, and calls that set something up stand beside it
	Touch    bool // the gap ends because the host touches a page of managed memory: nothing is launched
}

// LongWork reports whether a slice is work of the host's own that no launch explains: in a
// gap of 2 ms and more, or within one range of somebody's that holds nothing else.
func (s Slice) LongWork() bool {
	own := s.Cause == Python || s.Cause == HostCode || s.Cause == CPUOp || s.Cause == Unrecorded
	return own && (s.Gap[1]-s.Gap[0] >= longGap || s.ranged() || s.Touch)
}

// bare reports whether a slice is so long a time without any call, in a program of no framework, that launching
// does not explain it.
func (s Slice) bare(a *Analysis) bool {
	silent := s.Cause == Unrecorded || s.Cause == HostCode && s.Call < 0
	return !a.framed && silent && s.To-s.From >= longRange
}

// ranged reports whether a slice is one range that somebody marked, in which nothing is
// called for long.
func (s Slice) ranged() bool {
	return (s.Cause == Python || s.Cause == HostCode) && s.Call >= 0 && s.To-s.From >= longRange
}

// Analyse measures every device with work. The run must have a Timeline.
func Analyse(run *recording.Run) *Analysis {
	t := run.Timeline
	a := &Analysis{t: t, marked: len(run.Steps) > 0 && run.Facts.MarksSteps()}
	a.buildIndex()
	a.compiled = !showsPython(run)
	a.framed = slices.ContainsFunc(t.Names, func(name string) bool {
		return recording.TorchSign(name) || recording.XLASign(name) ||
			recording.ContainsAny(name, "tensorflow", "Eigen::")
	})
	a.findProcesses()
	a.takeSteps(run.Steps)
	for _, d := range a.chooseDevices() {
		a.Devices = append(a.Devices, a.judgeDevice(d))
	}
	return a
}

// mostOfProcess is how many devices of one process are judged. [J] No machine has more, but a file may name any number,
// and judging one reads all host calls of the process.
const mostOfProcess = 16

// chooseDevices are the devices that are judged, in order: of each process those that work longest.
func (a *Analysis) chooseDevices() (chosen []int32) {
	of, work := make([][]int32, len(a.Processes)+1), make([]int64, len(a.t.Devices))
	for d := range int32(len(a.t.Devices)) {
		works := a.works.members(d)
		if len(works) == 0 {
			continue
		}
		a.Worked++
		for _, w := range works {
			work[d] += a.t.Device.End[w] - a.t.Device.Start[w]
		}
		owner := a.ownerOf(d) + 1
		of[owner] = append(of[owner], d)
	}
	for _, devices := range of {
		slices.SortStableFunc(devices, func(x, y int32) int { return cmp.Compare(work[y], work[x]) })
		chosen = append(chosen, devices[:min(mostOfProcess, len(devices))]...)
	}
	slices.Sort(chosen)
	return chosen
}

func (a *Analysis) judgeDevice(index int32) Device {
	d := Device{Index: index, Process: a.ownerOf(index)}
	a.settleWindow(&d)
	a.cover(&d)
	a.charge(&d)
	d.Opening, d.Joining = a.opening(&d)
	allocations := a.countAllocations(&d)
	if d.startUp(allocations) || d.Seen <= 1 && (a.worksOnce(&d) || a.beginsOnce(&d) ||
		allocations > 0 && a.stopsOnce(&d)) {
		d.StartUp = true
		a.charge(&d)
	}
	return d
}

// startQuarter of what happens once is a window in which it may be the program's start. [J]
const startQuarter = 4

// fewAllocations is the number of kernels for each allocation from which a pass is a first one, whose memory later
// passes reuse. [J] A first pass of PyTorch allocates for every third kernel at most.
const fewAllocations = 2

// startUp: a trace shows a program's start where what happens once is most of the time in which
// nothing is computed, or a quarter of the window and the largest part of it, and that time
// is most of the window. [J] Half, of either. What happens in several steps does not
// happen once.
func (d *Device) startUp(allocations int) bool {
	if d.Seen >= keepAll {
		return false
	}
	once, waits := d.Causes[WarmUp]+d.Joining, d.Idle+d.Joining
	if fewAllocations*allocations < d.Works { // a program that allocates for each kernel does so to its end
		once += d.Causes[Allocator]
	}
	return 2*waits > d.WindowLength() && (2*once > waits || startQuarter*once > d.WindowLength() && d.leads(once))
}

// What little a device does while a program starts. [J] The first calls of a few operators, and the test of one
// fused kernel.
const (
	fewAtStart = 200 // pieces of work
	fewGaps    = 5
	inFewGaps  = 0.8 // share of the window that the longest few gaps take
)

// worksOnce reports whether a few gaps between pieces of work are most of a recording of no several steps: the host
// compiles, loads or calls things for the first time there.
func (a *Analysis) worksOnce(d *Device) bool {
	if d.Works >= fewAtStart || 2*d.Causes[DataLoader] > d.WindowLength() { // the loader's batch is no first call
		return false
	}
	var gaps []int64
	last := [2]int64{math.MinInt64, math.MinInt64}
	for s := range a.Slices(d, d.From, d.To) {
		if s.Gap != last && s.Gap[0] > d.From && s.Gap[1] < d.To {
			gaps = append(gaps, s.Gap[1]-s.Gap[0])
		}
		last = s.Gap
	}
	slices.SortFunc(gaps, func(x, y int64) int { return cmp.Compare(y, x) })
	longest := int64(0)
	for _, gap := range gaps[:min(fewGaps, len(gaps))] {
		longest += gap
	}
	return float64(longest) >= inFewGaps*float64(d.WindowLength())
}

// beginsOnce reports whether the gap between a program's first call of the device and the first work is most of a
// recording that holds the program's beginning and no several steps: nothing shows that it comes again.
func (a *Analysis) beginsOnce(d *Device) bool {
	works := a.works.members(d.Index)
	lead := a.t.Device.Start[works[0]] - d.From
	return d.Start > 0 && !a.marked && float64(lead) >= inFewGaps*float64(d.WindowLength()) &&
		2*d.Causes[DataLoader] <= d.WindowLength()
}

// stopsOnce reports whether one gap between pieces of work, in which nothing of the host was recorded, is most of a
// recording of a framework's program: what a first call compiles or loads. Of a pass that comes again the allocator
// would have the memory.
func (a *Analysis) stopsOnce(d *Device) bool {
	p := d.Places[Unrecorded]
	if own := d.Places[HostCode]; own.Time > p.Time {
		p = own
	}
	return a.framed && p.From > d.From && p.To < d.To && float64(p.Time) >= inFewGaps*float64(d.WindowLength())
}

// countAllocations is how many calls in a device's window allocate or free memory.
func (a *Analysis) countAllocations(d *Device) (n int) {
	h, allocates := &a.t.Host, map[int32]bool{}
	for _, i := range a.callsBetween(d, d.From, d.To) {
		if h.Kind[i] != recording.Runtime {
			continue
		}
		does, asked := allocates[h.Name[i]]
		if !asked {
			does = recording.AllocatesMemory(a.t.Names[h.Name[i]])
			allocates[h.Name[i]] = does
		}
		if does {
			n++
		}
	}
	return n
}

// leads reports whether what happens once is the largest part of the idle time.
func (d *Device) leads(once int64) bool {
	for c, ns := range d.Causes {
		if c != int(WarmUp) && c != int(Allocator) && ns > once {
			return false
		}
	}
	return true
}

// longGap is the length from which a gap is no matter of launching, nanoseconds.
// [J] An operator with its Python code takes 10 to 100 us.
const longGap = 2_000_000

// longRange is the length from which a range without any call in it counts as work,
// nanoseconds. [J] Five times of what the longest operator with its Python code takes.
const longRange = 500_000

// charge adds up the slices of the window.
func (a *Analysis) charge(d *Device) {
	d.Causes, d.Places, d.Short, d.AfterSync = [Causes]int64{}, [Causes]Place{}, [Causes]Place{}, [2]int64{}
	d.Long, d.Ranged, d.Touched, d.LongOnce, d.LongAllocator, d.LongWork, d.BeforeTiny = 0, 0, 0, 0, 0, 0, 0
	d.Compiles, d.Allocates, d.Around = 0, 0, 0
	waits := a.waits(d)
	var gap [Causes]Place
	last := [2]int64{math.MinInt64, math.MinInt64}
	for s := range a.Slices(d, d.From, d.To) {
		if s.Gap != last {
			d.closeGap(&gap, waits)
			last = s.Gap
		}
		length := s.To - s.From
		d.Causes[s.Cause] += length
		switch {
		case s.Cause.Host() && s.Gap[1]-s.Gap[0] >= longGap:
			d.Long += length
			switch s.Cause {
			case WarmUp:
				d.LongOnce += length
			case Allocator:
				d.LongAllocator += length
			default:
			}
		case s.Cause.Host() && s.Touch:
			d.Long, d.Touched = d.Long+length, d.Touched+length
		case s.ranged() || s.bare(a):
			d.Long, d.Ranged = d.Long+length, d.Ranged+length
		}
		if s.LongWork() {
			d.LongWork += length
		}
		switch {
		case s.Cause != WarmUp:
		case s.Around:
			d.Around += length
		case s.Compiles, a.rowOfSlice(s) == rowCompiles:
			d.Compiles += length
		case a.rowOfSlice(s) == rowAllocates:
			d.Allocates += length
		}
		issues := s.Cause.Host() && s.Cause != Allocator && s.Cause != WarmUp || s.Cause == CopyIssue
		if s.Next >= 0 && issues && a.tiny(s.Next) {
			d.BeforeTiny += length
		}
		p := &gap[s.Cause]
		p.From, p.To, p.Time = s.Gap[0], s.Gap[1], p.Time+length
		if length > p.Slice.To-p.Slice.From {
			p.Slice = s
		}
	}
	d.closeGap(&gap, waits)
}

// closeGap takes a gap into account whose parts are known, and empties it.
func (d *Device) closeGap(gap *[Causes]Place, waits []HostWait) {
	host, from, to := int64(0), int64(0), int64(0)
	for c := range gap {
		if gap[c].Time > d.Places[c].Time {
			d.Places[c] = gap[c]
		}
		// after the last work nothing waits for a launch, and a first call takes longer than the others
		isShort := gap[c].To-gap[c].From < longGap && gap[c].Slice.Next >= 0
		if Cause(c) != WarmUp && isShort && gap[c].Time > d.Short[c].Time {
			d.Short[c] = gap[c]
		}
		if gap[c].Time > 0 {
			from, to = gap[c].From, gap[c].To
			if Cause(c).Host() {
				host += gap[c].Time
			}
		}
		gap[c] = Place{}
	}
	if host > 0 {
		d.afterSync(from, to, host, waits)
	}
}

// justBefore is how long before a gap a wait may have returned to have emptied
// the device's queue: a launch and its way take less. Nanoseconds. [J]
const justBefore = 100_000

// afterSync adds how much of the host's part of a gap a wait for the device is to
// blame for: without it the host would have been ahead by as much. The
// wait began before the gap, and its end is where the gap begins. What a loader
// takes is the loader's.
func (d *Device) afterSync(from, to, host int64, waits []HostWait) {
	i := sort.Search(len(waits), func(i int) bool { return waits[i].To > to }) - 1
	if i < 0 {
		return
	}
	w := &waits[i]
	if w.To < from-justBefore || w.From >= from {
		return
	}
	kind := 1
	if w.Hidden {
		kind = 0
	}
	d.AfterSync[kind] += min(host, w.To-w.From)
}

// rowOfSlice is the table's row of what a slice is charged to.
func (a *Analysis) rowOfSlice(s Slice) uint8 {
	switch {
	case s.Call >= 0:
		return a.causeRow(uint8(a.t.Host.Kind[s.Call]), a.t.Host.Name[s.Call])
	case s.Frame >= 0:
		return a.causeRow(frameRow, a.t.Frames.Name[s.Frame])
	}
	return noRow
}

// Name is the index of the name of what a slice is charged to: the call, else
// the frame; -1 if it is neither.
func (a *Analysis) Name(s Slice) int32 {
	switch {
	case s.Call >= 0:
		return a.t.Host.Name[s.Call]
	case s.Frame >= 0:
		return a.t.Frames.Name[s.Frame]
	}
	return -1
}

// IsCollective reports whether a piece of work is an exchange between ranks: by
// its kind, else by its name, for those that no reader knows.
func (a *Analysis) IsCollective(work int32) bool {
	if k := a.t.Device.Kind[work]; k != recording.Kernel {
		return k == recording.Collective
	}
	name := a.t.Device.Name[work]
	if a.comm[name] == 0 {
		a.comm[name] = 1
		if isExchangeName(a.t.Names[name]) {
			a.comm[name] = 2
		}
	}
	return a.comm[name] == 2
}

func (a *Analysis) causeRow(kind uint8, name int32) uint8 {
	r := &a.rows[kind][name]
	if *r == 0 {
		bit := uint8(1) << kind
		if kind == frameRow {
			bit = aFrame
		}
		*r = rowOf(bit, a.t.Names[name]) + 1
	}
	return *r - 1
}

const frameRow = 5 // place of frames in Analysis.rows

// kinds of names that are known for certain to be exchanges. Kernels of
// libraries other than NCCL: RCCL, oneCCL, MSCCL, NVSHMEM, DeepEP, custom
// all-reduce kernels of inference servers.
func isExchangeName(name string) bool {
	lower := lowered(name)
	return recording.ContainsAny(lower, "nccl", "rccl", "oneccl", "msccl", "nvshmem", "deep_ep", "dpsk::ep",
		"allreduce", "all_reduce", "allgather", "all_gather", "all_to_all", "alltoall", "reduce_scatter",
		"reducescatter", "sendrecv", "cross_device_reduce", "multimem_") ||
		recording.ContainsAny(lower, "moe") && recording.ContainsAny(lower, "dispatch", "combine") &&
			recording.ContainsAny(lower, "::ep", "a2a", "intranode", "internode")
}
