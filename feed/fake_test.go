package feed

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/internal/leash"
)

// fake is a loader of files without pixels: a sample's image is its index and the
// epoch. What happens to a sample on its way is the test's.
type fake struct {
	*Loader
	t *testing.T
}

// prepared and painted are called with each sample, where they are set.
func newFake(t *testing.T, pool *Pool, samples int, spec Spec, prepared func(errand) error) fake {
	t.Helper()
	root := t.TempDir()
	const classes = 3
	for i := range samples {
		folder := filepath.Join(root, fmt.Sprintf("class%d", i*classes/samples))
		must(t, os.MkdirAll(folder, 0o700))
		must(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%06d.jpg", i)), []byte("no pixels"), 0o600))
	}
	spec.Name, spec.Root = "fake", root
	spec = spec.withDefaults()
	must(t, spec.checkSpec())
	folder, err := source.List(t.Context(), root, source.Options{})
	must(t, err)
	batch := int64(spec.Batch)
	l := &Loader{
		spec: spec, pool: pool, source: folder, samples: samples,
		layout: Layout{Sample: 16, Labels: 16 * batch, Indices: 24 * batch, SlotBytes: 32 * batch},
	}
	l.prepare = func(w *worker, e errand) error {
		if prepared == nil {
			return nil
		}
		return prepared(e)
	}
	l.paint = func(_ *worker, e errand, image []byte) error {
		binary.LittleEndian.PutUint64(image, uint64(e.sample))
		binary.LittleEndian.PutUint64(image[8:], e.epoch)
		return nil
	}
	t.Cleanup(func() { l.Close() })
	return fake{l, t}
}

func newTestPool(t *testing.T, threads int) *Pool {
	t.Helper()
	pool, err := NewPool(PoolOptions{Threads: threads})
	must(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func must(t *testing.T, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// fill has a batch filled and returns it when done.
func (f fake) fill(p *Pass, step int) (Filled, []byte) {
	f.t.Helper()
	memory := make([]byte, f.layout.SlotBytes)
	done := make(chan Filled, 1)
	_, err := p.Fill(step, memory, time.Now(), func(f Filled) { done <- f })
	must(f.t, err)
	return await(f.t, done), memory
}

func (f fake) pass(epoch uint64, rank, consumed int) *Pass {
	f.t.Helper()
	p, err := f.BeginPass(epoch, rank, consumed, 0)
	must(f.t, err)
	return p
}

// images are the samples whose images lie in a slot; labels and indices must agree.
func (f fake) images(memory []byte, count int) (samples []int) {
	f.t.Helper()
	for k := range count {
		at := func(offset int64, size int) int {
			return int(binary.LittleEndian.Uint64(memory[offset+int64(size*k):]))
		}
		sample := at(0, 16)
		if index, label := at(f.layout.Indices, 8), at(f.layout.Labels, 8); index != sample || label != f.labelOf(sample) {
			f.t.Errorf("place %d has the image of sample %d, the index %d and the label %d; expected label %d", k, sample, index, label, f.labelOf(sample))
		}
		samples = append(samples, sample)
	}
	return samples
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	return leash.Receive(t, "what is to happen", c)
}
