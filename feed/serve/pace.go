package serve

import (
	"time"

	"github.com/stoker-dev/stoker/feed/ring"
)

// pace is how fast a client takes batches, and who waits for whom.
type pace struct {
	interval time.Duration // from one release to the next, smoothed
	last     time.Time     // of the latest release, or start
	waiting  party         // who has been waiting since
	since    time.Time
	waits    [parties]time.Duration
}

// party is who waits for whom in a session.
type party int

const (
	nobodyWaits party = iota
	clientWaits       // nothing is on loan and nothing is ready: the daemon is slower
	daemonWaits       // every slot is full: the client is slower, as it should be
	parties           // how many there are
)

const (
	// maxInterval bounds what one long pause (a validation, a checkpoint) does to
	// the idea of the client's pace.
	maxInterval = 2 * time.Second
	// smoothing is the weight of the latest interval: some 8 batches are remembered.
	smoothing = 0.125
)

// restart forgets how long ago the last release was.
func (p *pace) restart(now time.Time) { p.last = now }

// released notes a release.
func (p *pace) released(now time.Time) {
	latest := min(now.Sub(p.last), maxInterval)
	p.last = now
	if p.interval == 0 {
		p.interval = latest
		return
	}
	p.interval += time.Duration(smoothing * float64(latest-p.interval))
}

// wanted is when the client will probably ask for the batch that is submitted
// next: behind those that it has and those that are before it in the queue. Later
// steps are never wanted earlier.
func (p *pace) wanted(now time.Time, queue []*slotFill, counts ring.Counts) time.Time {
	ahead := counts.Loaned + len(queue)
	at := now.Add(time.Duration(ahead) * max(p.interval, time.Millisecond))
	if n := len(queue); n > 0 && at.Before(queue[n-1].wanted) {
		return queue[n-1].wanted.Add(time.Microsecond)
	}
	return at
}

// noteTime adds the time since the last call to who was waiting.
func (p *pace) noteTime(now time.Time, next party) {
	if !p.since.IsZero() {
		p.waits[p.waiting] += now.Sub(p.since)
	}
	p.waiting, p.since = next, now
}

// notePace says who waits from now on. mu is held.
func (s *session) notePace() {
	who := nobodyWaits
	switch counts := s.ring.CountSlots(); {
	case s.run == nil || s.run.over && len(s.run.queue) == 0:
	case counts.Loaned == 0 && len(s.run.queue) > 0:
		who = clientWaits
	case counts.Free == 0 && counts.Filling == 0:
		who = daemonWaits
	}
	s.pace.noteTime(time.Now(), who)
}
