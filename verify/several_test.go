package verify

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// several are runs of a job that is a little faster or slower each time it is started.
func several(count, steps int, apart float64, r *rand.Rand) sample {
	runs := make([]sample, count)
	for i := range runs {
		pace := math.Exp(apart * r.NormFloat64())
		runs[i] = takeSample(scaleAll(remembering(0.5).steps(steps, r), pace))
	}
	return poolRuns(runs)
}

// The interval of several runs holds the truth in 95 of 100 pairs of sides, whether runs
// differ by more than their steps tell or by nothing; that of single runs does not
// where they differ, which is what several are for. Of 600 pairs a share is known to 0.9 points.
// verify/RESULTS.md has the table of 2,000 (STOKER_COVERAGE sets the number).
func TestCoverageOfSeveralRuns(t *testing.T) {
	const steps = 40
	pairs := 600
	if n, err := strconv.Atoi(os.Getenv("STOKER_COVERAGE")); err == nil {
		pairs = n
	}
	for _, c := range []struct {
		before, after int
		apart         float64
		least, most   float64
	}{
		{1, 1, 0.1, 0, 80},
		{1, 3, 0.05, 93, 98.5},
		{2, 2, 0, 93, 98.5},
		{2, 2, 0.1, 93, 98.5},
		{3, 3, 0.02, 93, 98.5},
		{5, 5, 0, 93, 98.5},
		{5, 5, 0.1, 93, 98.5},
	} {
		held, mean, called := 0, 0, 0
		for i := range pairs {
			source := rand.New(rand.NewPCG(uint64(i), uint64(100*c.before+c.after)))
			a, b := several(c.before, steps, c.apart, source), several(c.after, steps, c.apart, source)
			ratio := a.over(b)
			if ratio.Contains(1) {
				held++
			}
			if a.meanInterval().Contains(1) {
				mean++
			}
			if d := differ(ratio); d == Faster || d == Slower {
				called++
			}
		}
		percent := func(n int) float64 { return 100 * float64(n) / float64(pairs) }
		t.Logf("%d and %d runs, %g %% apart: held %.1f %%, mean %.1f %%, called %.1f %%", c.before, c.after, 100*c.apart, percent(held), percent(mean), percent(called))
		if percent(held) < c.least || percent(held) > c.most {
			t.Errorf("%d and %d runs, %g %% apart: held in %.1f %%, want %v to %v", c.before, c.after, 100*c.apart, percent(held), c.least, c.most)
		}
	}
}

func runsOf(j job, periods ...float64) (runs []*recording.Run) {
	for i, period := range periods {
		j.period, j.seed = period, uint64(i+1)
		runs = append(runs, j.run())
	}
	return runs
}

// Three runs that lie 10 % apart say less than one alone pretends to.
func TestSeveralRuns(t *testing.T) {
	before, after := runsOf(typical(), 0.09, 0.1, 0.11), runsOf(typical(), 0.085, 0.095, 0.105)
	alone := Compare(before[1], after[1], nothing)
	o := CompareAll(before, after, nothing)
	if alone.Difference != Faster || alone.Before.Runs != 1 || alone.Before.Spread != nil {
		t.Errorf("one run each: %s, %+v", alone.Difference, alone.Before)
	}
	if o.Difference != TooShort || o.Before.Runs != 3 || !near(*o.Before.Spread, 0.1, 0.01) || o.Before.Needed != nil {
		t.Errorf("three runs each: %s, %+v", o.Difference, o.Before)
	}
	if !strings.Contains(strings.Join(o.Warnings, "\n"), "more runs of each") || o.Before.Steps < 3*alone.Before.Steps-3 {
		t.Errorf("%d steps, %q", o.Before.Steps, o.Warnings)
	}
	steady := CompareAll(runsOf(typical(), 0.1, 0.101, 0.099), runsOf(typical(), 0.05, 0.0505, 0.0495), promise(1.8, 2, 2.2))
	if steady.Difference != Faster || !steady.Speedup.Contains(2) || steady.Promise.Kept != PromiseKept {
		t.Errorf("%s %v, promise %s", steady.Difference, *steady.Speedup, steady.Promise.Kept)
	}
}

// Runs of a side are the same job, or the answer names the one that is not.
func TestSeveralRunsOfOtherWork(t *testing.T) {
	same := runsOf(typical(), 0.1, 0.1)
	same[0].Facts.Started, same[1].Facts.Started = 1e9, 1e9
	if o := CompareAll(same, runsOf(typical(), 0.1), nothing); o.Refused != "the runs before (1 of 2) and before (2 of 2) are the same run" {
		t.Errorf("one run given twice: %q", o.Refused)
	}
	if o := CompareAll(same[:1], same[1:], nothing); o.Refused != "" {
		t.Errorf("a run against itself: %q", o.Refused)
	}
	for want, edit := range map[string]func(*recording.Run){
		"data set ImageFolder before (1 of 2), CocoDetection before (2 of 2)": func(r *recording.Run) { r.Facts.Loaders[0].Dataset = "CocoDetection" },
		"num_workers 0 -> 4 from the run before (1 of 2) to the run before":   func(r *recording.Run) { r.Facts.Loaders[0].Settings[stoker.NumWorkers] = 4 },
		"the run before (2 of 2) is too short: 10 steady steps":               func(r *recording.Run) { r.Steps = r.Steps[:13] },
	} {
		before := runsOf(typical(), 0.1, 0.1)
		edit(before[1])
		if o := CompareAll(before, runsOf(typical(), 0.1), nothing); !strings.Contains(o.Refused, want) || o.Difference != NotCompared {
			t.Errorf("refused %q, want %q", o.Refused, want)
		}
	}
}
