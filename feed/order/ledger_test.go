package order

import (
	"reflect"
	"testing"
)

// batch releases the samples of positions begin..end-1.
func batch(l *Ledger, p *Permutation, begin, end int) {
	var samples []int
	for i := begin; i < end; i++ {
		samples = append(samples, p.At(i))
	}
	l.Release(begin, samples)
}

func TestLedgerExactlyOnce(t *testing.T) {
	p := NewPermutation(1, 1, 1000)
	l := NewLedger(100, 1000)
	for _, c := range []struct{ begin, end, consumed, spans int }{
		{200, 300, 100, 1}, {100, 150, 150, 2}, {400, 1000, 150, 3}, {150, 200, 300, 2}, {350, 350, 300, 2}, {300, 400, 1000, 1},
	} {
		batch(l, p, c.begin, c.end)
		if l.Consumed() != c.consumed || len(l.spans) != c.spans {
			t.Errorf("after %d-%d: consumed %d in %d spans, want %d in %d", c.begin, c.end, l.Consumed(), len(l.spans), c.consumed, c.spans)
		}
	}
	if a := l.Close(p); !a.ExactlyOnce || a.Samples != 900 || a.Missing+a.Repeated+len(a.MissingIDs)+len(a.RepeatedIDs) != 0 {
		t.Errorf("%+v", a)
	}
}

func TestLedgerNamesWhatIsWrong(t *testing.T) {
	p := NewPermutation(1, 1, 1000)
	for _, c := range []struct {
		name              string
		released          [][2]int
		missing, repeated []int // positions
	}{
		{"a gap", [][2]int{{10, 20}, {23, 50}}, []int{20, 21, 22}, nil},
		{"an end", [][2]int{{10, 48}}, []int{48, 49}, nil},
		{"nothing but a middle", [][2]int{{12, 48}}, []int{10, 11, 48, 49}, nil},
		{"twice", [][2]int{{10, 50}, {30, 32}}, nil, []int{30, 31}},
		{"three times", [][2]int{{10, 50}, {30, 31}, {30, 31}}, nil, []int{30, 30}},
		{"across several", [][2]int{{10, 20}, {30, 40}, {19, 31}, {40, 50}}, nil, []int{19, 30}},
		{"before and after", [][2]int{{9, 51}}, nil, []int{9, 50}},
		{"one for another", [][2]int{{10, 20}, {19, 49}}, []int{49}, []int{19}},
	} {
		l := NewLedger(10, 50)
		for _, r := range c.released {
			batch(l, p, r[0], r[1])
		}
		a := l.Close(p)
		if a.ExactlyOnce || a.Missing != len(c.missing) || a.Repeated != len(c.repeated) || a.Digest == a.Expected ||
			!reflect.DeepEqual(a.MissingIDs, samplesAt(p, c.missing)) || !reflect.DeepEqual(a.RepeatedIDs, samplesAt(p, c.repeated)) {
			t.Errorf("%s: %+v", c.name, a)
		}
	}
}

func samplesAt(p *Permutation, positions []int) (samples []int) {
	for _, position := range positions {
		samples = append(samples, p.At(position))
	}
	return samples
}

// The spans are whole and a sample in a batch is not the one that was due.
func TestLedgerSeesAWrongSample(t *testing.T) {
	p := NewPermutation(1, 1, 10)
	l := NewLedger(0, 10)
	batch(l, p, 0, 9)
	l.Release(9, []int{p.At(8)})
	if a := l.Close(p); a.ExactlyOnce || a.Digest == a.Expected {
		t.Errorf("%+v", a)
	}
}

func TestLedgerListsAHundred(t *testing.T) {
	p := InOrder(100000)
	l := NewLedger(0, 100000)
	batch(l, p, 0, 1000)
	batch(l, p, 500, 1000)
	a := l.Close(p)
	if a.Missing != 99000 || a.Repeated != 500 || len(a.MissingIDs) != 100 || len(a.RepeatedIDs) != 100 || a.MissingIDs[0] != 1000 || a.RepeatedIDs[0] != 500 {
		t.Errorf("%d missing, %v; %d repeated, %v", a.Missing, a.MissingIDs, a.Repeated, a.RepeatedIDs)
	}
}

func TestLedgerOfAnotherEpoch(t *testing.T) {
	p := InOrder(10)
	l := NewLedger(0, 10)
	l.Release(-2, []int{0, 1})
	l.Release(10, []int{0, 1})
	if a := l.Close(p); a.Missing != 10 || a.Repeated != 4 || a.RepeatedIDs != nil {
		t.Errorf("%+v", a)
	}
}

func TestDigest(t *testing.T) {
	var one, two, parts, rest Digest
	for i := range 1000 {
		one.Add(i)
		two.Add(999 - i)
		if i < 300 {
			parts.Add(i)
		} else {
			rest.Add(i)
		}
	}
	parts.Merge(rest)
	if one != two || one != parts {
		t.Errorf("%v, %v, %v", one, two, parts)
	}
	twice, none := one, one
	twice.Add(0)
	twice.Add(0)
	if twice == none || twice.Xor != none.Xor {
		t.Error("a pair of samples is only in the sum")
	}
	if got := (Digest{Sum: 1, Xor: 2}).String(); got != "00000000000000010000000000000002" {
		t.Error(got)
	}
}

// The digests of all pairs of 500 samples, a sample with itself included, differ.
func TestDigestsDiffer(t *testing.T) {
	seen := map[Digest]bool{}
	for i := range 500 {
		for j := range i + 1 {
			var d Digest
			d.Add(i)
			d.Add(j)
			seen[d] = true
		}
	}
	if len(seen) != 500*501/2 {
		t.Errorf("%d digests of %d bags", len(seen), 500*501/2)
	}
}
