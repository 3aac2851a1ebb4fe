package main

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// plain returns a job that is clearly limited by its device.
func plain() job {
	return job{
		ranks: 1, workers: 4, ahead: 2, cores: 16, core: 0.1, requestBytes: 512e3, launches: 100, launch: 0.01, device: 0.1, late: 1,
		clock: 1, fill: 0.8, hidden: 1, training: true,
	}
}

func (j job) with(change func(*job)) job {
	change(&j)
	return j
}

// The simulator's periods agree with a calculation by hand.
func TestPeriods(t *testing.T) {
	for name, c := range map[string]struct {
		job  job
		want float64
	}{
		"the device":                 {plain(), 0.1},
		"two slow workers":           {plain().with(func(j *job) { j.workers, j.core = 2, 0.4 }), 0.2},
		"the loop loads, in turn":    {plain().with(func(j *job) { j.workers, j.sync, j.core = 0, true, 0.05 }), 0.151},
		"the loop loads, ahead":      {plain().with(func(j *job) { j.workers, j.core = 0, 0.05 }), 0.1},
		"one disk for all":           {plain().with(func(j *job) { j.disk = 0.25 }), 0.25},
		"a server for each":          {plain().with(func(j *job) { j.remote = 0.7 }), 0.2},
		"two cores for 0.6":          {plain().with(func(j *job) { j.cores, j.core = 2, 0.6 }), 0.305},
		"a quota of one":             {plain().with(func(j *job) { j.quota, j.core = 1, 0.3 }), 0.31},
		"launches":                   {plain().with(func(j *job) { j.launch = 0.3 }), 0.3},
		"a pageable copy":            {plain().with(func(j *job) { j.copying, j.pageable = 0.05, true }), 0.151},
		"half the clock":             {plain().with(func(j *job) { j.clock = 0.5 }), 0.2},
		"others have half of it":     {plain().with(func(j *job) { j.foreign = 0.5 }), 0.2},
		"an exchange":                {plain().with(func(j *job) { j.ranks, j.exchange = 2, 0.05 }), 0.15},
		"a rank that is 1.5x slower": {plain().with(func(j *job) { j.ranks, j.late = 2, 1.5 }), 0.15},
	} {
		if p := playJob(c.job); math.Abs(p.period/c.want-1) > 0.04 {
			t.Errorf("%s: a step takes %.4f s, want %.4f", name, p.period, c.want)
		}
	}
}

// Interventions find the resource that a job was made to lack, or the device if nothing is short.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		want diagnose.Class
		job  job
	}{
		{diagnose.GPUBound, plain()},
		{diagnose.TooFewWorkers, plain().with(func(j *job) { j.workers, j.core = 2, 0.4 })},
		{diagnose.MainThread, plain().with(func(j *job) { j.workers, j.sync, j.core = 0, true, 0.08 })},
		{diagnose.DeviceSaturated, plain().with(func(j *job) { j.disk = 0.25 })},
		{diagnose.SmallFiles, plain().with(func(j *job) { j.disk, j.requestBytes = 0.25, 16e3 })},
		{diagnose.RemoteFS, plain().with(func(j *job) { j.remote = 0.7 })},
		{diagnose.CPUExhausted, plain().with(func(j *job) { j.cores, j.core = 2, 0.6 })},
		{diagnose.Neighbour, plain().with(func(j *job) { j.cores, j.core, j.others = 4, 0.35, 6 })},
		{diagnose.CgroupThrottled, plain().with(func(j *job) { j.quota, j.core = 1, 0.3 })},
		{diagnose.LaunchBound, plain().with(func(j *job) { j.launch = 0.3 })},
		{diagnose.TransferBound, plain().with(func(j *job) { j.copying, j.pageable = 0.05, true })},
		{diagnose.ThrottledGPU, plain().with(func(j *job) { j.clock = 0.5 })},
		{diagnose.SharedGPU, plain().with(func(j *job) { j.foreign = 0.5 })},
		{diagnose.NetworkBound, plain().with(func(j *job) { j.ranks, j.exchange = 2, 0.05 })},
		{diagnose.StragglerRank, plain().with(func(j *job) { j.ranks, j.late = 2, 1.5 })},
		{"", plain().with(func(j *job) { j.disk = 0.106 })}, // 6 % is neither a gain nor none
	} {
		if got, gain := label(c.job); got != c.want {
			t.Errorf("%q, by a gain of %.2f, want %q", got, gain, c.want)
		}
	}
}

// Without the hook, the launching thread is always busy in four classes, which only interventions distinguish.
// All samples of all signals agree within 0.2 %, except for the stacks of a thread that loads and the PCIe traffic of
// one that copies. The loop's own code and launches cannot be distinguished.
func TestWhatTellsTheHostsWork(t *testing.T) {
	const lost, device, launch = 0.02, 0.0299, 1e-4 // of steps of 0.05 s: five to a sample of GPU-Util
	busy := plain().with(func(j *job) { j.sync, j.core, j.device, j.launches, j.launch = true, 0, device, 1, launch })
	inLoop := func(j *job) { j.workers = 0 }
	var first *recording.Run
	for _, c := range []struct {
		want  diagnose.Class
		job   job
		tells []recording.Signal
	}{
		{diagnose.CPUBound, busy.with(func(j *job) { j.host = lost }), nil},
		{diagnose.TransferBound, busy.with(func(j *job) { j.copying, j.pageable = lost, true }), []recording.Signal{recording.GPULinkIn}},
		{diagnose.LaunchBound, busy.with(func(j *job) { j.launches, j.launch = 200, lost+launch+device-device/200 }), nil},
		{diagnose.CPUBound, busy.with(inLoop).with(func(j *job) { j.host = lost }), nil},
		{diagnose.TransferBound, busy.with(inLoop).with(func(j *job) { j.copying, j.pageable = lost, true }), []recording.Signal{recording.GPULinkIn}},
		{diagnose.LaunchBound, busy.with(inLoop).with(func(j *job) { j.launches, j.launch = 200, lost+launch+device-device/200 }), nil},
		{diagnose.MainThread, busy.with(inLoop).with(func(j *job) { j.core = lost }), []recording.Signal{recording.FetchLooks}},
	} {
		if got, gain := label(c.job); got != c.want {
			t.Errorf("%q, by a gain of %.2f, want %q", got, gain, c.want)
		}
		run, err := record(playJob(c.job), sightNamed(t, "without the hook"), seed("same"), filepath.Join(t.TempDir(), "run.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil || len(first.Facts.Processes) != len(run.Facts.Processes) { // the first with workers, and the first without
			first = run
			continue
		}
		if tells := differing(first, run); !slices.Equal(tells, c.tells) || len(run.Series) < 20 {
			t.Errorf("%s: %v of %d signals tell it, want %v", c.want, tells, len(run.Series), c.tells)
		}
	}
}

// differing returns the signals in which two runs differ, and "facts" if their facts do.
func differing(a, b *recording.Run) (out []recording.Signal) {
	if !reflect.DeepEqual(a.Facts, b.Facts) {
		out = append(out, "facts")
	}
	for _, pair := range [][2]*recording.Run{{a, b}, {b, a}} {
		for _, s := range pair[0].Series {
			of := pair[1].Find(s.Signal, s.Subject)
			if of == nil || !slices.EqualFunc(s.V, of.V, nearly) || !slices.EqualFunc(s.T, of.T, nearly) {
				out = append(out, s.Signal)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func nearly(a, b float64) bool { return math.Abs(a-b) <= 2e-3*(1+math.Abs(a)) }

func sightNamed(t *testing.T, name string) sight {
	t.Helper()
	i := slices.IndexFunc(sights, func(s sight) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no sight %q", name)
	}
	return sights[i]
}

// Draws are reproducible and differ from each other, and the test set has no seed of the tune set.
func TestDrawsAreFixed(t *testing.T) {
	for _, class := range []diagnose.Class{diagnose.GPUBound, diagnose.TooFewWorkers, diagnose.StragglerRank} {
		draw := func(set string, n int) job {
			j, _ := drawJob(seed(set, class, n, "job"), class)
			return j
		}
		if draw("test", 1) != draw("test", 1) || draw("test", 1) == draw("test", 2) || draw("test", 1) == draw("tune", 1) {
			t.Errorf("%s: draws are not fixed, or not apart", class)
		}
	}
}

// Each sight contains exactly the signals that it names.
func TestSights(t *testing.T) {
	for _, s := range sights {
		run, err := record(playJob(plain()), s, seed(s.Name), filepath.Join(t.TempDir(), "run.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		effort, threads := len(run.All("gpu.sm_active")) > 0, len(run.All("thread.state")) > 0
		if hook := len(run.Steps) > 0; hook != s.hook || effort != s.effort || threads != s.host || len(run.All("gpu.utilisation")) != 1 {
			t.Errorf("%s: hook %v, effort %v, threads %v", s.Name, hook, effort, threads)
		}
		if s.hook {
			if in := run.Steps[len(run.Steps)-5].Inside; in != nil && (in.Launches != nil) != s.launches {
				t.Errorf("%s: launches are %v", s.Name, in.Launches)
			}
		}
		if v := judge.Judge(run); !v.Class.Is(diagnose.GPUBound) {
			t.Errorf("%s: a device at work all the time is %s", s.Name, v.Class)
		}
	}
}

// An interrupted exam continues: jobs that were judged already are not judged again.
func TestExamGoesOn(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept.jsonl")
	for range 2 {
		e, err := openExam(kept)
		if err != nil {
			t.Fatal(err)
		}
		had := len(e.known)
		if err := e.sit("tune", diagnose.ThrottledGPU, 0); err != nil {
			t.Fatal(err)
		}
		if err := e.file.Close(); err != nil {
			t.Fatal(err)
		}
		if len(e.papers) != len(sights) || had != 0 && had != len(sights) {
			t.Errorf("%d papers, %d of them known", len(e.papers), had)
		}
	}
}

// The figures of the page are those of its papers, and the bars can fail.
func TestPage(t *testing.T) {
	name := sights[0].Name
	papers := []paper{
		{Sight: name, Class: diagnose.GPUBound, Said: diagnose.GPUMemory, Util: 1, Lead: 0.9},
		{Sight: name, Class: diagnose.MainThread, Said: diagnose.MainThread, Util: 0.5, Busy: 0.1, Lead: 0.5},
		{Sight: name, Class: diagnose.MainThread, Said: diagnose.GPUBound, Util: 0.5, Busy: 0.1, Lead: 0.5},
		{Sight: name, Class: diagnose.MainThread, Said: diagnose.Unknown, Util: 0.5, Busy: 0.1, Blind: "none tells"},
	}
	s := scoresOf(papers, name)
	if s.right != 0.5 || s.unknown != 0.25 || s.asBound != 1./3 || math.Abs(s.f1-(2./3+0.5)/2) > 1e-12 {
		t.Errorf("%+v", s)
	}
	page := results(papers, 1)
	for _, want := range []string{
		"| all signals | 4 | 0.583 | 0.667 | 50.0 % | 25.0 % | 25.0 % | 33.3 % of 3 |", "| cpu-bound/main-thread-loader | 1/3 |",
		"| cpu-bound/main-thread-loader | unknown | none tells | 1 |",
		"| three questions of the articles | 4 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if holdBars(papers) == nil || holdBars(papers[:2]) != nil {
		t.Error("the bars hold what they should not, or do not hold what they should")
	}
}

// Jobs of the tune seeds that were once judged wrong, one for each kind of mistake.
func TestMendedJobs(t *testing.T) {
	for _, c := range []struct {
		class diagnose.Class
		draw  int
		sight string
		not   diagnose.Class // the wrong verdict
	}{
		{diagnose.CPUBound, 9, "without the hook", diagnose.IOBound},           // workers that rest between reads
		{diagnose.TooFewWorkers, 2, "without the hook", diagnose.GPUBound},     // workers that never rest, a device 10 % idle
		{diagnose.ComputeOnCPU, 11, "all signals", diagnose.Unknown},           // beside a loop that loads by itself
		{diagnose.ComputeOnCPU, 1, "without the hook", diagnose.Unknown},       // two scores a hair apart
		{diagnose.StragglerRank, 1, "without the hook", diagnose.GPUBound},     // ranks without steps
		{diagnose.NetworkBound, 1, "without GPM and power", diagnose.GPUBound}, // an exchange that nothing times
		{diagnose.NetworkBound, 5, "all signals", diagnose.GPUBound},           // collectives that GPU-Util counts as work
		{diagnose.ThrottledGPU, 4, "all signals", diagnose.GPUBound},           // a clock at 90 %
	} {
		j, _ := drawJob(seed("tune", c.class, c.draw, "job"), c.class)
		for _, s := range sights {
			if s.Name != c.sight {
				continue
			}
			run, err := record(playJob(j), s, seed("tune", c.class, c.draw, s.Name), filepath.Join(t.TempDir(), "run.jsonl.gz"))
			if err != nil {
				t.Fatal(err)
			}
			if v := judge.Judge(run); !v.Class.Is(c.class) && (v.Class.Is(c.not) || cannotTell(c.class, j, s) == "") {
				t.Errorf("%s, %d, %s: %s; %v", c.class, c.draw, s.Name, v.Class, v.Scores[:2])
			}
		}
	}
}
