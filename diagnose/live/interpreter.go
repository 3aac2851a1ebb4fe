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
// thread takes batches over from its workers.
func (l filler) findInterpreterLock() []diagnose.Finding {
	pid, locked, all := l.Costs.Window.PID, 0.0, 0.0
	stacks, looks := l.run.FetchStacks(l.From, l.To, recording.Loading{PID: pid, Outside: true})
	for _, s := range stacks {
		if all += s.Seconds; awaitsInterpreter(s) {
			locked += s.Seconds
		}
	}
	others := l.run.Find(recording.ProcessCPU, fmt.Sprintf("process/%d", pid)).Rate(l.From, l.To) -
		l.run.Find(recording.ThreadCPU, measure.LaunchThread(l.run, pid)).Rate(l.From, l.To)
	share := locked / all
	if looks < fewLooks || !(share >= leastLocked) || !(others >= leastHolding) {
		return nil
	}
	f := diagnose.NewTextFinding(diagnose.FindingInterpreterLock, fmt.Sprintf("%s of the looks at the launching thread find it "+
		"waiting for Python's interpreter lock, in next(), and the other threads of its process use %s cores meanwhile",
		diagnose.WholePercent(share), quantity.AboutCores(others)))
	f.Share, f.Advice = share, diagnose.InterpreterAdvice
	return []diagnose.Finding{f}
}

// awaitsInterpreter reports whether a thread that takes a batch over waits for a lock: what it calls there has none
// of its own.
func awaitsInterpreter(s recording.Stack) bool {
	if s.Awaits != recording.AwaitsLock || len(s.Places) == 0 {
		return false
	}
	last := s.Places[len(s.Places)-1]
	return isLoader(last) || startsWithAny(last.File, handsOver)
}
