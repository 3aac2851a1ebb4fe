package feed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
)

// newTrouble turns the error of a sample into a trouble, with the digest of its file if there
// is one.
func newTrouble(l *Loader, sample int, file []byte, err error) *trouble {
	t := &trouble{path: l.pathOf(sample), kind: kindOf(err), reason: err.Error()}
	if t.kind != unreadable && len(file) > 0 {
		digest := sha256.Sum256(file)
		t.digest = hex.EncodeToString(digest[:])
	}
	return t
}

// badSamples records the bad samples of a loader.
type badSamples struct {
	mu      sync.RWMutex
	samples map[int]*trouble    // not worth another try
	noted   map[int]bool        // named in the quarantine file
	charged map[uint64]*charges // by epoch
}

// knownTrouble returns why a sample is bad if an earlier epoch found that, else nil.
func (s *badSamples) knownTrouble(sample int) *trouble {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.samples[sample]
}

// remember keeps the trouble, so that the next epoch does not decode the file again in vain,
// and appends it to the quarantine file. A file that could not be read is tried again, because
// the storage may be at fault.
func (s *badSamples) remember(l *Loader, sample int, t *trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.samples == nil {
		s.samples, s.noted = map[int]*trouble{}, map[int]bool{}
	}
	if t.kind != unreadable {
		s.samples[sample] = t
	}
	if !s.noted[sample] {
		s.noted[sample] = true
		l.statistics.bad.Add(1)
		l.quarantine.append(sample, t)
	}
}

// keptEpochs is how many epochs have their bad samples counted: the one in training, the next
// one being prefetched, and an evaluation in between.
const keptEpochs = 4

// charges counts the bad samples of an epoch against its budget.
type charges struct {
	before int         // number before the offset at which the epoch began, taken from a state
	at     map[int]int // positions of the others, by sample
}

// countBad returns how many samples before an offset were bad.
func (c *charges) countBad(offset int) int {
	n := c.before
	for _, position := range c.at {
		if position < offset {
			n++
		}
	}
	return n
}

// chargesOf returns the charges of an epoch. The caller holds mu.
func (s *badSamples) chargesOf(epoch uint64) *charges {
	if s.charged == nil {
		s.charged = map[uint64]*charges{}
	}
	if s.charged[epoch] == nil {
		for old := range s.charged {
			if old+keptEpochs <= epoch {
				delete(s.charged, old)
			}
		}
		s.charged[epoch] = &charges{at: map[int]int{}}
	}
	return s.charged[epoch]
}

// resume takes from a state how many samples of an epoch before an offset were bad. Without it,
// every resumed run would get a full budget of bad samples again.
func (s *badSamples) resume(epoch uint64, from, before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chargesOf(epoch)
	c.before = before
	for sample, position := range c.at {
		if position < from {
			delete(c.at, sample)
		}
	}
}

// CountBad returns how many samples of an epoch before an offset were bad, as far as this
// daemon found them or a state recorded them. Samples still in the making are not counted.
func (l *Loader) CountBad(epoch uint64, offset int) int {
	s := &l.bad
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c := s.charged[epoch]; c != nil {
		return c.countBad(offset)
	}
	return 0
}

// charge counts a bad sample of an epoch, and returns an error if there are too many.
func (s *badSamples) charge(l *Loader, epoch uint64, sample, position int, t *trouble) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chargesOf(epoch)
	c.at[sample] = position
	count, most := c.before+len(c.at), maxBad(l.spec.MaxBad, l.samples)
	if count <= most {
		return nil
	}
	return fmt.Errorf("%d bad samples in epoch %d of %d samples, more than the %d that max_bad = %v allows: the last "+
		"one is %w%s",
		count, epoch, l.samples, most, l.spec.MaxBad, t, l.quarantine.hint())
}

// maxBad returns the number of bad samples that an epoch may have.
func maxBad(share float64, samples int) int { return max(1, int(share*float64(samples))) }
