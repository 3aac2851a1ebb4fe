package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/order"
)

// engine makes loaders. It is feed, or in tests one that does not decode.
type engine interface {
	openLoader(ctx context.Context, spec feed.Spec, o feed.Options) (loader, error)
	makeDrawings(drawings []feed.Drawing, done func(errs []error, spent time.Duration)) job
	poolLoad() feed.Load
	closePool()
}

// loader is what sessions need of a feed.Loader.
type loader interface {
	FullSpec() feed.Spec
	Samples() int
	Classes() []string
	TensorShape() (height, width int)
	SlotLayout() feed.Layout
	Manifest() string
	Pipeline() string
	Notes() []string
	CurrentCounters() feed.Counters
	CountBad(epoch uint64, offset int) int
	Close() error
	beginPass(epoch uint64, rank, consumed, batch, bad int) (pass, error)
}

// pass is what sessions need of a feed.Pass.
type pass interface {
	Steps() int
	Fill(step int, memory []byte, wanted time.Time, done func(feed.Filled)) (job, error)
	Release(f feed.Filled)
	Account() feed.Report
	Inherit(digest order.BagDigest, samples int)
}

// job is what sessions need of a feed.Job.
type job interface{ Cancel() bool }

// feeding is the engine that uses feed.
type feeding struct{ pool *feed.Pool }

func (e feeding) openLoader(ctx context.Context, spec feed.Spec, o feed.Options) (loader, error) {
	o.Pool = e.pool
	l, err := feed.Open(ctx, spec, o)
	if err != nil {
		return nil, fmt.Errorf("loader %q: %w", spec.Name, err)
	}
	return feedingLoader{l}, nil
}

func (e feeding) makeDrawings(drawings []feed.Drawing, done func(errs []error, spent time.Duration)) job {
	return e.pool.Make(drawings, done)
}

func (e feeding) poolLoad() feed.Load { return e.pool.CurrentLoad() }
func (e feeding) closePool()          { e.pool.Close() }

type feedingLoader struct{ *feed.Loader }

func (l feedingLoader) beginPass(epoch uint64, rank, consumed, batch, bad int) (pass, error) {
	l.Resume(epoch, consumed, bad)
	p, err := l.BeginPass(epoch, rank, consumed, batch)
	if err != nil {
		return nil, err
	}
	return feedingPass{p}, nil
}

type feedingPass struct{ *feed.Pass }

func (p feedingPass) Fill(step int, memory []byte, wanted time.Time, done func(feed.Filled)) (job, error) {
	return p.Pass.Fill(step, memory, wanted, done)
}
