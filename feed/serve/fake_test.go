//go:build linux

package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/order"
)

// clockwork is an engine that decodes nothing: an image is one byte, the label is
// the index modulo 7. It is slow at random, so that batches get ready in any order.
type clockwork struct {
	samples int
	delay   time.Duration // of a batch, at most
	bad     int           // this sample fails its batch, unless 0
	opening time.Duration // how long listing takes
	hanging chan struct{} // if not nil, listing blocks until it is closed, regardless of cancellation
	stuck   int           // batches from this step on are never completed, unless 0
	stamped bool          // the first index of a batch is the time at which it was whole

	mu     sync.Mutex
	list   []byte // that the loader was opened with
	opened int
	live   int // loaders that are not closed
}

func (c *clockwork) openLoader(ctx context.Context, spec feed.Spec, o feed.Options) (loader, error) {
	if c.hanging != nil {
		<-c.hanging
	}
	select {
	case <-time.After(c.opening):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if spec.Root == "nowhere" {
		return nil, errors.New("list nowhere: no such folder")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	c.list = o.List
	c.live++
	return &clockLoader{clockwork: c, spec: spec}, nil
}

func (c *clockwork) makeDrawings([]feed.Drawing, func([]error, time.Duration)) job { return nil }

func (c *clockwork) poolLoad() feed.Load { return feed.Load{} }
func (c *clockwork) closePool()          {}

type clockLoader struct {
	*clockwork
	spec feed.Spec
}

func (l *clockLoader) FullSpec() feed.Spec            { return l.spec }
func (l *clockLoader) Samples() int                   { return l.samples }
func (l *clockLoader) Classes() []string              { return classNames(l.spec.Root) }
func (l *clockLoader) TensorShape() (int, int)        { return 1, 1 }
func (l *clockLoader) Manifest() string               { return digestOf(l.samples) }
func (l *clockLoader) Pipeline() string               { return digestOf(l.spec.Output) }
func (l *clockLoader) Notes() []string                { return nil }
func (l *clockLoader) CurrentCounters() feed.Counters { return feed.Counters{} }

func (l *clockLoader) SlotLayout() feed.Layout {
	n := int64(l.spec.Batch)
	return feed.Layout{Sample: 3, Labels: (3*n + 63) / 64 * 64, Indices: (3*n+63)/64*64 + 8*n, SlotBytes: (3*n+63)/64*64 + 16*n}
}

func (l *clockLoader) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live--
	return nil
}

func (l *clockLoader) CountBad(uint64, int) int { return 0 }

func (l *clockLoader) beginPass(epoch uint64, rank, consumed, batch, bad int) (pass, error) {
	if batch == 0 {
		batch = l.spec.Batch
	}
	if consumed > l.samples || batch > l.spec.Batch {
		return nil, fmt.Errorf("%d samples consumed of %d, batch %d of %d", consumed, l.samples, batch, l.spec.Batch)
	}
	plan := order.Plan{Samples: l.samples, World: l.spec.World, Batch: batch, Tail: order.Tail(l.spec.Tail)}
	return &clockPass{loader: l, plan: plan, order: order.NewPermutation(l.spec.Seed, epoch, l.samples), epoch: epoch, rank: rank, from: consumed}, nil
}

// clockPass keeps the account with order's functions, as feed does.
type clockPass struct {
	loader *clockLoader
	plan   order.Plan
	order  *order.Permutation
	epoch  uint64
	rank   int
	from   int

	mu     sync.Mutex
	digest order.BagDigest
	count  int
}

func (p *clockPass) Steps() int { return p.plan.Steps(p.from) }

func (p *clockPass) Fill(step int, memory []byte, _ time.Time, done func(feed.Filled)) (job, error) {
	j := new(clockJob)
	if p.loader.stuck > 0 && step >= p.loader.stuck {
		return j, nil
	}
	go func() {
		if p.loader.delay > 0 {
			time.Sleep(time.Duration(rand.Int64N(int64(p.loader.delay))))
		}
		j.mu.Lock()
		if j.cancelled {
			j.mu.Unlock()
			return
		}
		filled := p.write(step, memory)
		j.done = true
		j.mu.Unlock()
		done(filled)
	}()
	return j, nil
}

func (p *clockPass) write(step int, memory []byte) feed.Filled {
	slice := p.plan.SliceOf(p.from, step, p.rank)
	layout := p.loader.SlotLayout()
	f := feed.Filled{Epoch: p.epoch, Step: step, Count: slice.Count + slice.Padded, Consumed: p.plan.After(p.from, step), Finished: time.Now()}
	for i := range f.Count {
		position, padding := p.plan.Position(p.from, step, p.rank, i)
		sample := p.order.At(position)
		if padding {
			f.Mask = append(f.Mask, i)
		}
		if sample == p.loader.bad && sample != 0 {
			f.Err = fmt.Errorf("bad sample %d: folder/%d.jpg: truncated", sample, sample)
		}
		memory[3*i] = byte(sample)
		binary.LittleEndian.PutUint64(memory[int(layout.Labels)+8*i:], uint64(sample%7))
		binary.LittleEndian.PutUint64(memory[int(layout.Indices)+8*i:], uint64(sample))
	}
	if p.loader.stamped {
		f.Finished = time.Now()
		binary.LittleEndian.PutUint64(memory[int(layout.Indices):], uint64(f.Finished.UnixNano()))
	}
	return f
}

func (p *clockPass) Release(f feed.Filled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slice := p.plan.SliceOf(p.from, f.Step, p.rank)
	for i := range slice.Count {
		p.digest.Add(p.order.At(slice.First + i))
	}
	p.count += slice.Count
}

func (p *clockPass) Inherit(digest order.BagDigest, samples int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.digest.Merge(digest)
	p.count += samples
}

func (p *clockPass) Account() feed.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	var expected order.BagDigest
	for step := range p.Steps() {
		slice := p.plan.SliceOf(p.from, step, p.rank)
		for i := range slice.Count {
			expected.Add(p.order.At(slice.First + i))
		}
	}
	right := p.digest == expected
	r := feed.Report{Samples: p.count, Digest: p.digest, Expected: expected}
	if !right || p.plan.World == 1 {
		r.ExactlyOnce = &right
	}
	return r
}

type clockJob struct {
	mu              sync.Mutex
	cancelled, done bool
}

func (j *clockJob) Cancel() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.done {
		return false
	}
	j.cancelled = true
	return true
}

// classNames are many where the root asks for it: more than a packet holds.
func classNames(root string) []string {
	n := 7
	if root == "many" {
		n = 20_000
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("class-%05d", i)
	}
	return names
}

func digestOf(v any) string {
	h := fnv.New128a()
	fmt.Fprint(h, v)
	return fmt.Sprintf("%032x", h.Sum(nil))
}
