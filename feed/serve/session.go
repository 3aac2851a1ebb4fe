package serve

import (
	"fmt"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/ring"
)

// session is one loader on one rank: its ring, and its position in the order of steps. Each of
// its slots is in one of these places, and advance moves them on:
//
//	free ──submit──► queue (being filled, in the order of steps) ──deliver──► held (on loan) ──release──► free
//
// The head of the queue is delivered once it is filled; filled batches behind it have to wait.
// A start replaces the old run, whose fills are cancelled.
type session struct {
	daemon *daemon
	link   *link
	share  *sharedLoader
	rank   int
	pid    int
	ring   *ring.Ring
	fills  sync.WaitGroup // running in the pool
	tasks  sync.WaitGroup // reports being made

	mu     sync.Mutex    // guards what follows
	run    *startRequest // nil before the first start
	held   []*slotFill   // by slot: what the client holds
	closed bool
	pace   pace
	counts sessionCounts
}

// startRun begins a run and drops what the old one had in progress.
func (s *session) startRun(r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && r.Run <= s.run.number {
		return fmt.Errorf("a start of run %d after run %d: expected a larger number", r.Run, s.run.number)
	}
	p, err := s.beginPassage(r.Epoch, r.Consumed, r.Batch, r.Bad)
	if err == nil && r.Done > 0 {
		err = p.inherit(r)
	}
	if err != nil {
		return err
	}
	old := s.run
	s.run = &startRequest{number: r.Run, batch: r.Batch, once: r.Once, pass: p, step: r.Done}
	s.pace.restart(time.Now())
	if p.steps == p.released {
		s.sendReport(s.run, p)
	}
	if old != nil {
		s.dropRun(old)
	}
	return s.advance()
}

func (s *session) beginPassage(epoch int64, from, batch, bad int) (*passage, error) {
	p, err := s.share.loader.beginPass(uint64(epoch), s.rank, from, batch, bad)
	if err != nil {
		return nil, err
	}
	return &passage{pass: p, epoch: epoch, from: from, steps: p.Steps()}, nil
}

// dropRun frees the slots of a run that were not delivered. The caller holds mu. Cancel waits
// some microseconds for threads that write into the slot, but not for samples to be completed.
func (s *session) dropRun(r *startRequest) {
	for _, f := range r.queue {
		switch {
		case f.filled:
			s.mustAgree(s.ring.Drop(f.slot))
		case f.job.Cancel():
			s.mustAgree(s.ring.Drop(f.slot))
			s.fills.Done()
		} // else it was completed just now, and slotFilled drops it
	}
	r.queue, r.over = nil, true
}

// slotFilled records that a batch is complete. The pool calls it.
func (s *session) slotFilled(f *slotFill, batch feed.Filled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.fills.Done()
	if s.closed || f.run != s.run {
		s.mustAgree(s.ring.Drop(f.slot))
	} else {
		f.filled, f.batch = true, batch
		s.mustAgree(s.ring.MarkFilled(f.slot))
		s.counts.bad += int64(len(batch.Bad))
	}
	if err := s.advance(); err != nil {
		s.failRun(err)
	}
}

// advance delivers batches that are ready and submits new ones into free slots. The caller
// holds mu.
func (s *session) advance() error {
	if s.closed || s.run == nil {
		return nil
	}
	defer s.notePace()
	if err := s.deliver(); err != nil {
		return err
	}
	return s.submit()
}

func (s *session) deliver() error {
	r := s.run
	for len(r.queue) > 0 && r.queue[0].filled {
		f := r.queue[0]
		if f.batch.Err != nil {
			return f.batch.Err
		}
		r.queue = r.queue[1:]
		s.mustAgree(s.ring.Loan(f.slot))
		s.held[f.slot] = f
		s.counts.delivered++
		bad := s.share.loader.CountBad(f.batch.Epoch, f.batch.Consumed) // all batches before it are complete
		if err := s.link.sendPacket(batchOf(f, bad)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) submit() error {
	r := s.run
	for {
		if more, err := s.nextStep(); err != nil || !more {
			return err
		}
		slot, ok := s.ring.Take()
		if !ok {
			return nil
		}
		now := time.Now()
		f := &slotFill{
			run: r, passage: r.pass, step: r.step, slot: slot, since: now,
			wanted: s.pace.wantedTime(now, r.queue, s.ring.CountSlots()),
		}
		s.fills.Add(1)
		job, err := f.passage.pass.Fill(f.step, s.ring.SlotMemory(slot), f.wanted,
			func(b feed.Filled) { s.slotFilled(f, b) })
		if err != nil {
			s.fills.Done()
			s.mustAgree(s.ring.Drop(slot))
			return err
		}
		f.job = job
		r.queue = append(r.queue, f)
		r.step++
	}
}

// nextStep makes sure that the run has a step to submit, and begins the next epoch if
// necessary. It returns false if none is left.
func (s *session) nextStep() (bool, error) {
	r := s.run
	if r.over || r.step < r.pass.steps {
		return !r.over, nil
	}
	if r.once || r.pass.epoch >= maxEpoch {
		r.over = true
		return false, nil
	}
	p, err := s.beginPassage(r.pass.epoch+1, 0, r.batch, 0)
	if err != nil {
		return false, err
	}
	r.pass, r.step = p, 0
	r.over = p.steps == 0 // if a set is smaller than a global batch and its tail is dropped, every epoch is empty
	return !r.over, nil
}

// release takes a slot back from the client.
func (s *session) release(slot int, waited float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ring.Release(slot); err != nil {
		return fmt.Errorf("a release in the wrong order: %w", err)
	}
	f := s.held[slot]
	s.held[slot] = nil
	if f.run == s.run {
		s.countConsumed(f, waited)
	}
	return s.advance()
}

// countConsumed counts a batch as consumed, and reports the epoch after its last batch.
func (s *session) countConsumed(f *slotFill, waited float64) {
	s.pace.noteRelease(time.Now())
	s.counts.release(f, waited)
	p := f.passage
	p.pass.Release(f.batch)
	p.released++
	if p.released == p.steps {
		s.sendReport(f.run, p)
	}
}

// sessionCounts holds a session's sums.
type sessionCounts struct {
	delivered, consumed, samples, bad int64
	waited                            time.Duration
}

// release counts a consumed batch.
func (c *sessionCounts) release(f *slotFill, waited float64) {
	c.consumed++
	c.samples += int64(f.batch.Count)
	if waited > 0 && waited < 1e9 { // the client's value is not checked further: it is only added up
		c.waited += time.Duration(waited * float64(time.Second))
	}
}

// sendReport sends the report of an epoch from a goroutine. A million samples take 40 ms, too
// long to hold the lock that pongs need.
func (s *session) sendReport(r *startRequest, p *passage) {
	s.tasks.Go(func() {
		_ = s.link.sendPacket(endPacket(r, p, p.pass.Account())) // if the client has gone, the reader notices
	})
}

// failRun ends the session and tells the client why. If the client has gone meanwhile, that is
// the normal end of a training and no failure.
func (s *session) failRun(err error) {
	if s.link.refuse(err) {
		s.daemon.warn("loader %q, rank %d: %v", s.share.spec.Name, s.rank, err)
	}
}

// mustAgree panics if the ring and the session disagree on a slot. Only the session moves its
// slots, so that is a bug in this file, and continuing would hand out memory that is being
// written to.
func (s *session) mustAgree(err error) {
	if err != nil {
		panic(err)
	}
}

// closeSession releases everything. It blocks until the pool no longer touches the ring.
func (s *session) closeSession() error {
	s.mu.Lock()
	s.closed = true
	if s.run != nil {
		s.dropRun(s.run)
	}
	s.mu.Unlock()
	s.tasks.Wait()
	s.fills.Wait()
	s.share.leaveLoader(s)
	return s.ring.Close()
}

// describeState returns a sentence that names the cause of waiting, and since when.
func (s *session) describeState(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.ring.CountSlots()
	switch {
	case s.run == nil:
		return "no start has come yet"
	case len(s.run.queue) > 0:
		f := s.run.queue[0]
		return fmt.Sprintf("step %d of epoch %d is being filled since %.1f s: %d of %d slots are on loan",
			f.step, f.passage.epoch, now.Sub(f.since).Seconds(), counts.Loaned, s.ring.Slots())
	case s.run.over:
		return "all batches of this run are delivered: nothing is awaited here"
	case counts.Loaned == s.ring.Slots():
		return fmt.Sprintf("all %d slots are on loan: a release is awaited", counts.Loaned)
	}
	return fmt.Sprintf("slots of an earlier run are being freed: %d of %d", counts.Filling, s.ring.Slots())
}

// notePace determines which side waits now. The caller holds mu.
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
