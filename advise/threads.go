package advise

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// crowded reports whether the workers' libraries compute with more threads than there are cores.
func (a adviser) crowded() bool { return a.costs.CrowdedByThreads(a.run.Facts.Machine.Cores()) }

// oneThread proposes one thread for each worker, or for the trainer that loads without workers. How much of the
// threads' core time is work, and how much is waiting for each other, is not counted: the gain is only bounded.
func (a adviser) oneThread() (Fix, string) {
	crowded := a.crowded()
	if !crowded && !a.costs.HelpersSpin() || a.idleKnown() && !a.isStarved() {
		return Fix{}, ""
	}
	cores := a.run.Facts.Machine.Cores()
	fix := Fix{
		Name: diagnose.FindingIntraOpThreads, Title: "one thread for each operation: " + diagnose.OneThreadOfTrainer,
		Effort: Flag, Risk: NumericsRisk, Cause: crowded,
		Forecast: a.atMost(a.costs.Step / a.costs.LeastStep(a.base.Loop().Low, cores)),
		Notes:    []string{"how much of the threads' core time is work is not known: observe once more with the change"},
	}
	if crowded {
		fix.Title = "one thread in each worker: " + diagnose.OneThread(a.run.Facts.WorkerThreads)
		fix.Notes = append([]string{a.countThreads()}, fix.Notes...)
	}
	return fix, ""
}

// leadWithThreads puts the trainer's threads before other changes whose gain is only bounded.
func leadWithThreads(fixes []Fix) {
	at := slices.IndexFunc(fixes, func(f Fix) bool { return f.Name == diagnose.FindingIntraOpThreads })
	promised := func(f Fix) bool { return !math.IsNaN(f.Forecast.Speedup.Point) }
	if at >= 0 && !slices.ContainsFunc(fixes, promised) {
		fixes[at].Cause = true
	}
}

// countThreads says how many threads there are for the cores.
func (a adviser) countThreads() string {
	cores := quantity.AboutCores(a.run.Facts.Machine.Cores())
	return fmt.Sprintf("each of %s has %.1f threads that want a core at a time, and the job may use %s",
		quantity.Many(a.costs.Workers, "worker"), a.costs.WorkerThreads, cores)
}
