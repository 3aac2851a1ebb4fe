package verify

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// coresDiffer is the difference in cores from which two runs count as having had different
// cores; less is noise and the use of other programs.
const coresDiffer = 0.75

// cached is a ratio of rates of reading from storage: a run that reads at less than this ratio
// of the run before counts as served from memory.
const cached = 0.1

// Changes returns what was changed between two runs in the terms that advice uses: the settings
// of the judged loaders, the cores available to the job, and whether the data set was read from
// storage. predict can forecast exactly these.
func Changes(before, after *recording.Run) []stoker.Change {
	was, now := observe(before, ""), observe(after, "")
	list := changes(was, now)
	if a, b := before.Facts.Machine.Cores(), after.Facts.Machine.Cores(); b-a >= coresDiffer || a-b >= coresDiffer {
		list = append(list, stoker.Change{Setting: stoker.Cores, From: a, To: b})
	}
	if disk := was.costs.DiskRate; disk > 1e6 && was.costs.OnDisk > 0.2 && now.costs.DiskRate < cached*disk {
		list = append(list, stoker.Change{Setting: stoker.StorageKind, From: "as found", To: stoker.PageCache})
	}
	return list
}

// changes returns the settings in which the judged loaders differ, and the device that the
// model computes on.
func changes(was, now observed) []stoker.Change {
	list := func(s observed) stoker.Settings {
		loader := s.judgedLoader()
		settings := s.costs.FindSettings(&loader)
		if m := s.run.Facts.Model; m != nil && m.Device != "" {
			settings[stoker.ComputeOn] = deviceKind(m.Device)
		}
		return settings
	}
	before, after := list(was), list(now)
	if _, few := before[stoker.Shards]; few && after[stoker.Shards] == nil {
		after[stoker.Shards] = now.costs.Workers // all workers receive data
	}
	if measure.Feeds(before) != measure.Feeds(after) {
		nameLoader(before, was)
		nameLoader(after, now)
	}
	return before.Diff(after)
}

// nameLoader sets the kind of loader, and the number of threads that stoker's loader chose. It
// removes settings that only one of the two kinds has.
func nameLoader(settings stoker.Settings, of observed) {
	if len(settings) == 0 {
		return // nothing is known about the loader
	}
	if !measure.Feeds(settings) {
		settings[stoker.LoaderKind] = "torch"
	}
	settings[stoker.NumWorkers] = of.costs.Workers
	delete(settings, stoker.PersistentWorkers)
	delete(settings, stoker.InOrder)
}
