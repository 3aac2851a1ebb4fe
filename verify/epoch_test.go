package verify

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// epochs makes a run of passes of so many steps over an iterable data set.
func epochs(j job, steps, workers int, split recording.Split) *recording.Run {
	run := j.run()
	for i := range run.Steps {
		run.Steps[i].Pass, run.Steps[i].First = i/steps, i%steps == 0
	}
	l := &run.Facts.Loaders[0]
	l.Dataset, l.Samples, l.Iterable, l.Split = "Lines", 0, split != recording.SplitByIndex, split
	l.Settings[stoker.NumWorkers] = workers
	return run
}

// Four workers that each read all of the data are no gain, no matter how short a step is: the
// epoch is compared before any ratio, and then no promise counts as kept.
func TestOtherWork(t *testing.T) {
	for name, c := range map[string]struct {
		before, after *recording.Run
		want          []string // parts of the sentence; none: the same work
	}{
		"each worker reads all": {
			epochs(typical(), 60, 0, recording.SplitByNobody), epochs(twice(), 160, 4, recording.SplitByNobody),
			[]string{"3,840 samples before and 10,200 after", "each of the 4 workers reads all of the data set Lines"},
		},
		"an older recording": {
			epochs(typical(), 40, 0, ""), epochs(twice(), 160, 4, ""),
			[]string{"2,560 samples before and 10,200 after", "it grew by the number of workers, so each of them seems to read all of it"},
		},
		"no epoch was seen": {
			epochs(typical(), 10_000, 0, recording.SplitByNobody), epochs(twice(), 10_000, 4, recording.SplitByNobody),
			[]string{"once before and 4 times after"},
		},
		"it was so before": {
			epochs(typical(), 160, 4, recording.SplitByNobody), epochs(twice(), 40, 4, recording.SplitByItself),
			[]string{"before, each of the 4 workers read all"},
		},
		"samples are dropped": {
			epochs(typical(), 100, 0, recording.SplitByIndex), epochs(twice(), 80, 4, recording.SplitByIndex),
			[]string{"6,400 samples before and 5,120 after"},
		},
		"the same": {
			epochs(typical(), 100, 0, recording.SplitByItself), epochs(twice(), 100, 4, recording.SplitByItself), nil,
		},
		"passes of any length": {
			epochs(typical(), 100, 0, recording.SplitByItself), epochs(twice(), 10_000, 4, recording.SplitByItself), nil,
		},
	} {
		o := Compare(c.before, c.after, promise(1.8, 2, 2.2))
		if len(c.want) == 0 {
			if o.Work != "" || o.Difference != Faster || o.Promise.Kept != PromiseKept {
				t.Errorf("%s: %q, %s, promise %s", name, o.Work, o.Difference, o.Promise.Kept)
			}
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(o.Work, part) {
				t.Errorf("%s: %q does not say %q", name, o.Work, part)
			}
		}
		if o.Difference != OtherWork || o.Promise.Kept != PromiseUntested || o.Speedup != nil || o.Refused != "" {
			t.Errorf("%s: %s, promise %s, speed-up %v, refused %q", name, o.Difference, o.Promise.Kept, o.Speedup, o.Refused)
		}
	}
}

// What a data set is dealt out in is a change like others: it is held against its own promise.
func TestShardsAreAChange(t *testing.T) {
	few := epochs(typical(), 10_000, 4, recording.SplitByItself)
	few.Series = append(few.Series, recording.Series{
		Signal: recording.WorkersEnded, Subject: "loader/1/0", T: []float64{1, 10, 20}, V: []float64{3, 3, 3},
	})
	got := Changes(few, epochs(twice(), 10_000, 4, recording.SplitByItself))
	if len(got) != 1 || got[0].String() != "shards 1 -> 4" {
		t.Errorf("changes %v", got)
	}
}
