package recording

import (
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker"
)

// Split says how a data set divides its samples among worker processes, which decides whether
// the number of workers may change. The words are those of python/hook/split.py. A library that
// divides its own streams has its own word: "datasets", "webdataset", "litdata", "streaming",
// "sharding-filter".
type Split string

// The ways to divide samples that are not a library's.
const (
	UnknownSplit   Split = ""
	SplitByIndex   Split = "index"       // map-style: the sampler gives each index to one worker
	SplitByItself  Split = "worker-info" // iterable, and its code calls get_worker_info
	SplitByNobody  Split = "none"        // iterable: each worker reads all of it
	SplitByState   Split = "own-state"   // the position is kept in the data set, and each worker has a copy
	SplitPerWorker Split = "per-worker"  // the length of an epoch applies to each worker separately

	// Libraries whose shards have their own words.
	SplitByDatasets   Split = "datasets"
	SplitByWebDataset Split = "webdataset"
)

// FindSplit returns how a loader's data set is divided. Older recordings say only whether it is
// iterable.
func (l *Loader) FindSplit() Split {
	if l.Split == UnknownSplit && !l.Iterable && l.Dataset != "" {
		return SplitByIndex
	}
	return l.Split
}

// Repeats returns how often each sample comes in an epoch: once, or once per worker if each of
// them reads the whole data set.
func (l *Loader) Repeats() int {
	workers, _ := l.Settings.Int(stoker.NumWorkers)
	if s := l.FindSplit(); s == SplitByNobody || s == SplitPerWorker {
		return max(1, workers)
	}
	return 1
}

// Alters returns why changes of a loader's settings would alter which samples are trained on,
// or how often; "" if they would not. All advice and every forecast is checked with it. If the
// data set is unknown, it returns "" (IsUnknown).
func (l *Loader) Alters(changes ...stoker.Change) string {
	if l == nil || l.Kind != "" || l.IsUnknown() || l.Settings.Text(stoker.LoaderKind) == stoker.StokerLoader {
		return ""
	}
	after := *l
	after.Settings = l.Settings.With(changes...)
	if to, changed := after.Settings[stoker.Split].(string); changed {
		after.Split = Split(to)
	}
	if why := l.altersPersisting(after); why != "" {
		return why
	}
	was, _ := l.Settings.Int(stoker.NumWorkers)
	now, known := after.Settings.Int(stoker.NumWorkers)
	if _, multiple := stoker.Multiple(after.Settings[stoker.NumWorkers]); multiple {
		now, known = was+1, true // more, for any multiple
	}
	if !known || now == was {
		return ""
	}
	return after.altersCounting(was, now)
}

// altersCounting returns why another number of workers would alter the samples.
func (l *Loader) altersCounting(was, now int) string {
	if s := l.FindSplit(); s == SplitByState {
		return fmt.Sprintf("the data set %s keeps in itself what comes next, and each worker has a copy: samples would "+
			"come again, or not at all", l.Dataset)
	} else if max(1, was) == max(1, now) { // one worker reads what the loop itself read
		return ""
	} else if s == SplitByNobody {
		return fmt.Sprintf("each worker reads all of the data set %s: with %d of them each sample comes %d times in an "+
			"epoch", l.Dataset, now, max(1, now))
	} else if s == SplitPerWorker {
		return fmt.Sprintf("with_epoch of the data set %s counts for each worker by itself: with %d of them an epoch has "+
			"%d times what it says", l.Dataset, now, max(1, now))
	} else if s == UnknownSplit {
		return fmt.Sprintf("whether the iterable data set %s splits itself between workers is not known: if it does not, "+
			"each of %d reads all of it", l.Dataset, now)
	}
	if batch, _ := l.Settings.Int(stoker.BatchSize); l.Iterable && l.DropLast && batch > 1 {
		return fmt.Sprintf("drop_last=True drops the last short batch of each worker: with %d instead of %d up to %d "+
			"samples less in an epoch. drop_last=False keeps them", now, was, max(0, max(1, now)-max(1, was))*(batch-1))
	}
	return ""
}

// altersPersisting returns why another lifetime of workers would alter the samples.
func (l *Loader) altersPersisting(after Loader) string {
	was, _ := l.Settings.Bool(stoker.PersistentWorkers)
	now, known := after.Settings.Bool(stoker.PersistentWorkers)
	workers, _ := after.Settings.Int(stoker.NumWorkers)
	switch own := slices.Contains([]Split{UnknownSplit, SplitByIndex, SplitByItself, SplitByNobody}, l.FindSplit()); {
	case !known || was == now || workers == 0:
		return ""
	case l.FindSplit() == SplitByState:
		return fmt.Sprintf("the data set %s keeps in itself what comes next: workers that persist go on from there, and "+
			"new ones begin again", l.Dataset)
	case own && l.Changes && now:
		return fmt.Sprintf("the program changes the data set %s between epochs (set_epoch, another subset): workers that "+
			"persist would not see it", l.Dataset)
	}
	return ""
}

// IsUnknown reports whether the kind of data set is unknown, as in a profiler's file or for a
// program without the hook.
func (l *Loader) IsUnknown() bool {
	return l.Split == UnknownSplit && !l.Iterable && l.Dataset == ""
}
