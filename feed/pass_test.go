package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/feed/order"
)

// TestEpochs fills whole epochs on all ranks: every place has the sample that the
// plan says, and the account of the epoch is right.
func TestEpochs(t *testing.T) {
	pool := newTestPool(t, 4)
	for _, test := range []struct {
		tail              string
		world, batch, off int
	}{
		{"short", 1, 7, 0},
		{"short", 3, 5, 0},
		{"short", 4, 40, 0},
		{"short", 2, 8, 33},
		{"drop", 1, 7, 0},
		{"drop", 3, 5, 11},
		{"pad", 3, 5, 0},
		{"pad", 2, 64, 0},
	} {
		t.Run(fmt.Sprintf("%s %dx%d from %d", test.tail, test.world, test.batch, test.off), func(t *testing.T) {
			spec := Spec{Batch: test.batch, World: test.world, Tail: test.tail, Shuffle: true, Seed: 5}
			l := newFake(t, pool, 100, spec, nil)
			checkEpoch(t, l, test.off)
		})
	}
}

func checkEpoch(t *testing.T, l fake, off int) {
	plan := l.spec.PlanOrder(l.samples, l.spec.Batch)
	perm := order.NewPermutation(5, 2, l.samples)
	for rank := range l.spec.World {
		pass := l.pass(2, rank, off)
		for step := range pass.Steps() {
			f, memory := l.fill(pass, step)
			must(t, f.Err)
			slice := plan.SliceOf(off, step, rank)
			var want, mask []int
			for i := range slice.Count + slice.Padded {
				position, padding := plan.Position(off, step, rank, i)
				want = append(want, perm.At(position))
				if padding {
					mask = append(mask, i)
				}
			}
			if got := l.images(memory, f.Count); !slices.Equal(got, want) || !slices.Equal(f.Mask, mask) {
				t.Fatalf("rank %d step %d has %v, mask %v; expected %v, %v", rank, step, got, f.Mask, want, mask)
			}
			if f.Consumed != plan.After(off, step) {
				t.Errorf("step %d ends at %d, expected %d", step, f.Consumed, plan.After(off, step))
			}
			pass.Release(f)
		}
		r := pass.Account()
		if r.Digest != r.Expected {
			t.Errorf("rank %d: digest %s, expected %s", rank, r.Digest, r.Expected)
		}
		if last := rank == l.spec.World-1; (r.ExactlyOnce != nil) != last || last && !*r.ExactlyOnce {
			t.Errorf("rank %d of %d: exactly once is %v", rank, l.spec.World, r.ExactlyOnce)
		}
	}
}

// TestAccount: a batch that was released twice, or not at all, is seen.
func TestAccount(t *testing.T) {
	l := newFake(t, newTestPool(t, 2), 20, Spec{Batch: 5}, nil)
	for _, test := range []struct {
		name     string
		releases []int
		right    bool
	}{
		{"all", []int{0, 1, 2, 3}, true},
		{"out of turn", []int{3, 1, 0, 2}, true},
		{"one twice", []int{0, 1, 2, 3, 3}, false},
		{"one missing", []int{0, 1, 3}, false},
		{"one for another", []int{0, 1, 1, 3}, false},
	} {
		pass := l.pass(0, 0, 0)
		for _, step := range test.releases {
			f, _ := l.fill(pass, step)
			pass.Release(f)
		}
		if r := pass.Account(); r.ExactlyOnce == nil || *r.ExactlyOnce != test.right {
			t.Errorf("%s: exactly once is %v, expected %v", test.name, r.ExactlyOnce, test.right)
		}
	}
}

// TestBeginAgain: releases of a rank before it restarts do not count, and if ranks restart at
// any time, all of them together complete the epoch.
func TestBeginAgain(t *testing.T) {
	l := newFake(t, newTestPool(t, 2), 20, Spec{Batch: 5, World: 2}, nil)
	passes := map[int]*Pass{}
	begin := func(rank int) { passes[rank] = l.pass(0, rank, 0) }
	release := func(rank, steps int) *bool {
		for step := range steps {
			f, _ := l.fill(passes[rank], step)
			passes[rank].Release(f)
		}
		return passes[rank].Account().ExactlyOnce
	}
	for round := range 2 { // of an evaluation, which begins the same epoch again and again
		begin(0)
		release(0, 1)
		begin(0) // a client that reports its start
		begin(1) // meanwhile prefetched
		begin(1)
		if once := release(0, 2); once != nil {
			t.Errorf("round %d: exactly once is %v before the other rank has begun", round, *once)
		}
		if once := release(1, 2); once == nil || !*once {
			t.Errorf("round %d: exactly once is %v after both ranks have ended", round, once)
		}
	}
}

func TestPassRefusals(t *testing.T) {
	l := newFake(t, newTestPool(t, 1), 20, Spec{Batch: 5, World: 2}, nil)
	for _, test := range []struct {
		epoch                 uint64
		rank, consumed, batch int
		want                  string
	}{
		{1 << 32, 0, 0, 0, "epoch"},
		{0, 2, 0, 0, "ranks 0 to 1"},
		{0, -1, 0, 0, "rank"},
		{0, 0, 21, 0, "21 samples consumed: an epoch has 20"},
		{0, 0, -1, 0, "consumed"},
		{0, 0, 0, 6, "room for 1 to 5"},
		{0, 0, 0, -1, "room"},
	} {
		if _, err := l.BeginPass(test.epoch, test.rank, test.consumed, test.batch); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, expected %q", test, err, test.want)
		}
	}
}
