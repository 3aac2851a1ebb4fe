package order

import "testing"

func TestDigest(t *testing.T) {
	var one, two, parts, rest BagDigest
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
	if got := (BagDigest{Sum: 1, Xor: 2}).String(); got != "00000000000000010000000000000002" {
		t.Error(got)
	}
}

// The digests of all pairs of 500 samples, a sample with itself included, differ.
func TestDigestsDiffer(t *testing.T) {
	seen := map[BagDigest]bool{}
	for i := range 500 {
		for j := range i + 1 {
			var d BagDigest
			d.Add(i)
			d.Add(j)
			seen[d] = true
		}
	}
	if len(seen) != 500*501/2 {
		t.Errorf("%d digests of %d bags", len(seen), 500*501/2)
	}
}
