package advise

import (
	"strings"
	"testing"

	"stoker"
	"stoker/diagnose"
	"stoker/recording"
)

// live is the hand-written main-thread run of testdata/cases.
func live(t *testing.T) *recording.Run {
	t.Helper()
	run, err := recording.Open("../testdata/cases/main-thread-live/run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func first(t *testing.T, run *recording.Run) Fix {
	t.Helper()
	plan := Rank(run, diagnose.Judge(run))
	if len(plan.Fixes) == 0 {
		t.Fatalf("no fix; rejected: %v", plan.Rejected)
	}
	return plan.Fixes[0]
}

func workersOf(t *testing.T, fix Fix) int {
	t.Helper()
	for _, c := range fix.Changes {
		if c.Setting == stoker.NumWorkers {
			return c.To.(int)
		}
	}
	t.Fatalf("fix %s does not set num_workers: %v", fix.Name, fix.Changes)
	return 0
}

func TestWorkersUntilTheLoopBinds(t *testing.T) {
	fix := first(t, live(t))
	if n := workersOf(t, fix); n < 5 || n > 7 {
		t.Errorf("num_workers=%d, want about 50 ms / 10 ms", n)
	}
	if !strings.Contains(strings.Join(fix.Notes, "\n"), "loop itself") {
		t.Errorf("notes do not say why not more: %v", fix.Notes)
	}
}

func TestWorkersStayWithinCores(t *testing.T) {
	run := live(t)
	run.Facts.Machine.Quota = 2
	if n := workersOf(t, first(t, run)); n > 3 {
		t.Errorf("num_workers=%d on a quota of 2 cores", n)
	}
}

func TestWorkersStayWithinMemory(t *testing.T) {
	run := live(t)
	for i, s := range run.Series {
		if s.Signal == recording.MachineMemory {
			for j := range run.Series[i].V {
				run.Series[i].V[j] = 4e9 // each worker may take the trainer's 1.5 GB
			}
		}
	}
	fix := first(t, run)
	if n := workersOf(t, fix); n > 2 {
		t.Errorf("num_workers=%d with 4 GB free", n)
	}
	if !strings.Contains(strings.Join(fix.Notes, "\n"), "memory that are free") {
		t.Errorf("notes do not name the memory: %v", fix.Notes)
	}
}

// Docker's default /dev/shm of 64 MB holds three batches of 9.6 MB, ahead of two.
func TestWorkersStayWithinShm(t *testing.T) {
	run := live(t)
	run.Facts.Machine.ShmBytes = 64e6
	fix := first(t, run)
	if n := workersOf(t, fix); n > 2 {
		t.Errorf("num_workers=%d with 64 MB of /dev/shm", n)
	}
	if !strings.Contains(strings.Join(fix.Notes, "\n"), "/dev/shm") {
		t.Errorf("notes do not name /dev/shm: %v", fix.Notes)
	}
}

func TestHealthyRunGetsNoAdvice(t *testing.T) {
	run := live(t)
	for i := range run.Steps {
		run.Steps[i].Idle = 0 // the device's queue covers every wait
	}
	for i, s := range run.Series {
		if s.Signal == recording.GPUUtilisation {
			for j := range run.Series[i].V {
				run.Series[i].V[j] = 1
			}
		}
	}
	v := diagnose.Judge(run)
	if v.Class != diagnose.GPUBound {
		t.Errorf("class %s, want gpu-bound; scores %v", v.Class, v.Scores)
	}
	plan := Rank(run, v)
	if len(plan.Fixes) != 0 {
		t.Errorf("advised %v", plan.Fixes[0])
	}
}

func TestWithoutStepsTheGainIsOnlyBounded(t *testing.T) {
	run := live(t)
	run.Steps, run.Facts.Loaders = nil, nil
	v := diagnose.Judge(run)
	if v.Class != diagnose.MainThread {
		t.Fatalf("class %s, want %s by live signals; scores %v", v.Class, diagnose.MainThread, v.Scores)
	}
	fix := Rank(run, v).Fixes[0]
	if s := fix.Forecast.Speedup; s.Known() || !(s.High > 5.9 && s.High < 6.1) {
		t.Errorf("speed-up %+v, want at most 6 and no point", s)
	}
}
