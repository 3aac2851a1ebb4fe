package measure

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

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
func (m *meter) readFeeding() {
	l := m.run.FindLoader(m.Window.PID, m.Window.Loader)
	if l == nil || !Feeds(l.Settings) {
		return
	}
	m.Feed = &Feeding{Read: math.NaN(), Decode: math.NaN(), Transform: math.NaN()}
	if n := m.fedCount(recording.FeedBatches); n > 0 {
		m.Feed.Read, m.Feed.Decode, m.Feed.Transform = m.fedCount(recording.FeedRead)/n,
			m.fedCount(recording.FeedDecode)/n, m.fedCount(recording.FeedTransform)/n
	}
	ring := fmt.Sprintf("loader/%d/%d", l.PID, l.ID)
	m.Feed.Full, m.Feed.Empty = m.rate(recording.FeedFull, ring), m.rate(recording.FeedEmpty, ring)

	m.Fetch = m.Feed.Read + m.Feed.Decode + m.Feed.Transform
	m.FetchCPU = m.Fetch * m.onCore()
	m.FetchQueue = math.Max(0, m.Fetch-m.FetchCPU-m.Feed.Read) // its threads have nothing else to wait for than files
	m.WorkersBusy = math.Min(1, m.Fetch/(float64(m.Workers)*m.HostStep))
	m.OnDisk, m.Remote = m.WorkersBusy*m.Feed.Read/m.Fetch, 0
}

// fedCount returns by how much a counter of stoker's loader grew in the window: its client
// counts its input, or the daemon counts for all.
func (m *meter) fedCount(signal recording.Signal) float64 {
	if own := processSubject(m.Window.PID); m.run.Find(signal, own) != nil {
		return m.growth(signal, own)
	}
	sum := 0.0
	for _, p := range daemons(m.run) {
		sum += stat.Or(m.growth(signal, processSubject(p.PID)), 0)
	}
	return sum
}

// onCore returns the share of the threads' time that was spent on a core, by the core
// time of the daemons; they work for all trainers.
func (m *meter) onCore() float64 {
	core, busy := 0.0, 0.0
	for _, p := range daemons(m.run) {
		core += stat.Or(m.rate(recording.ProcessCPU, processSubject(p.PID)), 0)
	}
	for _, stage := range []recording.Signal{recording.FeedRead, recording.FeedDecode, recording.FeedTransform} {
		for _, s := range m.run.All(stage) {
			busy += stat.Or(s.Rate(m.from, m.to), 0)
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
