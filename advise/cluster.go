package advise

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// cluster proposes what helps a loader whose workers run in a Ray cluster.
func (a adviser) cluster() (Fix, string) {
	k := a.costs.Cluster
	if k == nil || !a.verdict.Class.Is(diagnose.ClusterBound) {
		return Fix{}, ""
	}
	fix := Fix{
		Name: string(stoker.NumWorkers), Effort: Machine, Risk: NoRisk, Cause: true,
		Forecast: a.atMost(atRemoval(a.verdict.Stall)),
	}
	switch a.verdict.Class {
	case diagnose.ClusterWorkers:
		fix.Effort = Flag
		return a.moreInCluster(fix)
	case diagnose.ClusterSlowNode:
		fix.Name, fix.Title = "slow-node", "take "+k.Nodes[0].Name+" out of the cluster, or what else runs there"
		fix.Forecast = a.atMost(min(atRemoval(a.verdict.Stall), k.Nodes[0].Fetch/k.Usual()))
	case diagnose.ClusterStore:
		node, _ := k.FullestStore()
		fix.Name, fix.Title = "object-store", "give Ray's object stores more memory: ray start --object-store-memory"
		fix.Notes = []string{fmt.Sprintf("batches under way take up to %s on %s. A smaller prefetch_factor, or uint8 instead of "+
			"float32, needs less", quantity.AboutBytes(node.Held), node.Name)}
	case diagnose.ClusterNetwork:
		fix.Name, fix.Title, fix.Effort = "network", "send fewer bytes: uint8 instead of float32, normalised on the device", Code
		fix.Notes = []string{fmt.Sprintf("%s arrive. If the network carries more, it is slow to answer: a larger "+
			"prefetch_factor keeps more batches under way", quantity.AboutRate(k.Rate))}
	default:
		return Fix{}, ""
	}
	return fix, ""
}

// moreInCluster proposes as many workers as prepare batches as fast as the loop takes them.
func (a adviser) moreInCluster(fix Fix) (Fix, string) {
	need := math.Ceil(a.costs.Fetch / max(a.base.Loop().Point, 1e-6))
	best := int(min(max(need, float64(a.costs.Workers+1)), stoker.MostInCluster))
	if why := a.alters(best); why != "" {
		return fix, why
	}
	fix.Title = "more workers in the cluster"
	fix.Changes = []stoker.Change{a.makeChange(stoker.NumWorkers, best)}
	fix.Forecast = a.forecast(fix.Changes...)
	fix.Notes = []string{
		fmt.Sprintf("num_workers in the script, or stoker feed --ray ADDRESS --workers %d, which changes the random numbers of samples", best),
		fmt.Sprintf("each takes a core of a node. Their batches then bring %s to this machine",
			quantity.AboutRate(a.costs.Cluster.Bytes/max(a.base.Loop().Point, 1e-6))),
	}
	return fix, ""
}
