package advise

import (
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// Rank proposes every change that applies to the run and that its evidence carries, and
// orders them by worth.
func Rank(run *recording.Run, verdict diagnose.Verdict) Plan {
	a := adviser{run: run, verdict: verdict, costs: verdict.Costs}
	t := a.replayable()
	return a.leadWith(a.spreadOverRun(a.onEvidence(t).admit(a.propose(t))))
}

// propose is every change that applies, by replay where there is something to replay.
func (a adviser) propose(t *replay.Trace) Plan {
	run, verdict := a.run, a.verdict
	if t != nil {
		return a.replayed(t)
	}
	if verdict.Device >= 0 && (!verdict.HasSteps || !verdict.Costs.Fed()) { // what a trace is about bounds the gain
		var plan Plan
		a.proposeTraced(&plan)
		return plan
	}
	if kind := a.costs.Other(run); verdict.HasSteps && kind != "" {
		return a.elsewhere(kind)
	}
	if verdict.Measured.Requests.Known() {
		return a.serving()
	}
	if !verdict.HasSteps || !verdict.Costs.Fed() {
		return a.blind()
	}
	if a.hostOnly() && !verdict.Class.Starves() {
		return Plan{} // neither that faster input is worth something nor that it is not
	}
	a.base = a.costs.MakeBaseline(run)
	var plan Plan
	if residual := a.base.Forecast().Residual; residual > 0 {
		plan.Law = &Explained{a.base.Took, a.base.Took / residual}
	}
	for _, propose := range []func() (Fix, string){
		a.split, a.shards, a.handOver, a.wholeBatches, a.outOfOrder, a.workers, a.collate, a.slow, a.feed, a.deferred,
		a.augment, a.onDevice, a.pinning,
		a.prefetch, a.persistence,
		a.proposeStorage, a.proposeCores, a.outside,
		a.decoded, a.onGPU, a.proposeBatchSize, a.tf32, a.half, a.compile,
	} {
		fix, why := propose()
		if a.hostOnly() {
			fix.Forecast = bounded(fix.Forecast)
		}
		worth := a.worthIt(fix.Forecast) || fix.Cause && worthIt(fix.Forecast)
		if why == "" && fix.Saves == "" && !worth {
			if why = notWorth(fix.Forecast); fix.Forecast.Speedup.Point >= leastGain {
				plan.Doubtful = append(plan.Doubtful, fix)
			}
		}
		switch {
		case fix.Name == "":
			continue // does not apply
		case why != "":
			plan.Rejected = append(plan.Rejected, Rejected{Name: fix.Name, Why: why})
		default:
			plan.Fixes = append(plan.Fixes, fix)
		}
	}
	orderPlan(plan.Fixes)
	order(plan.Doubtful)
	a.proposeTraced(&plan)
	return plan
}
