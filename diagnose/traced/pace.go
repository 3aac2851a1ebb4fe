package traced

import (
	"math"

	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// The host sets the pace of steps if its own time is next to all of their critical path, and the device waits for it
// a fifth of the window: a device twice as fast then only waits for longer. [J]
const (
	hostPath = 0.9
	hostWait = 0.2
)

// A device is not the limit of what a replay makes no faster with kernels of half the length. Gaps below a twentieth of
// the window are no room for the host either, and less of a gain is not shown anywhere. [J]
const (
	paceGaps = 0.05
	noGain   = 1.05
	samePath = 0.1    // how far the replayed steps may be off the judged ones
	paceHost = 1. / 3 // of the critical path the host's own time, at least
	paceSeen = 0.5    // of that in recorded operators, at least
)

// playRun returns the replay of the steps, and keeps it; nil if they cannot be replayed.
func (t *filler) playRun(run *recording.Run) *replay.Trace {
	if !t.asked {
		t.asked = true
		if played, why := replay.New(run, replay.Marks{}); why == "" {
			t.played = played
		}
	}
	return t.played
}

// pacesSteps reports whether the host sets the pace of a device whose kernels take most of the window.
func (t *filler) pacesSteps(run *recording.Run) bool {
	if t.parts.Host < hostWait {
		return false
	}
	played := t.playRun(run)
	return played != nil && played.Check().Path.HostShare() >= hostPath
}

// keepsPace reports whether the host needs as long to launch as a busy device to compute, so that a faster device alone
// brings nothing.
func (t *filler) keepsPace(run *recording.Run) bool {
	if t.d.Share(t.d.Idle) < paceGaps || t.hidesHost() {
		return false
	}
	played := t.playRun(run)
	if played == nil {
		return false
	}
	check := played.Check()
	path, own := check.Path, int64(0)
	for _, spent := range check.Spent {
		if spent.Part == replay.Host && spent.Name >= 0 {
			own += spent.Time
		}
	}
	off := math.Abs(check.Mean*t.countSteps()*1e9/float64(t.d.WindowLength()) - 1)
	return off <= samePath && path.HostShare() >= paceHost && float64(own) >= paceSeen*float64(path[replay.Host]) &&
		played.Likely(replay.Edit{Twice: true}) < noGain
}
