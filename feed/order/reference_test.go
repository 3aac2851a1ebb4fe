package order

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// reference.json holds what the second implementation, in Python, gives:
// python/stoker/loader/order.py, written by python/tests/make_order_cases.py.
type reference struct {
	Draws []struct {
		Seed, Epoch, Sample uint64
		Operation           uint32
		Uint64              []uint64
		Float64             []float64
		Below               [][2]int // n, answer
	}
	Permutations []struct {
		Seed, Epoch uint64
		Samples     int
		At          [][2]int // position, sample
	}
	Plans []struct {
		Samples, World, Batch, Consumed, Steps int
		Tail                                   Tail
		Taken                                  [][4]any // step, rank, offset after the step, runs [position, length, padding]
	}
	Substitutes []struct{ Samples, Position, K, Is int }
	Epochs      []walk
}

func readReference(t *testing.T) reference {
	t.Helper()
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Draws) == 0 || len(r.Permutations) == 0 || len(r.Plans) == 0 || len(r.Substitutes) == 0 || len(r.Epochs) == 0 {
		t.Fatal("the reference lacks cases")
	}
	return r
}

func TestDrawsLikeReference(t *testing.T) {
	for _, c := range readReference(t).Draws {
		d := NewDraws(c.Seed, c.Epoch, c.Sample, c.Operation)
		for i, want := range c.Uint64 {
			if got := d.nextWord(); got != want {
				t.Errorf("%d %d %d %d: draw %d is %x, want %x", c.Seed, c.Epoch, c.Sample, c.Operation, i, got, want)
			}
		}
		for _, want := range c.Float64 {
			if got := d.Float64(); got != want {
				t.Errorf("%d %d %d %d: %v, want %v", c.Seed, c.Epoch, c.Sample, c.Operation, got, want)
			}
		}
		for _, below := range c.Below {
			if got := d.Below(below[0]); got != below[1] {
				t.Errorf("%d %d %d %d: %d below %d, want %d", c.Seed, c.Epoch, c.Sample, c.Operation, got, below[0], below[1])
			}
		}
	}
}

func TestPermutationLikeReference(t *testing.T) {
	for _, c := range readReference(t).Permutations {
		p := NewPermutation(c.Seed, c.Epoch, c.Samples)
		for _, at := range c.At {
			if got := p.At(at[0]); got != at[1] {
				t.Errorf("seed %d, epoch %d, %d samples: position %d gives %d, want %d", c.Seed, c.Epoch, c.Samples, at[0], got, at[1])
			}
		}
	}
}

func TestPlanLikeReference(t *testing.T) {
	for _, c := range readReference(t).Plans {
		p := Plan{Samples: c.Samples, World: c.World, Batch: c.Batch, Tail: c.Tail}
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		if got := p.Steps(c.Consumed); got != c.Steps {
			t.Errorf("%+v from %d: %d steps, want %d", p, c.Consumed, got, c.Steps)
		}
		for _, taken := range c.Taken {
			step, rank := int(taken[0].(float64)), int(taken[1].(float64))
			if got := float64(p.After(c.Consumed, step)); got != taken[2] {
				t.Errorf("%+v from %d: %v after step %d, want %v", p, c.Consumed, got, step, taken[2])
			}
			if got := runs(p, c.Consumed, step, rank); !reflect.DeepEqual(got, taken[3]) {
				t.Errorf("%+v from %d: step %d, rank %d: %v, want %v", p, c.Consumed, step, rank, got, taken[3])
			}
		}
	}
}

// runs tells a rank's positions as [first position, length, padding], in the types
// of encoding/json.
func runs(p Plan, consumed, step, rank int) any {
	found := []any{}
	s := p.SliceOf(consumed, step, rank)
	for i := range s.Count + s.Padded {
		position, padding := p.Position(consumed, step, rank, i)
		if len(found) > 0 {
			last := found[len(found)-1].([]any)
			if last[2] == padding && last[0].(float64)+last[1].(float64) == float64(position) {
				last[1] = last[1].(float64) + 1
				continue
			}
		}
		found = append(found, []any{float64(position), 1.0, padding})
	}
	return found
}

func TestSubstituteLikeReference(t *testing.T) {
	for _, c := range readReference(t).Substitutes {
		if got := Substitute(c.Position, c.K, c.Samples); got != c.Is {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestEpochsLikeReference(t *testing.T) {
	for _, c := range readReference(t).Epochs {
		c.check(t)
	}
}

// More of them: python/tests/test_order.py writes a file and runs this test with it.
func TestMoreEpochsLikeReference(t *testing.T) {
	path := os.Getenv("STOKER_EPOCHS_CASES")
	if path == "" {
		t.Skip("STOKER_EPOCHS_CASES names no file; STOKER_EPOCHS=100000 python/tests/test_order.py makes one")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	epochs := 0
	for lines := bufio.NewScanner(file); lines.Scan(); epochs++ {
		var c walk
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		c.check(t)
	}
	t.Logf("%d epochs compared", epochs)
}

// walk is one epoch of a training that is stopped and resumed, and the hash of
// everything that all ranks saw.
type walk struct {
	Seed, Epoch    uint64
	Samples, Start int
	Shuffle        bool
	Tail           Tail
	Legs           [][3]int // world, batch, steps
	Trace, Digest  string
	End, Left      int
}

func (w walk) check(t *testing.T) {
	t.Helper()
	order := InOrder(w.Samples)
	if w.Shuffle {
		order = NewPermutation(w.Seed, w.Epoch, w.Samples)
	}
	consumed, left, digest := w.Start, 0, BagDigest{}
	var seen []byte
	see := func(n int) { seen = binary.LittleEndian.AppendUint64(seen, uint64(n)) }
	for _, leg := range w.Legs {
		p := Plan{Samples: w.Samples, World: leg[0], Batch: leg[1], Tail: w.Tail}
		for turn := range leg[2] * p.World {
			step, rank := turn/p.World, turn%p.World
			s := p.SliceOf(consumed, step, rank)
			for i := range s.Count + s.Padded {
				position, padding := p.Position(consumed, step, rank, i)
				sample := order.At(position)
				flag := 0
				if padding {
					flag = 1
				} else {
					digest.Add(sample)
				}
				see(step)
				see(rank)
				see(position)
				see(flag)
				see(sample)
			}
		}
		consumed = p.After(consumed, leg[2]-1)
		left = p.Steps(consumed)
	}
	hash := sha256.Sum256(seen)
	trace := hex.EncodeToString(hash[:8])
	if trace != w.Trace || digest.String() != w.Digest || consumed != w.End || left != w.Left {
		t.Errorf("%+v: trace %s, digest %v, end %d, %d steps left", w, trace, digest, consumed, left)
	}
}
