package live

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// judgedLoader is the loader that a verdict is about; without steps the only one that there is.
// Nil if it is not known.
func (l filler) judgedLoader() *recording.Loader {
	if found := l.run.FindLoader(l.Costs.Window.PID, l.Costs.Window.Loader); found != nil && l.HasSteps {
		return found
	}
	if len(l.run.Facts.Loaders) == 1 {
		return &l.run.Facts.Loaders[0]
	}
	return nil
}

// findRepeated tells of workers that each read all of the data set: the program trains on each
// sample as often as there are workers.
func (l filler) findRepeated() (diagnose.Finding, bool) {
	loader := l.judgedLoader()
	if loader == nil || loader.Repeats() < 2 {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingRepeatedSamples)
	f.Text = fmt.Sprintf("the class of the data set %s does not ask which worker reads it, so each of the %d workers gives "+
		"all of it: in an epoch each sample is trained on %d times", loader.Dataset, loader.Repeats(), loader.Repeats())
	if loader.FindSplit() == recording.SplitPerWorker {
		f.Text = fmt.Sprintf("with_epoch of the data set %s counts for each worker by itself: with %d of them an epoch has "+
			"%d times as many samples", loader.Dataset, loader.Repeats(), loader.Repeats())
	}
	f.Advice, f.Source = diagnose.SplitAdvice, loader.Call
	return f, true
}

// findWithoutData tells of workers that have nothing to read while the epoch continues: fewer
// shards than workers, or shards of which one outlasts the others.
func (l filler) findWithoutData() (diagnose.Finding, bool) {
	loader, without := l.judgedLoader(), l.Costs.WithoutData()
	if loader == nil || without == 0 || loader.Repeats() > 1 {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingWithoutData)
	shards := "its data set is dealt out in fewer parts than there are workers, or in parts that take unequally long"
	if n := loader.Shards; n > 0 {
		shards = fmt.Sprintf("the data set %s has %s", loader.Dataset, quantity.Many(n, "shard"))
	}
	f.Text = fmt.Sprintf("%s of %d workers had no data to give while the epoch went on, in the mean, and the others made "+
		"all batches: %s. As many shards as workers, of about the same size, let all of them read",
		quantity.About(without), l.Costs.Workers, shards)
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.Shards,
		l.Costs.FindSettings(loader)[stoker.Shards], l.Costs.Workers)}
	f.Advice = diagnose.ShardsAdvice(loader)
	return f, true
}
