package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/order"
)

// damaged is a set of samples that cannot be decoded, and counts the tries.
type damaged struct {
	mu    sync.Mutex
	bad   map[int]error
	tries map[int]int
}

func newDamaged(samples ...int) *damaged {
	d := &damaged{bad: map[int]error{}, tries: map[int]int{}}
	for _, sample := range samples {
		d.bad[sample] = &decode.SampleError{Kind: decode.Truncated, Offset: 12, Text: "the file ends in a scan"}
	}
	return d
}

func (d *damaged) prepare(e errand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tries[e.sample]++
	return d.bad[e.sample]
}

func TestFailPolicy(t *testing.T) {
	l := newFake(t, newTestPool(t, 3), 30, Spec{Batch: 10}, newDamaged(14).prepare)
	pass := l.pass(0, 0, 0)
	if f, _ := l.fill(pass, 0); f.Err != nil {
		t.Errorf("a batch without bad samples: %v", f.Err)
	}
	f, _ := l.fill(pass, 1)
	want := "bad sample 14: " + l.pathOf(14) + ": truncated at byte 12: the file ends in a scan"
	if f.Err == nil || f.Err.Error() != want {
		t.Errorf("the batch's error is %v, expected %s", f.Err, want)
	}
}

// TestSubstitutePolicy: the substitute depends only on the order, even if the first candidate
// is bad, too. It is the same for any number of threads, and if the bad samples are known from
// before.
func TestSubstitutePolicy(t *testing.T) {
	const samples, epoch, seed = 40, 3, 9
	perm := order.NewPermutation(seed, epoch, samples)
	bad := perm.At(5)
	alsoBad := perm.At(order.Substitute(5, 1, samples))
	instead := perm.At(order.Substitute(5, 2, samples))
	for _, threads := range []int{1, 4} {
		broken := newDamaged(bad, alsoBad)
		l := newFake(t, newTestPool(t, threads), samples, Spec{Batch: 8, OnError: substitute, Seed: seed, Shuffle: true, MaxBad: 0.1}, broken.prepare)
		for range 2 {
			pass := l.pass(epoch, 0, 0)
			f, memory := l.fill(pass, 0)
			must(t, f.Err)
			if got := l.images(memory, f.Count)[5]; got != instead {
				t.Errorf("%d threads: sample %d stands in for %d, expected %d", threads, got, bad, instead)
			}
			i := slices.IndexFunc(f.Bad, func(b Bad) bool { return b.Index == bad })
			if i < 0 || *f.Bad[i].Instead != instead || f.Bad[i].Path != l.pathOf(bad) || f.Bad[i].Kind != "truncated" {
				t.Errorf("%d threads: the bad samples are %+v", threads, f.Bad)
			}
			checkOnce(t, l, pass, f)
		}
		if broken.tries[bad] != 1 {
			t.Errorf("%d threads: the bad sample was decoded %d times", threads, broken.tries[bad])
		}
	}
}

// checkOnce fills the rest of an epoch: bad samples had their turn.
func checkOnce(t *testing.T, l fake, pass *Pass, first Filled) {
	t.Helper()
	pass.Release(first)
	for step := 1; step < pass.Steps(); step++ {
		f, _ := l.fill(pass, step)
		must(t, f.Err)
		pass.Release(f)
	}
	if r := pass.Account(); r.ExactlyOnce == nil || !*r.ExactlyOnce || r.Bad != 2 {
		t.Errorf("exactly once is %v, %d bad samples", r.ExactlyOnce, r.Bad)
	}
}

func TestMaskPolicy(t *testing.T) {
	l := newFake(t, newTestPool(t, 2), 30, Spec{Batch: 10, OnError: Mask}, newDamaged(14).prepare)
	pass := l.pass(0, 0, 0)
	memory := make([]byte, l.layout.SlotBytes)
	for i := range memory {
		memory[i] = 0xff // of a former batch
	}
	done := make(chan Filled, 1)
	_, err := pass.Fill(1, memory, time.Time{}, func(f Filled) { done <- f })
	must(t, err)
	f := await(t, done)
	must(t, f.Err)
	if !slices.Equal(f.Mask, []int{4}) || len(f.Bad) != 1 || f.Bad[0].Index != 14 || f.Bad[0].Instead != nil {
		t.Errorf("mask %v, bad %+v; expected place 4, sample 14", f.Mask, f.Bad)
	}
	if image := l.layout.imageOf(memory, 4); slices.Max(image) != 0 {
		t.Errorf("the masked image is % x", image)
	}
	if memory[l.layout.Labels+8*4] != byte(l.labelOf(14)) || memory[l.layout.Indices+8*4] != 14 {
		t.Error("the masked place has not its own label and index")
	}
}

// TestTooManyBad: max_bad counts samples of an epoch, each once; one is always allowed.
func TestTooManyBad(t *testing.T) {
	for _, test := range []struct {
		share  float64
		bad    []int
		passes bool
	}{
		{0.001, []int{3}, true}, {0.001, []int{3, 14}, false}, {0.05, []int{3, 14}, true}, {0.05, []int{3, 14, 30}, false},
	} {
		log := filepath.Join(t.TempDir(), "bad.jsonl")
		l := newFake(t, newTestPool(t, 2), 40, Spec{Batch: 10, OnError: Mask, MaxBad: test.share}, newDamaged(test.bad...).prepare)
		var err error
		l.quarantine, err = openQuarantine(log)
		must(t, err)
		for epoch := range uint64(3) { // of each its own count
			var failed error
			pass := l.pass(epoch, 0, 0)
			for step := range pass.Steps() {
				if f, _ := l.fill(pass, step); f.Err != nil {
					failed = f.Err
				}
				l.fill(pass, step) // a batch that is made again counts its bad samples once
			}
			if (failed == nil) != test.passes {
				t.Errorf("%d of 40 are bad, max_bad is %v: %v", len(test.bad), test.share, failed)
			}
			if failed != nil && !strings.Contains(failed.Error(), log+" names them all") {
				t.Errorf("the error does not name the quarantine file: %v", failed)
			}
		}
		checkQuarantine(t, l, log, test.bad)
	}
}

// TestBadCountsOn: a run that resumes an epoch, in this process or another, continues the count
// of its bad samples.
func TestBadCountsOn(t *testing.T) {
	spec := Spec{Batch: 10, OnError: Mask, MaxBad: 0.025} // of 40 samples one
	bad := newDamaged(3, 14, 25)
	fill := func(l fake, consumed, step int) Filled {
		f, _ := l.fill(l.pass(0, 0, consumed), step)
		return f
	}
	l := newFake(t, newTestPool(t, 2), 40, spec, bad.prepare)
	f := fill(l, 0, 0)
	soFar := l.CountBad(f.Epoch, f.Consumed)
	if must(t, f.Err); soFar != 1 {
		t.Errorf("%d bad samples so far, expected 1", soFar)
	}
	for name, other := range map[string]fake{"the same daemon": l, "another": newFake(t, newTestPool(t, 2), 40, spec, bad.prepare)} {
		other.Resume(0, 10, soFar)
		if f := fill(other, 10, 0); f.Err == nil || !strings.Contains(f.Err.Error(), "2 bad samples in epoch 0 of 40") {
			t.Errorf("%s: a second bad sample passed after a resume: %v", name, f.Err)
		}
		other.Resume(0, 20, 0) // a state from before the first bad sample, say
		f := fill(other, 20, 0)
		if n := other.CountBad(f.Epoch, f.Consumed); f.Err != nil || n != 1 {
			t.Errorf("%s: %v, %d so far", name, f.Err, n)
		}
		other.Resume(0, 0, 0) // from the beginning: all are met again
		if _, second := fill(other, 0, 0), fill(other, 0, 1); second.Err == nil {
			t.Errorf("%s: the epoch from its beginning has two bad samples and passed", name)
		}
	}
}

// checkQuarantine: each bad sample has one line, however often it came.
func checkQuarantine(t *testing.T, l fake, log string, bad []int) {
	t.Helper()
	info, err := os.Stat(log)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the quarantine file has mode %v", info.Mode())
	}
	text, err := os.ReadFile(log)
	must(t, err)
	var named []int
	for line := range strings.Lines(string(text)) {
		var entry struct {
			ID                 int
			Path, Reason, Kind string
		}
		must(t, json.Unmarshal([]byte(line), &entry))
		if entry.Path != l.pathOf(entry.ID) || entry.Kind != "truncated" || !strings.Contains(entry.Reason, "byte 12") {
			t.Errorf("the quarantine file says %s", line)
		}
		named = append(named, entry.ID)
	}
	slices.Sort(named)
	if !slices.Equal(named, bad) {
		t.Errorf("the quarantine file names %v, bad are %v", named, bad)
	}
}

// TestAllBad: where nothing can stand in, the batch fails by name and does not search for ever.
func TestAllBad(t *testing.T) {
	all := make([]int, 30)
	for i := range all {
		all[i] = i
	}
	l := newFake(t, newTestPool(t, 2), 30, Spec{Batch: 10, OnError: substitute, MaxBad: 1}, newDamaged(all...).prepare)
	f, _ := l.fill(l.pass(0, 0, 0), 0)
	if f.Err == nil || !strings.Contains(f.Err.Error(), "and so are all 29 that could stand in for it") {
		t.Errorf("the error is %v", f.Err)
	}
}

// TestUnreadable: storage that failed is tried again in the next epoch.
func TestUnreadable(t *testing.T) {
	broken := newDamaged()
	broken.bad[3] = &fs.PathError{Op: "open", Path: "x", Err: errors.New("input/output error")}
	l := newFake(t, newTestPool(t, 2), 10, Spec{Batch: 10, OnError: Mask}, broken.prepare)
	for epoch := range uint64(2) {
		f, _ := l.fill(l.pass(epoch, 0, 0), 0)
		if must(t, f.Err); len(f.Bad) != 1 || f.Bad[0].Kind != string(unreadable) {
			t.Errorf("the bad samples are %+v", f.Bad)
		}
	}
	if n := l.CurrentCounters().Bad; n != 1 {
		t.Errorf("one bad sample is counted, and told to the quarantine file, %d times", n)
	}
	delete(broken.bad, 3)
	if f, _ := l.fill(l.pass(2, 0, 0), 0); len(f.Bad) != 0 {
		t.Errorf("the file can be read again, but is bad: %+v", f.Bad)
	}
}

// TestUnmade: a sample that the machine could not serve, or whose decoder panicked, is not bad.
// Under every policy the batch fails with the name of the file: nothing is substituted, masked,
// counted, remembered or quarantined.
func TestUnmade(t *testing.T) {
	wants := map[int]decode.Kind{2: outage, 5: fault, 7: fault, 8: outage}
	for _, policy := range []string{Fail, substitute, Mask} {
		for sample, kind := range wants {
			over := false
			l := newFake(t, newTestPool(t, 1), 10, Spec{Batch: 10, OnError: policy, MaxBad: 0.5}, func(e errand) error {
				switch {
				case over || e.sample != sample:
				case sample == 2:
					return fmt.Errorf("read: %w", syscall.ENFILE)
				case sample == 5:
					var none []int
					_ = none[e.sample]
				case sample == 8:
					return l0.lackMemory("it has %d bytes, and there is room for %d", 2, 1)
				}
				return nil
			})
			inner := l.paint
			l.paint = func(w *worker, e errand, image []byte) error {
				if e.sample == 7 && sample == 7 && !over {
					panic("while writing")
				}
				return inner(w, e, image)
			}
			var err error
			l.quarantine, err = openQuarantine(filepath.Join(t.TempDir(), "bad.jsonl"))
			must(t, err)
			f, _ := l.fill(l.pass(0, 0, 0), 0)
			var unmade *Unmade
			if !errors.As(f.Err, &unmade) || unmade.Sample != sample || unmade.Kind != kind || unmade.Path != l.pathOf(sample) {
				t.Errorf("%s, sample %d: %v", policy, sample, f.Err)
			}
			if kind == fault && (l.CurrentCounters().Faults != 1 || !strings.Contains(f.Err.Error(), "_test.go:")) {
				t.Errorf("%d faults are counted, and told as %v", l.CurrentCounters().Faults, f.Err)
			}
			over = true
			f, memory := l.fill(l.pass(0, 0, 0), 0)
			must(t, f.Err)
			if got := l.images(memory, f.Count); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) || len(f.Bad)+len(f.Mask)+l.CountBad(f.Epoch, f.Consumed) > 0 {
				t.Errorf("%s, sample %d: after it the batch is %v, bad %v, masked %v", policy, sample, got, f.Bad, f.Mask)
			}
			checkQuarantine(t, l, l.quarantine.path, nil)
		}
	}
}

var l0 = &Pool{budget: &budget{total: 1 << 30}}

// TestUnmadeSubstitute: a stand-in that could not be served is not left out in favour of the next one.
func TestUnmadeSubstitute(t *testing.T) {
	perm := order.NewPermutation(0, 0, 40)
	bad := perm.At(5)
	broken := newDamaged(bad)
	standIn := perm.At(order.Substitute(5, 1, 40))
	broken.bad[standIn] = fmt.Errorf("read: %w", syscall.ESTALE)
	l := newFake(t, newTestPool(t, 2), 40, Spec{Batch: 8, OnError: substitute, Shuffle: true, MaxBad: 0.5}, broken.prepare)
	f, _ := l.fill(l.pass(0, 0, 0), 0)
	var unmade *Unmade
	if !errors.As(f.Err, &unmade) || unmade.Kind != outage {
		t.Errorf("%v, bad are %v", f.Err, f.Bad)
	}
}
