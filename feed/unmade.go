package feed

import (
	"errors"
	"fmt"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/source"
)

// The kinds of samples that were not made although their files may be sound, besides
// decode.Unsupported. No policy for bad samples applies to them: they are neither substituted, nor
// masked, nor left out.
const (
	outage decode.Kind = "outage" // the machine, its storage or the network failed; see source.IsOutage
	fault  decode.Kind = "fault"  // one of Stoker's decoders panicked
)

// Unmade is why a batch cannot be made here. Another daemon, or the script's own code, may
// still be able to make it.
type Unmade struct {
	Sample int // -1: no single one
	Path   string
	Kind   decode.Kind // outage, fault or decode.Unsupported
	Reason string
}

func (u *Unmade) Error() string {
	return fmt.Sprintf("sample %d was not made: %s: %s", u.Sample, u.Path, u.Reason)
}

// KindOf returns whether an error of a batch or a loader is an outage, a fault of Stoker's or a
// picture that it does not read; "" if none of them.
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
