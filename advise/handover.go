package advise

import (
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
)

// handOver proposes stoker feed, or fewer and larger tensors a batch, if taking it over from a worker takes long.
// Of 225 small tensors a batch feed takes a tenth of the time (bench/loader/HANDOVER.md). Objects are pickled by
// every way.
func (a adviser) handOver() (Fix, string) {
	if a.verdict.Class != diagnose.HandsOver {
		return Fix{}, ""
	}
	fix := Fix{
		Name: "hand-over", Title: "hand a batch over at once: stoker feed -- CMD, or few large tensors", Effort: Flag,
		Risk: NoRisk, Cause: true, Notes: []string{diagnose.HandOver.Advice()},
		Forecast: a.atMost(atRemoval(stat.Or(a.verdict.Stall, stat.Or(a.verdict.Idle, 0)))), // no more than the wait
	}
	l := a.run.FindLoader(a.costs.Window.PID, a.costs.Window.Loader)
	switch {
	case l == nil:
	case slices.ContainsFunc(a.verdict.Evidence, func(e diagnose.Evidence) bool {
		return e.Signal == diagnose.SignalPiped
	}):
		fix.Title, fix.Effort = "return tensors: torch.as_tensor(array) of each NumPy array, at the end of collate_fn", Code
		fix.Notes = []string{"workers hand tensors over in shared memory. NumPy arrays are pickled and go through a pipe, and " +
			"pin_memory=True pins none of them"}
		if line, seen := a.lineOfCollate(); seen {
			fix.At = line.Short()
		}
	case l.Objects > l.Tensors:
		fix.Title, fix.Effort = "let collate_fn return few large tensors instead of lists, dictionaries and objects", Code
		fix.Notes = append([]string{fmt.Sprintf("a batch has %s objects of Python or more, which are pickled one by one",
			quantity.About(float64(l.Objects)))}, fix.Notes...)
	case l.Tensors > 0:
		fix.Notes = append([]string{fmt.Sprintf("a batch has %s", quantity.Many(l.Tensors, "tensor"))}, fix.Notes...)
	}
	return fix, ""
}

// asleepSampler is what to do about a sampler that waits for files or servers in the launching thread.
const asleepSampler = "it waits there for each sample, and the loop with it. What the sampler needs of each sample (its shape, its " +
	"length, its class) is the same in every epoch: find it once, before training, and keep it in an array or a file. Or " +
	"draw the indices ahead in a thread"

// sampler proposes a cheaper sampler, if workers wait for the indices that it draws in the launching thread.
func (a adviser) sampler() (Fix, string) {
	if !a.isSaidOf(diagnose.SignalSampler) {
		return Fix{}, ""
	}
	line := a.busiestOf(diagnose.Sampling)
	advice := diagnose.Sampling.Advice()
	if line.Asleep > line.Seconds/2 {
		advice = asleepSampler
	}
	return Fix{
		Name: diagnose.SlowTransform, Title: "make the sampler cheaper: " + line.String(), Kind: diagnose.Sampling,
		Effort: Code, Risk: NoRisk, Cause: true, Notes: []string{advice},
		Forecast: a.atMost(atRemoval(a.verdict.Stall)),
	}, ""
}
