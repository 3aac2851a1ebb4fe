package advise

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// alters says why another number of workers would alter which samples are trained on, or
// how often; "" if it would not.
func (a adviser) alters(workers int) string {
	return a.verdict.Grounds.Alters(a.makeChange(stoker.NumWorkers, workers))
}

// split proposes to split the data set between workers, where each of them reads all of it.
// Without workers that is the way to have some; with several it is a repair, which makes no
// step shorter.
func (a adviser) split() (Fix, string) {
	l := a.verdict.Grounds.Loader
	if l == nil || l.FindSplit() != recording.SplitByNobody {
		return Fix{}, ""
	}
	fix := Fix{Name: string(stoker.Split), Title: "split the data set between its workers", Effort: Code, Risk: NoRisk}
	change := stoker.Change{Setting: stoker.Split, From: string(l.Split), To: string(recording.SplitByItself)}
	if times := l.Repeats(); times > 1 {
		fix.Changes = []stoker.Change{change}
		fix.Forecast = a.forecast(change)
		fix.Saves = fmt.Sprintf("training on each sample %d times", times)
		fix.Notes = []string{diagnose.SplitAdvice, wholeReads}
		return fix, ""
	}
	repaired := *l
	repaired.Split = recording.SplitByItself
	after := a
	after.verdict.Grounds.Loader, after.base.Alters = &repaired, repaired.Alters
	workers, why := after.workers()
	if why != "" || workers.Name == "" || workers.Saves != "" {
		return Fix{}, ""
	}
	fix.Changes = append([]stoker.Change{change}, workers.Changes...)
	fix.Risk, fix.Mind = workers.Risk, workers.Mind
	fix.Forecast = a.forecast(fix.Changes...)
	fix.Notes = append([]string{diagnose.SplitAdvice, wholeReads}, workers.Notes...)
	return fix, ""
}

const wholeReads = "itertools.islice(samples, info.id, None, info.num_workers) keeps the samples too, but each worker " +
	"still reads all of them"

// shards proposes a part of the data for each worker, if there are fewer parts than workers: first for the workers
// that are there, then for more of them.
func (a adviser) shards() (Fix, string) {
	has, l := int(a.base.Shards), a.verdict.Grounds.Loader
	if has < 1 || l == nil || a.idleKnown() && !a.isStarved() || l.Repeats() > 1 {
		return Fix{}, ""
	}
	dealt := a // as if there were always a shard for a worker
	dealt.base.Shards = 0
	now := a.costs.Workers
	best, _ := dealt.bestWorkers(now)
	if best <= has {
		return Fix{}, ""
	}
	fix := Fix{
		Name: string(stoker.Shards), Title: "deal the data set out in as many shards as workers", Effort: Data, Risk: NoRisk,
		Notes: []string{
			manyShards(has) + ": more workers than that get nothing to read", diagnose.ShardsAdvice(l),
		},
	}
	if now > has {
		fix.Changes = []stoker.Change{a.makeChange(stoker.Shards, now)}
		fix.Forecast = capAt(a.forecast(fix.Changes...), float64(now)/max(float64(has), stat.Or(a.costs.Giving, 0)))
		if best > now {
			fix.Notes = append(fix.Notes, "workers beyond these gain more only if each of them has a part of its own, too")
		}
	} else {
		fix.Changes = []stoker.Change{a.makeChange(stoker.Shards, best), a.makeChange(stoker.NumWorkers, best)}
		fix.Risk, fix.Forecast = MemoryRisk, a.forecast(fix.Changes...)
	}
	if l.Shards > 0 {
		return fix, ""
	}
	fix.Changes, fix.Cause = nil, true // how many parts the data set has was not recorded
	fix.Notes[0] = a.sayGiving()
	fix.Title = "give each worker data of its own: as many files or shards as workers"
	if l.FindSplit() == recording.SplitByItself {
		fix.Title += ", split by get_worker_info"
	}
	if math.Abs(a.costs.Giving-math.Round(a.costs.Giving)) > aboutWhole {
		fix.Title = "give each worker as much data as the others: files or shards of about the same size"
		fix.Notes[0] += ", in the mean: some shards end long before the others"
	}
	return fix, ""
}

// capAt bounds a gain by what more working workers could gain.
func capAt(f predict.Forecast, most float64) predict.Forecast {
	s := &f.Speedup
	if !(s.High > most) {
		return f
	}
	if s.High = most; s.Point > most { // its step would be too short as well
		s.Low, s.Point = min(s.Low, most), most
		f.Step, f.Throughput, f.Stall = stoker.Unknown(), stoker.Unknown(), stoker.Unknown()
	}
	return f
}

// sayGiving says how many of the workers have data.
func (a adviser) sayGiving() string {
	return fmt.Sprintf("%s of %d workers %s data", quantity.About(a.costs.Giving), a.costs.Workers,
		quantity.Ending(math.Round(a.costs.Giving), "has", "have"))
}

// aboutWhole is how far the mean number of workers with data is from a whole number, from which shards are of
// unequal size: with few equal ones the same workers have data all the time. [J]
const aboutWhole = 0.2

// sayShards says that more workers than so many would have nothing to read; "" if they would.
func (a adviser) sayShards(workers int) string {
	l := a.verdict.Grounds.Loader
	if has := int(a.base.Shards); has > 0 && workers >= has {
		if l != nil && l.Shards == 0 && a.costs.WithoutData() > 0 {
			return "only " + a.sayGiving() + ", and more workers get none either"
		}
		return manyShards(has) + ", and more workers than that get no data"
	}
	return ""
}

func manyShards(n int) string {
	if n == 1 {
		return "the data set has 1 shard"
	}
	return fmt.Sprintf("the data set has %d shards", n)
}

// mindOfWorkers is what to look at before the number of workers is changed, "" if nothing
// is known that calls for it.
func (a adviser) mindOfWorkers() string {
	l := a.verdict.Grounds.Loader
	if a.loadsOnDevice() {
		return "whether the data set can do without the device: a worker process that is forked cannot use CUDA. Let it return " +
			"tensors in memory, and move the batch in the loop"
	}
	if l != nil && len(l.Generators) > 0 {
		return fmt.Sprintf("a random generator of the program's own (%s) is the same in each worker, and all draw the same "+
			"numbers. Seed it in the worker, by get_worker_info().seed", strings.Join(l.Generators, ", "))
	}
	return a.verdict.Grounds.UnknownData()
}

// loadsOnDevice reports whether the loop's own thread, which loads, uses the device for that.
func (a adviser) loadsOnDevice() bool {
	l := a.judgedLoader()
	if a.costs.Workers > 0 || l == nil {
		return false
	}
	return l.BatchDevice != "" || slices.ContainsFunc(a.verdict.Lines, func(line diagnose.Line) bool {
		return strings.HasPrefix(line.Call.File, "stoker/emulated") || strings.HasPrefix(line.Call.File, "torch/cuda/")
	})
}

// riskOfWorkers is what another number of workers may break: memory, and random numbers where
// samples draw some.
func (a adviser) riskOfWorkers() Risk {
	if drawn := a.run.Facts.Draws; drawn != nil && len(drawn.From) > 0 {
		return SeedRisk
	}
	return MemoryRisk
}
