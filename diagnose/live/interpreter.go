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
	// shares of the launching thread's samples in which it waits for the interpreter lock. The second one counts if it
	// is half of the device's idle time
	muchLocked, leastLocked = 0.3, 0.15
	leastHolding            = 0.25 // cores that the trainer's other threads use meanwhile
)

// findInterpreterLock tells of other threads of the trainer that hold Python's interpreter lock while the launching
// thread takes batches over from its workers, runs Python, or comes back from a wait for the device.
func (l filler) findInterpreterLock() []diagnose.Finding {
	pid, lines := l.Costs.Window.PID, l.LoopLines
	others := l.run.Find(recording.ProcessCPU, fmt.Sprintf("process/%d", pid)).Rate(l.From, l.To) -
		l.run.Find(recording.ThreadCPU, measure.LaunchThread(l.run, pid)).Rate(l.From, l.To)
	share := lines.Locked / lines.Seconds
	least := muchLocked
	if l.Idle > 0 {
		least = max(leastLocked, min(muchLocked, l.Idle/2))
	}
	if l.LooksAtAsker || lines.Looks < fewLooks || !(share >= least) || !(others >= leastHolding) {
		return nil
	}
	f := diagnose.NewTextFinding(diagnose.FindingInterpreterLock, fmt.Sprintf("%s of the launching thread's "+
		"stack samples find it waiting for Python's interpreter lock, in next(), in a loop or after a wait for the device, "+
		"and the other threads of its process use %s cores meanwhile",
		diagnose.WholePercent(share), quantity.AboutCores(others)))
	for _, who := range []string{l.Asker, l.DescribeBeside()} {
		if who != "" {
			f.Text += ". " + who
		}
	}
	f.Source = l.Beside.Short()
	f.Share, f.Advice = share, diagnose.InterpreterAdvice
	return []diagnose.Finding{f}
}

// findBeside finds the line of the program on which another thread of the trainer mostly runs while the launching one
// waits for a lock. Its Share is of the looks that found a thread there.
func (l filler) findBeside() (first diagnose.LoopLine) {
	stacks, looks := l.run.FetchStacks(l.From, l.To, recording.Loading{PID: l.Costs.Window.PID, Beside: true})
	var lines []diagnose.LoopLine
	all := 0.0
	for _, s := range stacks {
		own, call := splitStack(s.Places)
		all += s.Seconds
		lines = append(lines, diagnose.LoopLine{Line: diagnose.Line{Own: own, Call: call}, Seconds: s.Seconds})
	}
	own, _ := l.run.FetchStacks(l.From, l.To, recording.Loading{PID: l.Costs.Window.PID, Outside: true})
	locked := 0.0
	for _, s := range own {
		if s.Awaits == recording.AwaitsLock {
			locked += s.Seconds
		}
	}
	first, seconds := diagnose.BusiestFunction(lines, func(line diagnose.LoopLine) bool { return line.Own.File != "" })
	if looks < fewLooks || seconds < mostlyBeside*max(all, locked) || l.LooksAtAsker {
		return diagnose.LoopLine{}
	}
	first.Share = estimateShare(seconds, all, looks)
	return first
}

// mostlyBeside is the share of the looks at other threads, and of the time in which the launching one waits for a lock,
// from which one function is named as what is waited for. [J]
const mostlyBeside = 0.5

// awaitsInterpreter reports whether a thread that takes a batch over, has waited for the device, or runs a loop of
// Python, waits for a lock. The functions that it calls there take no other lock than the interpreter's.
func awaitsInterpreter(s recording.Stack) bool {
	if s.Awaits != recording.AwaitsLock || len(s.Places) == 0 {
		return false
	}
	if s.Native == loopOfPython {
		return true
	}
	last := s.Places[len(s.Places)-1]
	return isLoader(last) || startsWithAny(last.File, handsOver) || kindOfPlace(last) == diagnose.DeviceWait
}

// awaitsOf returns awaitsInterpreter for these stacks. In a loop of Python the thread asks for the lock every few
// milliseconds: where one look finds it at the lock, one that finds it asleep on that line is between two requests.
func awaitsOf(stacks []recording.Stack) func(recording.Stack) bool {
	loops := map[recording.Place]bool{}
	for _, s := range stacks {
		if s.Native == loopOfPython && awaitsInterpreter(s) {
			loops[s.Places[len(s.Places)-1]] = true
		}
	}
	return func(s recording.Stack) bool {
		sleeps := s.Asleep && s.Native == loopOfPython && len(s.Places) > 0
		return awaitsInterpreter(s) || sleeps && loops[s.Places[len(s.Places)-1]]
	}
}
