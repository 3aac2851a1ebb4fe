package feed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/stoker-dev/stoker/feed/decode"
)

// trouble is why a sample is bad, or was not made (asUnmade). Its text begins with the file.
type trouble struct {
	path   string
	kind   decode.Kind
	reason string
	digest string // of the file, where it could be read
}

func newTrouble(l *Loader, sample int, file []byte, err error) *trouble {
	t := &trouble{path: l.pathOf(sample), kind: kindOf(err), reason: err.Error()}
	if t.kind != unreadable && len(file) > 0 {
		digest := sha256.Sum256(file)
		t.digest = hex.EncodeToString(digest[:])
	}
	return t
}

func (t *trouble) Error() string { return t.path + ": " + t.reason }

func (t *trouble) badSample(sample, place int, instead *int) Bad {
	return Bad{Index: sample, Path: t.path, Reason: t.reason, Kind: string(t.kind), Instead: instead, place: place}
}

// badSamples is what a loader knows of its bad samples.
type badSamples struct {
	mu      sync.RWMutex
	samples map[int]*trouble    // that are not worth another try
	noted   map[int]bool        // that are in the quarantine file
	charged map[uint64]*charges // by epoch
}

// knownTrouble is why a sample is bad, where that is known from an earlier epoch.
func (s *badSamples) knownTrouble(sample int) *trouble {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.samples[sample]
}

// remember keeps the trouble, so that the next epoch does not decode the file
// again to the same end, and tells the quarantine file. A file that could not be
// read is tried again: that may be the storage's trouble and not the file's.
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

// keptEpochs have their bad samples counted: the one that is trained, the next
// one that is prefetched, and an evaluation's in between.
const keptEpochs = 4

// charges are the bad samples of an epoch that were found in their turn.
type charges struct {
	before int         // in front of the offset at which the epoch was begun, as a state says
	at     map[int]int // positions of the others, by sample
}

// countBad is how many were bad in front of an offset.
func (c *charges) countBad(offset int) int {
	n := c.before
	for _, position := range c.at {
		if position < offset {
			n++
		}
	}
	return n
}

// chargesOf returns the charges of an epoch. mu is held.
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

// resume takes from a state how many samples of an epoch were bad in front of an
// offset: a run that is begun again in the middle would otherwise have its budget
// of bad samples anew, each time.
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

// CountBad is how many samples of an epoch were bad in front of an offset, as far as they
// were found here or a state told. Of what is still in the making nobody knows yet.
func (l *Loader) CountBad(epoch uint64, offset int) int {
	s := &l.bad
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c := s.charged[epoch]; c != nil {
		return c.countBad(offset)
	}
	return 0
}

// charge counts a bad sample of an epoch; an error where there are too many.
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

// maxBad is the number of bad samples that an epoch may have.
func maxBad(share float64, samples int) int { return max(1, int(share*float64(samples))) }
