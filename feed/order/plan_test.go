package order

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestPlanByHand(t *testing.T) {
	// 11 samples on 2 ranks, 3 a step: global batches 0-5 and 6-10.
	for _, c := range []struct {
		tail          Tail
		consumed      int
		steps         int
		first, second Slice // of the last step
	}{
		{Drop, 0, 1, Slice{0, 3, 0}, Slice{3, 3, 0}},
		{Pad, 0, 2, Slice{6, 3, 0}, Slice{9, 2, 1}},
		{Short, 0, 2, Slice{6, 3, 0}, Slice{9, 2, 0}},
		{Pad, 4, 2, Slice{10, 1, 2}, Slice{11, 0, 3}},
		{Short, 4, 2, Slice{10, 1, 0}, Slice{11, 0, 0}},
		{Drop, 5, 1, Slice{5, 3, 0}, Slice{8, 3, 0}},
		{Short, 8, 1, Slice{8, 2, 0}, Slice{10, 1, 0}},
		{Even, 0, 2, Slice{6, 3, 0}, Slice{9, 2, 1}},
		{Even, 2, 2, Slice{8, 2, 0}, Slice{10, 1, 1}},
		{Even, 10, 1, Slice{10, 1, 0}, Slice{11, 0, 1}},
		{Trim, 0, 2, Slice{6, 2, 0}, Slice{8, 2, 0}},
		{Trim, 4, 1, Slice{4, 3, 0}, Slice{7, 3, 0}},
		{EvenDrop, 0, 2, Slice{6, 3, 0}, Slice{9, 2, 1}},
		{EvenDrop, 2, 1, Slice{2, 3, 0}, Slice{5, 3, 0}},
	} {
		p := Plan{Samples: 11, World: 2, Batch: 3, Tail: c.tail}
		if got := p.Steps(c.consumed); got != c.steps {
			t.Errorf("%s from %d: %d steps, want %d", c.tail, c.consumed, got, c.steps)
		}
		for rank, want := range []Slice{c.first, c.second} {
			if got := p.SliceOf(c.consumed, c.steps-1, rank); got != want {
				t.Errorf("%s from %d, rank %d: %+v, want %+v", c.tail, c.consumed, rank, got, want)
			}
		}
	}
	p := Plan{Samples: 11, World: 2, Batch: 3, Tail: Pad}
	if position, padding := p.Position(4, 1, 1, 2); position != 4 || !padding { // after 10 come 0, 1 (rank 0) and 2, 3, 4
		t.Errorf("the last padded position is %d (%v)", position, padding)
	}
}

func TestPlanCheck(t *testing.T) {
	good := Plan{Samples: 10, World: 2, Batch: 3, Tail: Short}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Plan){
		"samples":   func(p *Plan) { p.Samples = -1 },
		"2^40":      func(p *Plan) { p.Samples = maxSamples + 1 },
		"world":     func(p *Plan) { p.World = 0 },
		"batch":     func(p *Plan) { p.Batch = 1<<20 + 1 },
		`tail "":`:  func(p *Plan) { p.Tail = "" },
		`tail "no"`: func(p *Plan) { p.Tail = "no" },
	} {
		p := good
		spoil(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q in it", p, err, want)
		}
	}
}

// The largest plan does not overflow.
func TestPlanAtItsBounds(t *testing.T) {
	p := Plan{Samples: maxSamples, World: maxWorld, Batch: maxBatch, Tail: Pad}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if s := p.SliceOf(1, 0, maxWorld-1); p.Steps(1) != 1 || s.Count != maxBatch-1 || s.Padded != 1 {
		t.Errorf("%d steps, the last rank has %+v", p.Steps(1), s)
	}
}

// Every other position is reached once before one comes again.
func TestSubstituteReachesAll(t *testing.T) {
	for n := 1; n <= 200; n++ {
		position := n / 3
		seen := map[int]bool{position: true}
		for k := 1; k < n; k++ {
			at := Substitute(position, k, n)
			if at < 0 || at >= n || seen[at] {
				t.Fatalf("%d samples: try %d for position %d is %d, out of range or for the second time", n, k, position, at)
			}
			seen[at] = true
		}
	}
}

// Trainings that are stopped and resumed with another world and batch, up to five
// times an epoch: every sample exactly once, the same number of steps on all ranks.
// STOKER_EPOCHS=1000000 simulates more of them.
func TestSimulatedEpochs(t *testing.T) {
	epochs := 20000
	if more, err := strconv.Atoi(os.Getenv("STOKER_EPOCHS")); err == nil {
		epochs = more
	}
	for number := range epochs {
		simulate(t, uint64(number))
		if t.Failed() {
			t.Fatalf("epoch number %d", number)
		}
	}
}

// simulation is one epoch, as its trainers see it.
type simulation struct {
	plan     Plan
	order    *Permutation
	chance   Draws
	consumed int
	times    []int // that each sample came, padding apart
	digest   BagDigest
}

func simulate(t *testing.T, number uint64) {
	chance := NewDraws(number, 0, 0, 99)
	samples := 1 + chance.Below([]int{3, 20, 100, 300}[chance.Below(4)])
	s := simulation{
		plan:   Plan{Samples: samples, Tail: tails[chance.Below(len(tails))]},
		order:  NewPermutation(number, number%7, samples),
		chance: chance,
		times:  make([]int, samples),
	}
	for range chance.Below(6) {
		s.leg(t, true)
	}
	s.leg(t, false)

	var due BagDigest
	for position := range samples {
		want := 1
		if position >= s.consumed {
			want = 0
		}
		sample := s.order.At(position)
		if s.times[sample] != want {
			t.Errorf("%+v: sample %d came %d times, want %d", s.plan, sample, s.times[sample], want)
		}
		if want == 1 {
			due.Add(sample)
		}
	}
	if s.digest != due {
		t.Errorf("%+v: digest %v, want %v", s.plan, s.digest, due)
	}
	left, most := samples-s.consumed, 0
	switch s.plan.Tail {
	case Drop, EvenDrop:
		most = s.plan.global() - 1
	case Trim:
		most = s.plan.World - 1
	default: // nothing is left out
	}
	if left > most {
		t.Errorf("%+v: %d samples are left", s.plan, left)
	}
}

// leg continues with a new world and batch to the end of the epoch or, if stopped, to a random
// step.
func (s *simulation) leg(t *testing.T, stopped bool) {
	s.plan.World, s.plan.Batch = 1+s.chance.Below(64>>s.chance.Below(7)), 1+s.chance.Below(10)
	steps, end := s.plan.Steps(s.consumed), s.plan.end(s.consumed)
	if stopped && steps > 0 {
		steps = s.chance.Below(steps)
		end = s.plan.After(s.consumed, steps-1)
	}
	for _, turn := range s.releases(steps) {
		s.take(t, turn[0], turn[1])
	}
	s.consumed = end
}

// releases returns (step, rank) of all batches, out of order within two steps.
func (s *simulation) releases(steps int) [][2]int {
	var turns [][2]int
	for step := range steps {
		for rank := range s.plan.World {
			turns = append(turns, [2]int{step, rank})
		}
	}
	for i := range turns {
		j := min(i+s.chance.Below(2*s.plan.World), len(turns)-1)
		turns[i], turns[j] = turns[j], turns[i]
	}
	return turns
}

// take is one rank's turn at one step.
func (s *simulation) take(t *testing.T, step, rank int) {
	slice := s.plan.SliceOf(s.consumed, step, rank)
	size, zero, last := slice.Count+slice.Padded, s.plan.SliceOf(s.consumed, step, 0), step == s.plan.Steps(s.consumed)-1
	if whole := s.plan.Tail == Drop || s.plan.Tail == Pad || s.plan.Tail == EvenDrop || !last; whole && size != s.plan.Batch {
		t.Errorf("%+v: step %d, rank %d: %+v", s.plan, step, rank, slice)
	}
	if s.plan.Tail != Short && size != zero.Count+zero.Padded || size > s.plan.Batch {
		t.Errorf("%+v: step %d: rank %d has %+v, rank 0 %+v", s.plan, step, rank, slice, zero)
	}
	if none := s.plan.Tail == Drop || s.plan.Tail == Short || s.plan.Tail == Trim; none && slice.Padded != 0 || s.plan.Tail != Pad && slice.Padded >= s.plan.World {
		t.Errorf("%+v: step %d, rank %d: %d are padded", s.plan, step, rank, slice.Padded)
	}
	if s.plan.Tail == Short && (slice.Count < zero.Count-1 || slice.Count > zero.Count) {
		t.Errorf("%+v: step %d: rank %d has %d samples, rank 0 %d", s.plan, step, rank, slice.Count, zero.Count)
	}
	for i := range slice.Count + slice.Padded {
		position, padding := s.plan.Position(s.consumed, step, rank, i)
		sample := s.order.At(position)
		if padding != (i >= slice.Count) {
			t.Errorf("%+v: step %d, rank %d: position %d of the batch is padding: %v", s.plan, step, rank, i, padding)
		}
		if !padding {
			s.times[sample]++
			s.digest.Add(sample)
		}
	}
}

// end is the offset at which the epoch's last step ends; below Samples only where
// the tail is left out.
func (p Plan) end(consumed int) int {
	steps := p.Steps(consumed)
	if steps == 0 {
		return min(consumed, p.Samples)
	}
	return p.After(consumed, steps-1)
}
