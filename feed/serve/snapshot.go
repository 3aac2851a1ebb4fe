package serve

import (
	"cmp"
	"slices"
	"time"

	"stoker/feed"
	"stoker/feed/ring"
)

// Snapshot is what the daemon does at a moment: for its recording, and for whoever
// looks. Counters only grow; who wants rates takes two snapshots.
type Snapshot struct {
	Time     time.Time
	Threads  feed.Load
	Loaders  map[string]feed.Counters // by name
	Sessions []SessionSnapshot        // by loader and rank
}

// SessionSnapshot is one loader on one rank.
type SessionSnapshot struct {
	Loader string
	Rank   int
	PID    int // of the client, as it said

	Epoch int64 // that is submitted
	Step  int   // the next to be submitted
	Slots ring.Counts

	Delivered     int64         // batches
	Consumed      int64         // batches released, of the run that they were made for
	Samples       int64         // in those
	Fill          time.Duration // from a slot's getting free to its being whole, summed over the batches
	Hold          time.Duration // from the hand-over to the release, summed over the batches consumed
	ClientWaits   time.Duration // nothing was on loan and nothing ready: the daemon was slower
	DaemonWaits   time.Duration // every slot was full: the client was slower
	TrainerWaited time.Duration // as the client says, in next()
	Bad, Inexact  int64
	Error         string // why the session ends
}

// sessionCounts are a session's sums.
type sessionCounts struct {
	delivered, consumed, samples int64
	fill, hold, waited           time.Duration
	bad, inexact                 int64
}

// whole counts a batch that was filled.
func (c *sessionCounts) whole(f *fill) {
	c.fill += f.batch.Finished.Sub(f.since)
	c.bad += int64(len(f.batch.Bad))
	c.inexact += int64(len(f.batch.Inexact))
}

// release counts a batch that was consumed.
func (c *sessionCounts) release(f *fill, now time.Time, waited float64) {
	c.consumed++
	c.samples += int64(f.batch.Count)
	c.hold += now.Sub(f.lent)
	if waited > 0 && waited < 1e9 { // what a client says is not believed, only added up
		c.waited += time.Duration(waited * float64(time.Second))
	}
}

// Snapshot says what goes on now.
func (d *Daemon) Snapshot() Snapshot {
	d.mu.Lock()
	sessions := make([]*session, 0, len(d.sessions))
	for s := range d.sessions {
		sessions = append(sessions, s)
	}
	d.mu.Unlock()
	snapshot := Snapshot{Time: time.Now(), Loaders: map[string]feed.Counters{}}
	if d.options.engine != nil {
		snapshot.Threads = d.options.engine.load()
	}
	for _, s := range sessions {
		snapshot.Sessions = append(snapshot.Sessions, s.snapshot(snapshot.Time))
		snapshot.Loaders[s.share.spec.Name] = s.share.loader.Statistics()
	}
	slices.SortFunc(snapshot.Sessions, func(a, b SessionSnapshot) int {
		return cmp.Or(cmp.Compare(a.Loader, b.Loader), cmp.Compare(a.Rank, b.Rank))
	})
	return snapshot
}

func (s *session) snapshot(now time.Time) SessionSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.note(now, s.pace.waiting)
	c := s.counts
	snapshot := SessionSnapshot{
		Loader: s.share.spec.Name, Rank: s.rank, PID: s.pid, Slots: s.ring.Counts(),
		Delivered: c.delivered, Consumed: c.consumed, Samples: c.samples, Fill: c.fill, Hold: c.hold, TrainerWaited: c.waited,
		ClientWaits: s.pace.waits[clientWaits], DaemonWaits: s.pace.waits[daemonWaits], Bad: c.bad, Inexact: c.inexact,
	}
	if s.run != nil {
		snapshot.Epoch, snapshot.Step = s.run.pass.epoch, s.run.step
	}
	if err := s.link.why(); err != nil {
		snapshot.Error = err.Error()
	}
	return snapshot
}
