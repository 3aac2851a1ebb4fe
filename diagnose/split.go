package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// SplitAdvice is what to do about a data set that each worker reads in full.
const SplitAdvice = "in its __iter__, let each worker read its own part of what the samples come from (files, lines, " +
	"ranges): info = torch.utils.data.get_worker_info(), then parts[info.id::info.num_workers] unless info is None"

// ShardsAdvice is how a data set gets as many shards as it has workers.
func ShardsAdvice(l *recording.Loader) string {
	if split := l.FindSplit(); split == recording.SplitByDatasets {
		return "give load_dataset more files, or dataset.to_iterable_dataset(num_shards=...) of a data set that was " +
			"downloaded. dataset.num_shards tells how many there are"
	} else if split == recording.SplitByWebDataset {
		return "write more and smaller tar files: a worker reads whole ones"
	}
	return "deal out smaller parts (rows, files of a shard) by get_worker_info, such as parts[info.id::info.num_workers]"
}

// Alters says why changes would alter which samples are trained on, or how often; "" if
// they would not.
func (g Grounds) Alters(changes ...stoker.Change) string { return g.Loader.Alters(changes...) }

// KeepSamples takes from a finding what would alter the samples, with the words for it.
func (g Grounds) KeepSamples(f Finding) Finding {
	if g.Alters(f.Settings...) == "" {
		return f
	}
	f.Settings, f.Advice = nil, SplitAdvice
	return f
}

// UnknownData is the caution about more workers if the kind of the data set is not known,
// "" if it is known.
func (g Grounds) UnknownData() string {
	if g.Loader != nil && !g.Loader.IsUnknown() {
		return ""
	}
	return "what kind of data set it is was not recorded: an IterableDataset that does not split itself by " +
		"get_worker_info would give each sample once per worker"
}

// moreWorkers are classes whose word is to have more workers.
var moreWorkers = map[Class]bool{
	MainThread: true, TooFewWorkers: true, SmallFiles: true, RemoteFS: true, ClusterWorkers: true,
}

// keepData adds to a class's word what has to be done before, where more workers would alter
// the samples.
func (g Grounds) keepData(class Class, words string) string {
	if !moreWorkers[class] || g.Loader == nil {
		return words
	}
	workers, _ := g.Loader.Settings.Int(stoker.NumWorkers)
	why := g.Alters(ProposeChange(stoker.NumWorkers, workers, max(2, workers+1)))
	if why == "" {
		return words
	}
	if class == MainThread || class == TooFewWorkers {
		return "split the data set between workers before there are more of them: " + why
	}
	return fmt.Sprintf("%s. Split the data set before there are more workers: %s", words, why)
}
