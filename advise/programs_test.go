package advise

import (
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
)

// A worker that waits for a program of its own sleeps, and the program takes a core: no more workers than cores.
func TestWorkersThatStartPrograms(t *testing.T) {
	run := liveRun(t)
	v := judge.Judge(run)
	before := workersOf(t, fixOf(t, run, stoker.NumWorkers))
	v.Costs.Cores = 3
	v.Lines = []diagnose.Line{{Kind: diagnose.Programs, Share: stoker.Exactly(0.9)}}
	_, fix := said(Rank(run, v), string(stoker.NumWorkers))
	if fix != nil && workersOf(t, *fix) > 3 || before <= 3 {
		t.Errorf("%+v, and %d without programs", fix, before)
	}
}
