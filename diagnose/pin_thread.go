package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// pinThread tells of PyTorch's thread that copies batches to page-locked memory, where it
// is always at work and the device waits though the workers keep up.
func (l live) pinThread() (Finding, bool) {
	p := l.run.Process(l.Costs.Window.PID)
	if p == nil || p.PinThread == 0 || l.Costs.Workers == 0 || !(l.Starved.Score >= 0.5) {
		return Finding{}, false
	}
	subject := fmt.Sprintf("thread/%d", p.PinThread)
	core := l.run.Find(recording.ThreadCPU, subject).Rate(l.From, l.To)
	queued := stat.Or(l.run.Find(recording.ThreadQueue, subject).Rate(l.From, l.To), 0)
	if !(core+queued >= 0.8) || !(l.saturated() < 0.7) {
		return Finding{}, false
	}
	f := said("pin-thread", fmt.Sprintf("the one thread that copies batches to page-locked memory is always at work (%s of the time on a core), and the workers wait for it: each batch is copied once more there. Smaller batches of data (uint8 instead of float32), or pin_memory=False, relieve it", stoker.Percent(min(1, core))))
	return f, true
}
