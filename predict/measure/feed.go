package measure

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// feeder returns the loader of a window if it is stoker's, else nil.
func feeder(run *recording.Run, w recording.Window) *recording.Loader {
	if l := run.FindLoader(w.PID, w.Loader); l != nil && Feeds(l.Settings) {
		return l
	}
	return nil
}

// daemons returns the processes of stoker feed, which work for all trainers.
func daemons(run *recording.Run) (all []recording.Process) {
	for _, p := range run.Facts.Processes {
		if p.Role == recording.RoleFeed {
			all = append(all, p)
		}
	}
	return all
}

// readFeeding takes what stoker's loader tells instead of what worker processes show.
// Its threads are not looked at one by one: how long they read, decode and
// transform says whether they are busy, and with what.
func (c *Costs) readFeeding(run *recording.Run) {
	l := feeder(run, c.Window)
	if l == nil {
		return
	}
	from, to := c.Window.Start, c.Window.End
	c.Feed = &Feeding{Read: math.NaN(), Decode: math.NaN(), Transform: math.NaN()}
	if n := c.fedCount(run, recording.FeedBatches); n > 0 {
		c.Feed.Read, c.Feed.Decode, c.Feed.Transform = c.fedCount(run, recording.FeedRead)/n,
			c.fedCount(run, recording.FeedDecode)/n, c.fedCount(run, recording.FeedTransform)/n
	}
	ring := fmt.Sprintf("loader/%d/%d", l.PID, l.ID)
	c.Feed.Full, c.Feed.Empty = run.Find(recording.FeedFull, ring).Rate(from, to),
		run.Find(recording.FeedEmpty, ring).Rate(from, to)

	c.Fetch = c.Feed.Read + c.Feed.Decode + c.Feed.Transform
	c.FetchCPU = c.Fetch * c.onCore(run)
	c.FetchQueue = math.Max(0, c.Fetch-c.FetchCPU-c.Feed.Read) // its threads have nothing else to wait for than files
	c.WorkersBusy = math.Min(1, c.Fetch/(float64(c.Workers)*c.HostStep))
	c.OnDisk, c.Remote = c.WorkersBusy*c.Feed.Read/c.Fetch, 0
}

// fedCount returns by how much a counter of stoker's loader grew in the window: its client
// counts its input, or the daemon counts for all.
func (c *Costs) fedCount(run *recording.Run, signal recording.Signal) float64 {
	own := run.Find(signal, fmt.Sprintf("process/%d", c.Window.PID))
	if own != nil {
		by, _ := own.Growth(c.Window.Start, c.Window.End)
		return by
	}
	sum := 0.0
	for _, p := range daemons(run) {
		by, _ := run.Find(signal, fmt.Sprintf("process/%d", p.PID)).Growth(c.Window.Start, c.Window.End)
		sum += stat.Or(by, 0)
	}
	return sum
}

// onCore returns the share of the threads' time that was spent on a core, by the core
// time of the daemons; they work for all trainers.
func (c *Costs) onCore(run *recording.Run) float64 {
	from, to := c.Window.Start, c.Window.End
	core, busy := 0.0, 0.0
	for _, p := range daemons(run) {
		core += stat.Or(run.Find(recording.ProcessCPU, fmt.Sprintf("process/%d", p.PID)).Rate(from, to), 0)
	}
	for _, stage := range []recording.Signal{recording.FeedRead, recording.FeedDecode, recording.FeedTransform} {
		for _, s := range run.All(stage) {
			busy += stat.Or(s.Rate(from, to), 0)
		}
	}
	if !(core > 0) || !(busy > 0) {
		return math.NaN()
	}
	return min(1, core/busy)
}

// FeedThreads returns how many threads stoker.DataLoader starts by default for a rank of this
// run. It leaves one core to the trainers if that is a small part of the machine, and the ranks
// of a node share the rest.
func FeedThreads(run *recording.Run) int {
	threads := max(1, int(math.Ceil(run.Facts.Machine.Cores())))
	if threads >= 4 {
		threads--
	}
	ranks := map[int]bool{}
	for _, l := range run.Facts.Loaders {
		ranks[l.PID] = true
	}
	return max(1, threads/max(1, len(ranks)))
}
