package verify

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// coresDiffer is from which difference two runs count as having had other
// cores: less is neighbours and noise.
const coresDiffer = 0.75

// cached is the share of what a run read from storage before, below which the
// same run afterwards counts as served from memory.
const cached = 0.1

// Changes are what was changed between two runs, in the words in which advice is
// given: the settings of the judged loaders, the cores that the job could use,
// and whether the data set came from storage. predict forecasts just these.
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
