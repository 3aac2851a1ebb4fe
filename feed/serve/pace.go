package serve

import (
	"time"

	"github.com/stoker-dev/stoker/feed/ring"
)

// pace measures how fast a client takes batches, and which side waits for the other.
type pace struct {
	interval time.Duration // from one release to the next, smoothed
	last     time.Time     // of the latest release, or start
	waiting  party         // which side has been waiting since
	since    time.Time
	waits    [parties]time.Duration
}

// party is the side of a session that waits.
type party int

const (
	nobodyWaits party = iota
	clientWaits       // nothing is on loan and nothing is ready: the daemon is slower
	daemonWaits       // every slot is full: the client is slower, as it should be
	parties           // their number
)

const (
	// maxInterval limits the effect of one long pause (a validation, a checkpoint) on the
	// interval.
	maxInterval = 2 * time.Second
	// smoothing is the weight of the latest interval: the mean covers about 8 batches.
	smoothing = 0.125
)

// restart begins a new interval, so that the pause since the last release does not count.
func (p *pace) restart(now time.Time) { p.last = now }

// noteRelease records a release.
func (p *pace) noteRelease(now time.Time) {
	latest := min(now.Sub(p.last), maxInterval)
	p.last = now
	if p.interval == 0 {
		p.interval = latest
		return
	}
	p.interval += time.Duration(smoothing * float64(latest-p.interval))
}

// wantedTime returns when the client will probably ask for the batch submitted next. It comes after
// the batches that the client has and those in the queue. A later step never gets an earlier
// time.
func (p *pace) wantedTime(now time.Time, queue []*slotFill, counts ring.Counts) time.Time {
	ahead := counts.Loaned + len(queue)
	at := now.Add(time.Duration(ahead) * max(p.interval, time.Millisecond))
	if n := len(queue); n > 0 && at.Before(queue[n-1].wanted) {
		return queue[n-1].wanted.Add(time.Microsecond)
	}
	return at
}

// noteTime adds the time since the last call to the side that was waiting, and records which
// side waits now.
func (p *pace) noteTime(now time.Time, next party) {
	if !p.since.IsZero() {
		p.waits[p.waiting] += now.Sub(p.since)
	}
	p.waiting, p.since = next, now
}
