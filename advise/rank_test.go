package advise

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// liveRun is the hand-written main-thread run of testdata/cases.
func liveRun(t *testing.T) *recording.Run {
	t.Helper()
	run, err := recording.Open("../testdata/cases/main-thread-live/run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// fixOf is the fix of that name in a run's plan.
func fixOf(t *testing.T, run *recording.Run, name stoker.Setting) Fix {
	t.Helper()
	plan := Rank(run, judge.Judge(run))
	for _, fix := range plan.Fixes {
		if fix.Name == string(name) {
			return fix
		}
	}
	t.Fatalf("no fix %s among %v; rejected: %v", name, plan.Fixes, plan.Rejected)
	return Fix{}
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
	run := liveRun(t)
	run.Facts.Machine.CPUs, run.Facts.Machine.Allowed = 16, 16
	fix := fixOf(t, run, stoker.NumWorkers)
	if n := workersOf(t, fix); n < 5 || n > 7 {
		t.Errorf("num_workers=%d, want about 50 ms / 10 ms", n)
	}
	if !strings.Contains(strings.Join(fix.Notes, "\n"), "the device (10 ms) is the limit") {
		t.Errorf("notes do not say why not more: %v", fix.Notes)
	}
}

func TestWorkersStayWithinCores(t *testing.T) {
	run := liveRun(t)
	run.Facts.Machine.Quota = 2
	if n := workersOf(t, fixOf(t, run, stoker.NumWorkers)); n > 3 {
		t.Errorf("num_workers=%d on a quota of 2 cores", n)
	}
}

// More cores than a machine has are another machine; fewer are this one's.
func TestCoresOfThisMachineAndOfAnother(t *testing.T) {
	for name, want := range map[string]struct {
		title string
		cores float64
	}{
		"labelled-cpu-exhausted": {"give the job more cores: its affinity mask has 1 of the 2 processors here", 2},
		"two-workers-full":       {"run on another machine, with more cores", 3},
		"throttled":              {"raise the CPU quota", 2},
	} {
		run, err := recording.Open("../testdata/cases/" + name + "/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		fix := fixOf(t, run, stoker.Cores)
		if !strings.HasPrefix(fix.Title, want.title) || fix.Changes[0].To != want.cores {
			t.Errorf("%s: %s, %v; want %s, %v cores", name, fix.Title, fix.Changes, want.title, want.cores)
		}
		elsewhere := strings.Contains(strings.Join(fix.Notes, "\n"), "stoker feed --ray")
		if another := want.title == "run on another machine, with more cores"; elsewhere != another {
			t.Errorf("%s: cores of other nodes named: %v; want %v", name, elsewhere, another)
		}
	}
}

// A program is changed sooner than a machine, if one of its lines has most of a batch.
func TestLineBeforeAnotherMachine(t *testing.T) {
	run, err := recording.Open("../testdata/cases/two-workers-full/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for share, want := range map[float64]string{0.4: string(stoker.Cores), 0.6: diagnose.SlowTransform} {
		v := judge.Judge(run)
		own := recording.Place{File: "/me/train.py", Line: 25, Function: "Set.__getitem__"}
		line := diagnose.Line{Own: own, Kind: diagnose.Code, Share: stoker.Exactly(share)}
		line.Without.Speedup = stoker.Interval{Low: 1, Point: 1.5, High: 2}
		v.Lines = []diagnose.Line{line}
		v.Findings = append(v.Findings, diagnose.Finding{Name: diagnose.SlowTransform})
		if fixes := Rank(run, v).Fixes; len(fixes) < 2 || string(fixes[0].Name) != want {
			t.Errorf("a line with %v of a batch: %+v, want %s first", share, fixes, want)
		}
	}
}

// Beside other programs the line comes first as well, but where the verdict is that they have the cores: second there.
func TestLineBesideOtherPrograms(t *testing.T) {
	line := diagnose.Line{Own: recording.Place{File: "/me/train.py", Line: 25}, Kind: diagnose.Code, Share: stoker.Exactly(0.6)}
	for class, want := range map[diagnose.Class]int{diagnose.MainThread: 0, diagnose.Neighbour: 1} {
		a := adviser{verdict: diagnose.Verdict{Class: class, Lines: []diagnose.Line{line}}}
		fixes := []Fix{
			{Name: string(stoker.Cores), Title: freeMachine},
			{Name: string(stoker.NumWorkers)},
			{Name: diagnose.SlowTransform},
		}
		if a.leadWithLine(fixes); fixes[want].Name != diagnose.SlowTransform {
			t.Errorf("%s: %v", class, fixes)
		}
	}
}

// Why not more is a reason: not that more would be worth something.
func TestWhyNotMoreWorkers(t *testing.T) {
	run, err := recording.Open("../testdata/cases/heavy-getitem/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	if note := fixOf(t, run, stoker.NumWorkers).Notes[0]; !strings.HasPrefix(note, "2 are enough: as many as the cores that this job may use") {
		t.Error(note)
	}
}

func TestWorkersStayWithinMemory(t *testing.T) {
	run := liveRun(t)
	for i, s := range run.Series {
		if s.Signal == recording.MachineMemory {
			for j := range run.Series[i].V {
				run.Series[i].V[j] = 4e9 // each worker may take the trainer's 1.5 GB
			}
		}
	}
	fix := fixOf(t, run, stoker.NumWorkers)
	if n := workersOf(t, fix); n > 2 {
		t.Errorf("num_workers=%d with 4 GB free", n)
	}
	if !strings.Contains(strings.Join(fix.Notes, "\n"), "memory that are free") {
		t.Errorf("notes do not name the memory: %v", fix.Notes)
	}
}

// Docker's default /dev/shm of 64 MB holds three batches of 9.6 MB, ahead of two.
func TestWorkersStayWithinShm(t *testing.T) {
	run := liveRun(t)
	run.Facts.Machine.ShmBytes = new(64e6)
	fix := fixOf(t, run, stoker.NumWorkers)
	if n := workersOf(t, fix); n > 2 {
		t.Errorf("num_workers=%d with 64 MB of /dev/shm", n)
	}
	if !strings.Contains(strings.Join(fix.Notes, "\n"), "/dev/shm") {
		t.Errorf("notes do not name /dev/shm: %v", fix.Notes)
	}
}

// On few cores another loader is worth more than more workers: it takes less core
// time for a batch.
func TestAnotherLoaderWhereCoresAreFew(t *testing.T) {
	run := liveRun(t)
	run.Facts.Machine.Quota = 2
	plan := Rank(run, judge.Judge(run))
	if plan.Fixes[0].Name != string(stoker.LoaderKind) {
		t.Errorf("first fix %s, want loader", plan.Fixes[0].Name)
	}
	fix := fixOf(t, run, stoker.LoaderKind)
	if c := fix.Changes; len(c) != 1 || c[0].To != stoker.StokerLoader || fix.Effort != Code {
		t.Errorf("changes %v, effort %s: want one line", c, fix.Effort)
	}
	if few, many := fix.Forecast.Speedup, fixOf(t, liveRun(t), stoker.LoaderKind).Forecast.Speedup; !(few.Low > 1) || !(few.Low < many.Low) || !(few.Point <= many.Point) {
		t.Errorf("worth %+v on 2 cores, %+v on 8", few, many)
	}
}

// What stoker.DataLoader would leave to PyTorch's loader gets no promise, and the
// reason is said where the data set itself is one that it reads.
func TestNoOtherLoaderForWhatItLeavesToPyTorch(t *testing.T) {
	for _, test := range []struct {
		change func(l *recording.Loader)
		why    string
	}{
		{func(l *recording.Loader) { l.Reader = "__main__.MyDataset" }, ""},
		{func(l *recording.Loader) { l.Reader, l.Dataset = "", "MyDataset" }, ""},
		{func(l *recording.Loader) { l.Reader, l.Transforms = "", nil }, "does not name the data set's transforms"},
		{func(l *recording.Loader) {
			l.Transforms = append(l.Transforms, "torchvision.transforms.transforms.ColorJitter")
		}, "the transform ColorJitter"},
		{func(l *recording.Loader) { l.Transforms[0] = "__main__.Resize" }, "the transform Resize"},
		{func(l *recording.Loader) { l.Own = []string{"collate_fn", "sampler"} }, "its own collate_fn, sampler"},
	} {
		run := liveRun(t)
		test.change(&run.Facts.Loaders[0])
		plan := Rank(run, judge.Judge(run))
		why := ""
		for _, r := range plan.Rejected {
			if r.Name == string(stoker.LoaderKind) {
				why = r.Why
			}
		}
		if !strings.Contains(why, test.why) || (why == "") != (test.why == "") {
			t.Errorf("rejected with %q, expected %q", why, test.why)
		}
		for _, fix := range plan.Fixes {
			if fix.Name == string(stoker.LoaderKind) {
				t.Errorf("%q, but advised: %v", test.why, fix.Changes)
			}
		}
	}
}

// TestKnownTransforms holds the list against the client's own table.
func TestKnownTransforms(t *testing.T) {
	source, err := os.ReadFile("../python/stoker/loader/translate.py")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(source), "    handlers = {")
	table, _, found := strings.Cut(table, "    }")
	var names []string
	for _, match := range regexp.MustCompile(`"(\w+)": _`).FindAllStringSubmatch(table, -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	if !found || !slices.Equal(names, known) {
		t.Errorf("python/stoker/loader/translate.py translates %v, advised for are %v", names, known)
	}
}

func TestHealthyRunGetsNoAdvice(t *testing.T) {
	run := liveRun(t)
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
	v := judge.Judge(run)
	if v.Class != diagnose.GPUBound {
		t.Errorf("class %s, want gpu-bound; scores %v", v.Class, v.Scores)
	}
	plan := Rank(run, v)
	if len(plan.Fixes) != 0 {
		t.Errorf("advised %v", plan.Fixes[0])
	}
}

func TestWithoutStepsTheGainIsOnlyBounded(t *testing.T) {
	run := liveRun(t)
	run.Steps, run.Facts.Loaders = nil, nil
	v := judge.Judge(run)
	if v.Class != diagnose.CPUBound {
		t.Fatalf("class %s, want %s by live signals; scores %v", v.Class, diagnose.CPUBound, v.Scores)
	}
	fix := Rank(run, v).Fixes[0]
	if s := fix.Forecast.Speedup; s.Known() || !(s.High > 1.19 && s.High < 1.21) { // five parts of the host's, one of the device's
		t.Errorf("speed-up %+v, want at most 1.2 of an overlap, and no point", s)
	}
	v.Idle = 0.97
	if fix := Rank(run, v).Fixes[0]; fix.Forecast.Speedup.High < 5 || !strings.Contains(fix.Title, "several steps at a time") {
		t.Errorf("%s, %+v: the host's work is too long to hide", fix.Title, fix.Forecast.Speedup)
	}
}

// Beside a device that has little to do, a line of the program's own comes before work that is hidden behind the
// device's.
func TestLineOfALoopWithoutALoader(t *testing.T) {
	run := liveRun(t)
	run.Steps, run.Facts.Loaders = nil, nil
	v := judge.Judge(run)
	line := func(n int, function string, seconds float64) diagnose.LoopLine {
		own := recording.Place{File: "/me/train.py", Line: n, Function: function}
		return diagnose.LoopLine{Seconds: seconds, Line: diagnose.Line{Own: own, Kind: diagnose.HostCode}}
	}
	v.Measured.LoopLines = diagnose.LoopLines{Looks: 100, Seconds: 10, Lines: []diagnose.LoopLine{line(25, "sample", 6)}}
	fixes := Rank(run, v).Fixes
	if len(fixes) != 1 || fixes[0].Name != diagnose.SlowTransform || !strings.Contains(fixes[0].Title, "/me/train.py:25") ||
		math.Abs(fixes[0].Forecast.Speedup.High-2.5) > 0.01 {
		t.Errorf("a device that works for a sixth of the time: %+v, want the line first, at most 2.5x", fixes)
	}
	v.Measured.LoopLines.Lines[0].Kind = diagnose.Drawing
	if fixes := Rank(run, v).Fixes; fixes[0].Risk != SeedRisk {
		t.Errorf("other random numbers: the risk is %s", fixes[0].Risk)
	}
	v.Measured.LoopLines.Lines = []diagnose.LoopLine{line(25, "Words.split", 2), line(30, "Words.join", 2), line(40, "main", 1)}
	if fixes := Rank(run, v).Fixes; len(fixes) != 1 || !strings.Contains(fixes[0].Title, "make all that this class does cheaper, first of all this line: /me/train.py:25") {
		t.Errorf("functions of one class have two fifths of the time together: %+v", fixes)
	}
	v.Measured.LoopLines.Lines = []diagnose.LoopLine{line(25, "sample", 2)}
	if fixes := Rank(run, v).Fixes; len(fixes) != 1 {
		t.Errorf("a line with a fifth of the looks: %+v, want none", fixes)
	}
}

// Of a change that hides the host's work and a line that could be made cheaper, what may be worth more comes first.
func TestLineThatIsWorthMoreThanHiding(t *testing.T) {
	run := liveRun(t)
	run.Steps, run.Facts.Loaders = nil, nil
	v := judge.Judge(run)
	v.Idle = 0.45
	line := func(n int, function string, kind diagnose.Kind, seconds, asleep float64) diagnose.LoopLine {
		own := recording.Place{File: "/me/train.py", Line: n, Function: function}
		return diagnose.LoopLine{Seconds: seconds, Asleep: asleep, Line: diagnose.Line{Own: own, Kind: kind}}
	}
	at := func(lines ...diagnose.LoopLine) Fix {
		v.Measured.LoopLines = diagnose.LoopLines{Looks: 100, Seconds: 10, Lines: lines}
		return Rank(run, v).Fixes[0]
	}
	if fix := at(line(25, "sample", diagnose.HostCode, 6, 0)); !strings.Contains(fix.Title, "train.py:25") {
		t.Errorf("it may be worth 1.82x, hiding it 1.82x: %q comes first", fix.Title)
	}
	rest := line(40, "Words.split", diagnose.HostCode, 2, 0)
	if fix := at(line(25, "sample", diagnose.HostCode, 3.5, 0), rest); fix.Name != "input-ahead" {
		t.Errorf("it may be worth 1.54x, hiding it 1.82x: %q comes first", fix.Title)
	}
	queued := line(66, "EMA.update", diagnose.DeviceWait, 6, 4)
	queued.Call = recording.Place{File: "stoker/emulated.py", Function: "Device.launch"}
	v.Idle = 0.3
	if fix := at(queued, line(65, "EMA.update", diagnose.HostCode, 2.5, 0)); !strings.Contains(fix.Title, "fewer, larger kernels") {
		t.Errorf("a function launches and works in turns: %q", fix.Title)
	}
	v.Findings = []diagnose.Finding{diagnose.NewFinding(diagnose.FindingAnomalyDetection)}
	if fix := at(line(25, "sample", diagnose.HostCode, 6, 0)); fix.Name != diagnose.FindingAnomalyDetection {
		t.Errorf("anomaly detection is on: %q comes first", fix.Title)
	}
}

// Of a loop that launches too slowly fewer launches come first, though another line has more of the time.
func TestFewerLaunchesComeFirstWhereTheyAreTheLimit(t *testing.T) {
	run := liveRun(t)
	run.Steps, run.Facts.Loaders = nil, nil
	v := judge.Judge(run)
	v.Class = diagnose.LaunchBound
	line := func(n int, function string, kind diagnose.Kind, seconds float64) diagnose.LoopLine {
		own := recording.Place{File: "/me/train.py", Line: n, Function: function}
		return diagnose.LoopLine{Seconds: seconds, Line: diagnose.Line{Own: own, Kind: kind}}
	}
	lines := []diagnose.LoopLine{line(25, "sums", diagnose.HostCode, 5), line(40, "Net.forward", diagnose.Launching, 4)}
	v.Measured.LoopLines = diagnose.LoopLines{Looks: 100, Seconds: 10, Lines: lines}
	fixes := Rank(run, v).Fixes
	if len(fixes) != 2 || !strings.Contains(fixes[0].Title, "train.py:40") || !strings.Contains(fixes[1].Title, "train.py:25") {
		t.Errorf("%+v, want fewer launches at line 40, and then line 25", fixes)
	}
	v.Measured.LoopLines.Lines = lines[1:]
	if fixes := Rank(run, v).Fixes; len(fixes) != 1 || !strings.Contains(fixes[0].Title, "train.py:40") {
		t.Errorf("%+v, want fewer launches once", fixes)
	}
}

// A plan that captures launches says first which line launches most.
func TestLineThatLaunchesMost(t *testing.T) {
	own := recording.Place{File: "/me/train.py", Line: 39, Function: "loss"}
	v := diagnose.Verdict{Device: -1, Findings: []diagnose.Finding{diagnose.NewFinding(diagnose.FindingLaunchBound)}}
	v.Findings[0].Settings = []stoker.Change{v.Grounds.LaunchChange()}
	v.Findings[0].Share, v.Findings[0].Saves = 0.4, 0.4
	for seconds, want := range map[float64]bool{6: true, 2: false} {
		lines := []diagnose.LoopLine{{Seconds: seconds, Line: diagnose.Line{Own: own, Kind: diagnose.Launching}}}
		v.Measured.LoopLines = diagnose.LoopLines{Looks: 100, Seconds: 10, Lines: lines}
		notes := adviser{verdict: v, run: &recording.Run{}}.launchesFrom()
		if got := len(notes) == 1 && strings.Contains(notes[0], "train.py:39"); got != want {
			t.Errorf("%v of 10 s: %q", seconds, notes)
		}
	}
}

// Passes of one input each come first, where nothing trains.
func TestPassesOfOneInput(t *testing.T) {
	run := liveRun(t)
	run.Steps, run.Facts.Loaders = nil, nil
	v := judge.Judge(run)
	v.Grounds.Program = diagnose.Inference
	for samples, want := range map[float64]string{1: "whole-batches", 32: "input-ahead"} {
		v.Costs.Window.Steps = []recording.Step{{Samples: samples, Period: 0.1}, {Samples: samples, Period: 0.1}}
		if fixes := Rank(run, v).Fixes; len(fixes) == 0 || fixes[0].Name != want {
			t.Errorf("%v samples in a pass: %+v, want %s first", samples, fixes, want)
		}
	}
}

// What would show the steps depends on how the run was recorded: nobody is told to
// leave away a flag that he did not give.
func TestWhatWouldShowSteps(t *testing.T) {
	for name, c := range map[string]struct {
		absent []recording.Absence
		want   string
	}{
		"attached":   {[]recording.Absence{{What: "hook", Why: "the process was running already: start it with stoker observe -- CMD"}}, " (the process was running already: start it with stoker observe -- CMD)"},
		"no hook":    {[]recording.Absence{{What: "disks", Why: "none"}, {What: "hook", Why: "it was switched off (--no-hook)"}}, " (it was switched off (--no-hook))"},
		"no word":    {[]recording.Absence{{What: "steps", Why: "no DataLoader was iterated"}}, " (no DataLoader was iterated)"},
		"not a word": {nil, ""},
	} {
		run := liveRun(t)
		run.Steps, run.Facts.Absent = nil, c.absent
		v := judge.Judge(run)
		v.Class = diagnose.MainThread
		want := "no step was seen, so its worth is only bounded: at most 1/utilisation, and what the cores can do" + c.want
		if notes := Rank(run, v).Fixes[0].Notes; len(notes) != 1 || notes[0] != want {
			t.Errorf("%s: %q, want %q", name, notes, want)
		}
	}
}

// Where half as many workers do as well and the others only take memory and queue for
// cores, fewer are advised; where all are needed, they stay.
func TestFewerWorkers(t *testing.T) {
	run, err := recording.Open("../testdata/cases/labelled-many-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	fix := fixOf(t, run, stoker.NumWorkers)
	if n := workersOf(t, fix); n < 2 || n > 8 {
		t.Errorf("num_workers 16 -> %d", n)
	}
	if worth := fix.Worth(); !regexp.MustCompile(`^as fast: (0.9|1.0)\dx .*, and saves \d+ processes and at most [0-9.]+ GB of memory$`).MatchString(worth) {
		t.Errorf("worth %q", worth)
	}
	fewer := func(edit func(*recording.Run, *diagnose.Verdict)) bool {
		v := judge.Judge(run)
		changed := *run
		edit(&changed, &v)
		return slices.ContainsFunc(Rank(&changed, v).Fixes, func(f Fix) bool { return f.Name == string(stoker.NumWorkers) && f.Saves != "" })
	}
	if !fewer(func(*recording.Run, *diagnose.Verdict) {}) {
		t.Error("not advised as it is")
	}
	if fewer(func(_ *recording.Run, v *diagnose.Verdict) { v.Costs.Fetch += 0.8 }) {
		t.Error("advised where each batch is waited for ten times as long")
	}
	if fewer(func(r *recording.Run, v *diagnose.Verdict) {
		r.Facts.Machine.CPUs, r.Facts.Machine.Allowed, v.Costs.WorkerMemory = 64, 64, 1e6
	}) {
		t.Error("advised where neither cores nor memory are short")
	}
}

// Workers that stay do not save the work of a first batch, such as filling a shuffle buffer.
func TestPersistentWorkersSaveNoWorkOfTheFirstBatch(t *testing.T) {
	run, err := recording.Open("../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Steps {
		if i%20 == 0 {
			s := &run.Steps[i]
			s.First, s.Idle, s.Wait, s.DevicePeriod, s.Period = true, 2, 2, s.DevicePeriod+2, s.Period+2
		}
	}
	for first, kept := range map[float64]bool{0: false, 1.9: true} {
		v := judge.Judge(run)
		v.Costs.FirstFetch = first
		plan := Rank(run, v)
		rejected := slices.ContainsFunc(plan.Rejected, func(r Rejected) bool {
			return r.Name == string(stoker.PersistentWorkers) && strings.Contains(r.Why, "of its own work")
		})
		if rejected != kept {
			t.Errorf("a first fetch of %v s: rejected %v, %v", first, rejected, plan.Rejected)
		}
	}
}

// Workers of a DataLoader that is made anew in each epoch end with it, whatever they
// are told: it has to be made once.
func TestPersistentWorkersNeedALoaderThatStays(t *testing.T) {
	run, err := recording.Open("../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Steps {
		if i%20 == 0 {
			s := &run.Steps[i]
			s.First, s.Idle, s.Wait, s.DevicePeriod, s.Period = true, 2, 2, s.DevicePeriod+2, s.Period+2
		}
	}
	for _, anew := range []bool{false, true} {
		run.Facts.Loaders[0].Anew = anew
		fix := fixOf(t, run, stoker.PersistentWorkers)
		told := strings.Contains(fix.Title, "make the DataLoader once, before the loop over epochs")
		if told != anew || (fix.Effort == Code) != anew || (len(fix.Changes) == 0) != anew {
			t.Errorf("made anew %t: %+v", anew, fix)
		}
	}
}

// Workers that stay go on with the data that they have: none are advised to where the program changes its data set.
func TestWorkersDoNotStayOverAChangedDataSet(t *testing.T) {
	for _, workers := range []string{"labelled-too-few-workers", "labelled-main-thread-cpu"} {
		run, err := recording.Open("../testdata/cases/" + workers + "/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Steps {
			if i%3 == 0 {
				s := &run.Steps[i]
				s.First, s.Idle, s.Wait, s.DevicePeriod, s.Period = true, 2, 2, s.DevicePeriod+2, s.Period+2
			}
		}
		run.Facts.Loaders[0].Changes = true
		plan := Rank(run, judge.Judge(run))
		for _, fix := range plan.Fixes {
			if strings.Contains(fmt.Sprint(fix.Title, fix.Changes, fix.Notes), string(stoker.PersistentWorkers)) {
				t.Errorf("%s: %+v", workers, fix)
			}
		}
	}
}

// Of many short reads the line is that of the function that reads most, not that of a step's longest read.
func TestLineOfManyReads(t *testing.T) {
	at := func(n int, function string, seconds float64) diagnose.LoopLine {
		own := recording.Place{File: "/me/loss.py", Line: n, Function: function}
		return diagnose.LoopLine{Seconds: seconds, Line: diagnose.Line{Own: own, Kind: diagnose.DeviceWait}}
	}
	var a adviser
	a.costs.SyncsAt = "/me/loss.py:36"
	f := diagnose.NewFinding(diagnose.FindingManyReads)
	if got := a.lineOf(f); got != "loss.py:36" {
		t.Errorf("without looks: %q", got)
	}
	a.verdict.Measured.LoopLines.Lines = []diagnose.LoopLine{at(68, "walk", 5), at(36, "mine", 1)}
	if got := a.lineOf(f); got != "loss.py:68" {
		t.Errorf("most reads at line 68: %q", got)
	}
	a.costs.Workers = 1
	a.run, a.verdict.Idle, a.verdict.Findings = &recording.Run{}, 0.5, []diagnose.Finding{f}
	for generating, want := range map[float64]string{0: "not one by one", 5: "lengths on the host"} {
		a.verdict.Measured.LoopLines.Seconds, a.verdict.Measured.LoopLines.Generating = 10, generating
		if fix, _ := a.removeFindings(); !strings.HasSuffix(fix.Title, want) {
			t.Errorf("%v of 10 s generating: %q", generating, fix.Title)
		}
	}
}

// Evaluation that keeps the device busy leaves nothing idle, and takes time of the run all the same.
func TestEvaluateLessOften(t *testing.T) {
	rows := func(seconds float64, count int) diagnose.Ledger {
		return diagnose.Ledger{Rows: []diagnose.Row{
			{Name: diagnose.RowTraining, Seconds: 60, Idle: 1},
			{Name: diagnose.RowEvaluation, Seconds: seconds, Count: count, Idle: 1},
		}}
	}
	for name, c := range map[string]struct {
		ledger diagnose.Ledger
		most   float64
	}{"often": {rows(40, 20), 100. / 60}, "short": {rows(6, 20), 0}, "once": {rows(40, 1), 0}} {
		fixes := adviser{verdict: diagnose.Verdict{Ledger: c.ledger}}.evaluateLess(Plan{}).Fixes
		if c.most == 0 {
			if len(fixes) > 0 {
				t.Errorf("%s: %v", name, fixes)
			}
			continue
		}
		if len(fixes) != 1 || math.Abs(fixes[0].Run.High-c.most) > 0.01 || fixes[0].Mind == "" {
			t.Errorf("%s: %v, want at most %.2fx", name, fixes, c.most)
		}
	}
}
