package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// leastAnomalies is the part of the looks at a launching thread that find it taking stacks for autograd's
// anomaly detection, from which it is on. [J] Nothing else that trains takes them, and most of what the
// detection costs is native code, which no look tells from the model's.
const leastAnomalies = 0.02

// findBlocking tells of launches that wait for their kernels because a variable says so.
func (l filler) findBlocking() []diagnose.Finding {
	if p := l.run.FindProcess(l.Costs.Window.PID); p == nil || !p.Blocking {
		return nil
	}
	f := diagnose.NewFinding(diagnose.FindingLaunchBlocking)
	f.Text = "CUDA_LAUNCH_BLOCKING is set: each launch waits until its kernel has ended, and the device for the next one"
	f.Advice = "unset CUDA_LAUNCH_BLOCKING, which helps to find the kernel that fails, and nothing else"
	return []diagnose.Finding{f}
}

// findAnomalies tells of anomaly detection that is on while the program trains.
func (l filler) findAnomalies() []diagnose.Finding {
	line, seen := l.LoopLines.FirstOf(diagnose.Anomalies)
	if !seen || l.LoopLines.Looks < fewLooks || line.Seconds < leastAnomalies*l.LoopLines.Seconds {
		return nil
	}
	f := diagnose.NewFinding(diagnose.FindingAnomalyDetection)
	f.Text = fmt.Sprintf("autograd's anomaly detection is on: %s of the launching thread's stack samples find it "+
		"taking a stack for an operation of %s, and checking each gradient is not among them",
		quantity.Percent(line.Seconds/l.LoopLines.Seconds), line.Short())
	f.Advice = diagnose.Anomalies.Advice()
	return []diagnose.Finding{f}
}
