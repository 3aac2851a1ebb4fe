package steps

import (
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// ListLoaders tells of each process's DataLoader what the names of its iterators tell.
func ListLoaders(t *recording.Timeline, processes []recording.Process) (out []recording.Loader) {
	type kinds struct{ single, several bool } // of iterators that were seen
	seen := map[int]kinds{}
	for i, kind := range t.Host.Kind {
		name := t.Names[t.Host.Name[i]]
		if kind != recording.Annotation || !recording.LoaderSpan(name) {
			continue
		}
		pid := t.Threads[t.Host.Thread[i]].PID
		is := seen[pid]
		is.single = is.single || strings.Contains(name, "SingleProcessDataLoaderIter")
		is.several = is.several || strings.Contains(name, "MultiProcessingDataLoaderIter")
		seen[pid] = is
	}
	for _, p := range processes {
		is, found := seen[p.PID]
		if !found {
			continue
		}
		settings := stoker.Settings{}
		if is.single && !is.several { // of two loaders, one may train and one evaluate
			settings[stoker.NumWorkers] = 0
		}
		out = append(out, recording.Loader{ID: Loader, PID: p.PID, Settings: settings})
	}
	return out
}
