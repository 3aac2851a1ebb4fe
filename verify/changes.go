package verify

import (
	"github.com/stoker-dev/stoker"
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
