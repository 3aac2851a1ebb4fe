package feed

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-dev/stoker/internal/leash"
)

// TestMostUrgentFirst: among samples not yet started, those of the batch needed first are taken
// first, no matter when it was queued.
func TestMostUrgentFirst(t *testing.T) {
	pool := newTestPool(t, 1)
	held, release := make(chan bool), make(chan bool)
	hold := queue(pool, time.Time{}, 1, func(int) { close(held); <-release })
	await(t, held)
	now := time.Now()
	var taken []int
	var jobs []<-chan bool
	for _, wanted := range []int{3, 1, 2, 1, 0} {
		jobs = append(jobs, queue(pool, now.Add(time.Duration(wanted)), 2, func(int) { taken = append(taken, wanted) }))
	}
	if load := pool.CurrentLoad(); load.Jobs != 5 || load.Samples != 10 || load.Busy != 1 || load.File != "sample 0" {
		t.Errorf("the load is %+v, expected 5 jobs, 10 samples, 1 thread busy with sample 0", load)
	}
	close(release)
	for _, done := range append(jobs, hold) {
		await(t, done)
	}
	if want := []int{0, 0, 1, 1, 1, 1, 2, 2, 3, 3}; !slices.Equal(taken, want) {
		t.Errorf("taken in the order %v, expected %v", taken, want)
	}
}

// queue submits a job that is no batch.
func queue(pool *Pool, wanted time.Time, count int, sample func(int)) <-chan bool {
	done := make(chan bool, 1)
	pool.submit(&Job{
		pool: pool, wanted: wanted, count: count, fill: func(_ *worker, k int) { sample(k) },
		file: func(k int) string { return fmt.Sprint("sample ", k) }, finish: func() { done <- true },
	})
	return done
}

// TestSlowSample: while one sample takes its time, the others go through the rest
// of its batch and through the batches behind it.
func TestSlowSample(t *testing.T) {
	pool := newTestPool(t, 2)
	release := make(chan bool)
	now := time.Now()
	slow := queue(pool, now, 8, func(k int) {
		if k == 0 {
			<-release
		}
	})
	for i := range 10 {
		await(t, queue(pool, now.Add(time.Duration(i)), 8, func(int) {}))
	}
	select {
	case <-slow:
		t.Error("the batch is done without its slow sample")
	default:
	}
	close(release)
	await(t, slow)
}

// TestCancelWhileReading: a file that hangs does not hold up who cancels.
func TestCancelWhileReading(t *testing.T) {
	reading, release := make(chan bool), make(chan bool)
	l := newFake(t, newTestPool(t, 1), 4, Spec{Batch: 1}, func(errand) error { close(reading); <-release; return nil })
	before := bytes.Repeat([]byte{0xaa}, int(l.layout.SlotBytes))
	memory := bytes.Clone(before)
	job, err := l.pass(0, 0, 0).Fill(0, memory, time.Now(), func(Filled) { t.Error("a cancelled batch is done") })
	must(t, err)
	await(t, reading)
	if !job.Cancel() {
		t.Error("the batch was done before it was cancelled")
	}
	close(release)
	await(t, queue(l.pool, time.Now(), 1, func(int) {})) // the only thread is through with the other
	if !bytes.Equal(memory, before) {
		t.Error("the slot was written to after Cancel")
	}
}

// TestCancelWhileWriting: Cancel blocks until writing threads have finished.
func TestCancelWhileWriting(t *testing.T) { synctest.Test(t, cancelWhileWriting) }

func cancelWhileWriting(t *testing.T) {
	writing, held := make(chan bool), make(chan bool)
	release := sync.OnceFunc(func() { close(held) })
	defer release() // or a failed test would wait for its pool
	var written atomic.Bool
	l := newFake(t, newTestPool(t, 1), 4, Spec{Batch: 1}, nil)
	l.paint = func(*worker, errand, []byte) error { close(writing); <-held; written.Store(true); return nil }
	job, err := l.pass(0, 0, 0).Fill(0, make([]byte, l.layout.SlotBytes), time.Now(), func(Filled) { t.Error("a cancelled batch is done") })
	must(t, err)
	<-writing
	cancelled := make(chan bool, 1)
	go func() {
		job.Cancel()
		cancelled <- written.Load()
	}()
	synctest.Wait() // all goroutines are blocked
	select {
	case <-cancelled:
		t.Fatal("Cancel returned while a thread wrote")
	default:
	}
	release()
	if !<-cancelled {
		t.Error("Cancel returned before the thread had written")
	}
}

// TestCancelAnywhere cancels batches at random moments and uses their memory for
// something else at once. Either done was called or Cancel was true, never both.
func TestCancelAnywhere(t *testing.T) {
	pool := newTestPool(t, 4)
	l := newFake(t, pool, 64, Spec{Batch: 16, Shuffle: true}, nil)
	l.paint = func(_ *worker, e errand, image []byte) error {
		for i := range image {
			image[i] = byte(e.sample)
		}
		return nil
	}
	pass := l.pass(0, 0, 0)
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(seed, 0))
			for range 200 {
				cancelOnce(t, pass, make([]byte, l.layout.SlotBytes), time.Duration(chance.IntN(60))*time.Microsecond)
			}
		})
	}
	all.Wait()
}

func cancelOnce(t *testing.T, pass *Pass, memory []byte, after time.Duration) {
	done := make(chan bool, 1)
	job, err := pass.Fill(1, memory, time.Now(), func(Filled) { done <- true })
	if err != nil {
		t.Error(err)
		return
	}
	for start := time.Now(); time.Since(start) < after; { // Sleep would take far longer
	}
	if !job.Cancel() {
		await(t, done)
		return
	}
	for i := range memory {
		memory[i] = 0xaa
	}
	time.Sleep(50 * time.Microsecond)
	for i := range memory {
		if memory[i] != 0xaa {
			t.Errorf("byte %d was written to after Cancel", i)
			return
		}
	}
	select {
	case <-done:
		t.Error("done was called, although Cancel was true")
	default:
	}
}

// TestPoolCloses with work in hand: nothing is said to be done that is not.
func TestPoolCloses(t *testing.T) {
	pool, err := NewPool(PoolOptions{Threads: 2})
	must(t, err)
	started, release := make(chan bool, 2), make(chan bool)
	l := newFake(t, pool, 8, Spec{Batch: 2}, func(errand) error { started <- true; <-release; return nil })
	_, err = l.pass(0, 0, 0).Fill(0, make([]byte, l.layout.SlotBytes), time.Now(), func(Filled) { t.Error("the batch is done") })
	must(t, err)
	await(t, started)
	await(t, started)
	closed := make(chan bool)
	go func() { pool.Close(); close(closed) }()
	leash.Wait(t, "the beginning of the end", pool.isClosed)
	close(release)
	await(t, closed)
}

func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func TestDefaultThreads(t *testing.T) {
	for cores, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 3, 64: 63} {
		if got := defaultThreads(cores); got != want {
			t.Errorf("%d cores: %d threads, expected %d", cores, got, want)
		}
	}
}
