package serve

import (
	"fmt"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/order"
)

// startRequest is a run: what one start asked for, and how far it is.
type startRequest struct {
	number int64
	batch  int
	once   bool
	pass   *passage    // whose steps are being submitted
	step   int         // the next to submit
	queue  []*slotFill // submitted, not yet delivered
	over   bool        // nothing more will be submitted
}

// passage is one epoch of a run.
type passage struct {
	pass     pass
	epoch    int64
	from     int
	steps    int
	released int // batches
}

// inherit continues a passage after the steps that a daemon which died handed out.
func (p *passage) inherit(r *request) error {
	digest, err := order.ParseDigest(r.Digest)
	if err == nil && r.Done > p.steps {
		err = fmt.Errorf("%d steps are done of %d", r.Done, p.steps)
	}
	if err != nil {
		return fmt.Errorf("a start of run %d in the middle of epoch %d: %w", r.Run, r.Epoch, err)
	}
	p.released = r.Done
	p.pass.Inherit(digest, r.Samples)
	return nil
}

// slotFill is one batch on its way through a slot.
type slotFill struct {
	run     *startRequest
	passage *passage
	step    int
	slot    int
	job     job
	since   time.Time // of its submission
	wanted  time.Time
	filled  bool
	batch   feed.Filled // once filled
}
