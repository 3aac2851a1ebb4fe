package predict

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/quantity"
)

// What no machine has: a sample larger than its memory (the largest have 32 TB), and bytes that move
// faster than memory does (a Grace CPU reaches 0.5 TB/s, Frontier's whole file system 10 TB/s).
const mostSample, mostRate = 32e12, 10e12

// CheckMachine fails if a person describes what no machine has, such as a slip of a unit. Solve answers
// for it all the same.
func (s Setup) CheckMachine() error {
	for _, f := range []struct {
		flag  string
		value stoker.Interval
		most  float64
		show  func(float64) string
	}{
		{"sample", s.Sample, mostSample, quantity.AboutBytes},
		{"decoded", s.Decoded, mostSample, quantity.AboutBytes},
		{"cpu", s.PrepareRate, mostRate, quantity.AboutRate},
		{"storage", s.Storage, mostRate, quantity.AboutRate},
		{"network", s.Network, mostRate, quantity.AboutRate},
		{"link", stoker.Exactly(s.Link.Pinned.Value), mostRate, quantity.AboutRate},
	} {
		if f.value.Point > f.most {
			return fmt.Errorf("--%s is %s, more than any machine has: expected at most %s", f.flag,
				f.show(f.value.Point), f.show(f.most))
		}
	}
	return nil
}
