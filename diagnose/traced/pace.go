package traced

import (
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// The host sets the pace of steps if its own time is next to all of their critical path, and the device waits for it
// a fifth of the window: a device twice as fast then only waits for longer. [J]
const (
	hostPath = 0.9
	hostWait = 0.2
)

// pacesSteps reports whether the host sets the pace of a device whose kernels take most of the window.
func (t *filler) pacesSteps(run *recording.Run) bool {
	if t.parts.Host < hostWait {
		return false
	}
	played, why := replay.New(run, replay.Marks{})
	return why == "" && played.Check().Path.HostShare() >= hostPath
}
