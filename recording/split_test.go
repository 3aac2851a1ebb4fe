package recording_test

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// Whether a change keeps the samples follows from how the data set is split between workers, and
// from what the number of workers becomes.
func TestAlters(t *testing.T) {
	loader := func(split recording.Split, workers int, more ...func(*recording.Loader)) *recording.Loader {
		l := &recording.Loader{
			Dataset: "Lines", Split: split, Iterable: split != recording.SplitByIndex,
			Settings: stoker.Settings{stoker.NumWorkers: workers, stoker.BatchSize: 8, stoker.PersistentWorkers: false},
		}
		for _, edit := range more {
			edit(l)
		}
		return l
	}
	workers := func(n any) stoker.Change { return stoker.Change{Setting: stoker.NumWorkers, To: n} }
	persist := stoker.Change{Setting: stoker.PersistentWorkers, To: true}
	splits := stoker.Change{Setting: stoker.Split, To: string(recording.SplitByItself)}
	drop := func(l *recording.Loader) { l.DropLast = true }
	changes := func(l *recording.Loader) { l.Changes = true }
	for name, c := range map[string]struct {
		loader *recording.Loader
		change []stoker.Change
		want   string // part of why; "" keeps the samples
	}{
		"map-style":                     {loader(recording.SplitByIndex, 0), []stoker.Change{workers(6)}, ""},
		"map-style, drop_last":          {loader(recording.SplitByIndex, 0, drop), []stoker.Change{workers(6)}, ""},
		"nobody splits":                 {loader(recording.SplitByNobody, 0), []stoker.Change{workers(6)}, "each sample comes 6 times"},
		"twice as many":                 {loader(recording.SplitByNobody, 2), []stoker.Change{workers("2x")}, "each worker reads all"},
		"one reads what the loop read":  {loader(recording.SplitByNobody, 0), []stoker.Change{workers(1)}, ""},
		"fewer":                         {loader(recording.SplitByNobody, 4), []stoker.Change{workers(2)}, "each sample comes 2 times"},
		"as it is":                      {loader(recording.SplitByNobody, 4), []stoker.Change{workers(4)}, ""},
		"split first":                   {loader(recording.SplitByNobody, 0), []stoker.Change{splits, workers(6)}, ""},
		"another setting":               {loader(recording.SplitByNobody, 4), []stoker.Change{{Setting: stoker.PinMemory, To: true}}, ""},
		"asks get_worker_info":          {loader(recording.SplitByItself, 0), []stoker.Change{workers(6)}, ""},
		"each worker drops a batch":     {loader(recording.SplitByItself, 0, drop), []stoker.Change{workers(6)}, "up to 35 samples less"},
		"a library":                     {loader("datasets", 1), []stoker.Change{workers(6)}, ""},
		"an epoch for each worker":      {loader(recording.SplitPerWorker, 0), []stoker.Change{workers(6)}, "6 times what it says"},
		"a copy in each worker":         {loader(recording.SplitByState, 0), []stoker.Change{workers(1)}, "each worker has a copy"},
		"unknown, iterable":             {loader(recording.UnknownSplit, 0), []stoker.Change{workers(6)}, "is not known"},
		"persisting":                    {loader(recording.SplitByItself, 2), []stoker.Change{persist}, ""},
		"persisting, set_epoch":         {loader(recording.SplitByItself, 2, changes), []stoker.Change{persist}, "would not see it"},
		"persisting, a library":         {loader("datasets", 2, changes), []stoker.Change{persist}, ""},
		"persisting, with what follows": {loader(recording.SplitByState, 2), []stoker.Change{persist}, "go on from there"},
		"no loader":                     {nil, []stoker.Change{workers(6)}, ""},
	} {
		got := c.loader.Alters(c.change...)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Older recordings say only whether a data set is iterable, a profiler's file not even that.
func TestSplitsOfOlderRecordings(t *testing.T) {
	for _, c := range []struct {
		loader  recording.Loader
		split   recording.Split
		unknown bool
	}{
		{recording.Loader{Dataset: "ImageFolder"}, recording.SplitByIndex, false},
		{recording.Loader{Dataset: "Lines", Iterable: true}, recording.UnknownSplit, false},
		{recording.Loader{}, recording.UnknownSplit, true},
	} {
		if got, unknown := c.loader.FindSplit(), c.loader.IsUnknown(); got != c.split || unknown != c.unknown {
			t.Errorf("%+v: %q, unknown %v", c.loader, got, unknown)
		}
	}
}
