package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of what another thread of the trainer costs. [J]
const (
	leastLocked  = 0.3  // share of the looks at the launching thread that find it waiting for the interpreter lock
	leastHolding = 0.25 // cores that the trainer's other threads use meanwhile
)

// findInterpreterLock tells of other threads of the trainer that hold Python's interpreter lock while the launching
// thread takes batches over from its workers, or comes back from a wait for the device.
func (l filler) findInterpreterLock() []diagnose.Finding {
	pid, lines := l.Costs.Window.PID, l.LoopLines
	others := l.run.Find(recording.ProcessCPU, fmt.Sprintf("process/%d", pid)).Rate(l.From, l.To) -
		l.run.Find(recording.ThreadCPU, measure.LaunchThread(l.run, pid)).Rate(l.From, l.To)
	share := lines.Locked / lines.Seconds
	if lines.Looks < fewLooks || !(share >= leastLocked) || !(others >= leastHolding) {
		return nil
	}
	f := diagnose.NewTextFinding(diagnose.FindingInterpreterLock, fmt.Sprintf("%s of the launching thread's "+
		"stack samples find it waiting for Python's interpreter lock, in next() or after a wait for the device, and the "+
		"other threads of its process use %s cores meanwhile",
		diagnose.WholePercent(share), quantity.AboutCores(others)))
	f.Share, f.Advice = share, diagnose.InterpreterAdvice
	return []diagnose.Finding{f}
}

// awaitsInterpreter reports whether a thread that takes a batch over, or has waited for the device, waits for a lock.
// The functions that it calls there take no other lock than the interpreter's.
func awaitsInterpreter(s recording.Stack) bool {
	if s.Awaits != recording.AwaitsLock || len(s.Places) == 0 {
		return false
	}
	last := s.Places[len(s.Places)-1]
	return isLoader(last) || startsWithAny(last.File, handsOver) || kindOfPlace(last) == diagnose.DeviceWait
}
