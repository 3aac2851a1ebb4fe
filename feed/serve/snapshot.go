package serve

import (
	"cmp"
	"slices"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/ring"
)

// Snapshot is the state of the daemon at a moment, for its recording. Counters only grow; two
// snapshots give rates.
type Snapshot struct {
	Time     time.Time
	Threads  feed.Load
	Loaders  map[string]feed.Counters // by name
	Sessions []sessionSnapshot        // by loader and rank
}

// sessionSnapshot is one loader on one rank.
type sessionSnapshot struct {
	Loader string
	Rank   int
	PID    int // of the client, as it reported

	Slots         ring.Counts
	Delivered     int64         // batches
	Consumed      int64         // batches released, of the current run only
	Samples       int64         // in those batches
	ClientWaits   time.Duration // nothing was on loan and nothing ready: the daemon was slower
	DaemonWaits   time.Duration // every slot was full: the client was slower
	TrainerWaited time.Duration // in next(), as the client reports it
	Bad           int64
}

// takeSnapshot returns the daemon's current state.
func (d *daemon) takeSnapshot() Snapshot {
	d.mu.Lock()
	sessions := make([]*session, 0, len(d.sessions))
	for s := range d.sessions {
		sessions = append(sessions, s)
	}
	d.mu.Unlock()
	snapshot := Snapshot{Time: time.Now(), Loaders: map[string]feed.Counters{}}
	if d.options.engine != nil {
		snapshot.Threads = d.options.engine.poolLoad()
	}
	for _, s := range sessions {
		snapshot.Sessions = append(snapshot.Sessions, s.describeSession(snapshot.Time))
		snapshot.Loaders[s.share.spec.Name] = s.share.loader.CurrentCounters()
	}
	slices.SortFunc(snapshot.Sessions, func(a, b sessionSnapshot) int {
		return cmp.Or(cmp.Compare(a.Loader, b.Loader), cmp.Compare(a.Rank, b.Rank))
	})
	return snapshot
}

func (s *session) describeSession(now time.Time) sessionSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.noteTime(now, s.pace.waiting)
	c := s.counts
	return sessionSnapshot{
		Loader: s.share.spec.Name, Rank: s.rank, PID: s.pid, Slots: s.ring.CountSlots(),
		Delivered: c.delivered, Consumed: c.consumed, Samples: c.samples, TrainerWaited: c.waited,
		ClientWaits: s.pace.waits[clientWaits], DaemonWaits: s.pace.waits[daemonWaits], Bad: c.bad,
	}
}
