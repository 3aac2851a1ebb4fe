package feed

import (
	"errors"
	"fmt"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/source"
)

// The kinds of samples that were not made although nothing is known to be wrong with their files. No
// policy for bad samples counts for them: nothing stands in, nothing is masked, nothing is left out.
const (
	outage decode.Kind = "outage" // the machine, its storage or the network could not serve; see source.IsOutage
	fault  decode.Kind = "fault"  // a decoder of ours panicked
)

// Unmade is why a batch cannot be made here, and may well be made elsewhere: by another daemon, or by the
// script's own code.
type Unmade struct {
	Sample int // -1: no single one
	Path   string
	Kind   decode.Kind // outage or fault
	Reason string
}

func (u *Unmade) Error() string {
	return fmt.Sprintf("sample %d was not made: %s: %s", u.Sample, u.Path, u.Reason)
}

// asUnmade is the trouble as an Unmade; nil: the sample is bad.
func (t *trouble) asUnmade(sample int) *Unmade {
	if t.kind != outage && t.kind != fault {
		return nil
	}
	return &Unmade{sample, t.path, t.kind, t.reason}
}

// KindOf says whether an error of a batch or a loader is an outage or a fault of ours; "": neither.
func KindOf(err error) decode.Kind {
	var u *Unmade
	switch {
	case errors.As(err, &u):
		return u.Kind
	case source.IsOutage(err):
		return outage
	}
	return ""
}

// lackMemory is an outage that lasts: the memory that this daemon may take has no room.
func (p *Pool) lackMemory(what string, args ...any) error {
	why := fmt.Sprintf(what, args...)
	err := fmt.Errorf("%s, as its share of %s allows: give more memory or fewer threads", why,
		mebibytes(p.budget.total))
	return &source.Outage{Err: err, Lasts: true}
}
