package diagnose_test

import (
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

func lineOf(kind diagnose.Kind, own int, call string, seconds float64) diagnose.LoopLine {
	line := diagnose.LoopLine{Seconds: seconds}
	line.Kind, line.Call, line.Share = kind, recording.Place{File: call, Line: 9}, stoker.Exactly(seconds/100)
	if own > 0 {
		line.Own = recording.Place{File: "/srv/app.py", Line: own}
	}
	return line
}

// Where a request waits for a thread of a full pool, the line at which the pool's threads are is named.
func TestTheLineThatTakesAPoolsThreads(t *testing.T) {
	lines := diagnose.LoopLines{
		Lines:  []diagnose.LoopLine{lineOf(diagnose.Held, 26, "", 60)},
		Awaits: []diagnose.LoopLine{lineOf(diagnose.ThreadPool, 0, "asyncio/locks.py", 80)},
	}
	if line, found := lines.FirstHeld(); !found || line.Own.Line != 26 || line.Kind != diagnose.ThreadPool {
		t.Errorf("it is %s, %s", line, line.Kind)
	}
}

// A library's own thread works for the line of the coroutine that awaits the library.
func TestTheLineThatAwaitsALibrarysThread(t *testing.T) {
	for call, want := range map[string]int{"aiosqlite/core.py": 32, "asyncio/queues.py": 0} {
		lock := lineOf(diagnose.Held, 49, "asyncio/locks.py", 30)
		lock.Locked = 30
		lines := diagnose.LoopLines{
			Lines:  []diagnose.LoopLine{lineOf(diagnose.PerRequest, 0, "threading.py", 20)},
			Awaits: []diagnose.LoopLine{lock, lineOf(diagnose.Held, 32, call, 14)},
		}
		if line, found := lines.FirstWork(); !found || line.Own.Line != want {
			t.Errorf("it is %s for %s", line, call)
		}
	}
}

// Garbage is collected for the function that makes it: with its other lines it may have more than a model on the CPU.
func TestGarbageIsOfTheFunctionThatMakesIt(t *testing.T) {
	in := func(line diagnose.LoopLine, function string) diagnose.LoopLine {
		line.Own.Function = function
		return line
	}
	lines := diagnose.LoopLines{Lines: []diagnose.LoopLine{
		in(lineOf(diagnose.OnHost, 19, "", 9), "forward"), in(lineOf(diagnose.Garbage, 34, "", 8), "forbidden"),
		in(lineOf(diagnose.PerRequest, 35, "", 6), "forbidden"),
	}}
	if line, found := lines.FirstWork(); !found || line.Own.Line != 35 {
		t.Errorf("it is %s", line)
	}
	asked := diagnose.LoopLines{Lines: []diagnose.LoopLine{ // gc.collect() beside work of a moment
		in(lineOf(diagnose.Garbage, 26, "", 20), "speak"), in(lineOf(diagnose.PerRequest, 54, "", 1), "infer"),
		in(lineOf(diagnose.PerRequest, 27, "", 0.5), "speak"),
	}}
	if line, found := asked.FirstWork(); !found || line.Own.Line != 26 {
		t.Errorf("it is %s, not the collection", line)
	}
}
