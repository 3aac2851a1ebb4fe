package live

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// fillCluster takes what rules ask of workers in a Ray cluster, instead of what they ask of this
// machine's processes, cores and disks.
func (l filler) fillCluster(k *measure.Cluster) {
	none := diagnose.Quantity{}
	l.LaunchThreadLoads, l.WorkersLoad, l.WorkersSaturated = none, none, none
	l.TakesBatchesOver, l.SamplerDraws, l.FewAreSlow = none, none, none
	l.LoadingWaitsForStorage, l.LoadingLacksCores, l.QuotaTakesCores, l.OthersTakeCores = none, none, none, none
	l.FetchEvidence, l.Lines = nil, nil
	l.ClusterLoads = diagnose.AskFact("Do the loader's workers run in a Ray cluster?", true, diagnose.WorkersText(l.Costs))
	l.ClusterAtWork = diagnose.AskShare("Do the workers there always have a batch to prepare?", l.Costs.WorkersBusy,
		diagnose.WorkersAtWork, "").
		WithEvidence(l.Costs.WorkersBusy, "ratio", string(recording.RemoteFetch),
			"%s, at work %s of the time: a batch takes one of them %s", diagnose.WorkersText(l.Costs),
			quantity.Percent(l.Costs.WorkersBusy), quantity.AboutSeconds(k.Fetch))
	l.ClusterMoves = diagnose.AskShare("Are batches longer on their way than workers prepare them?", k.OnTheWay(),
		diagnose.BatchesOnTheWay, "").
		WithEvidence(k.Moved, "seconds", string(recording.RemoteMoved),
			"a batch of %s takes a worker in the cluster %s, and %s to the trainer: %s arrive", quantity.AboutBytes(k.Bytes),
			quantity.AboutSeconds(k.Fetch), quantity.AboutSeconds(k.Moved), quantity.AboutRate(k.Rate))
	l.ClusterStoreFull = askStoreFull(k)
	l.ClusterNodeSlow = l.askSlowNode(k)
}

// askStoreFull is whether a node's object store has room for its workers' batches.
func askStoreFull(k *measure.Cluster) diagnose.Quantity {
	node, full := k.FullestStore()
	said := fmt.Sprintf("Ray's object store of %s has %s, its workers' batches take up to %s", node.Name,
		quantity.AboutBytes(node.Store), quantity.AboutBytes(node.Held))
	if node.Spilled > 0 {
		said += fmt.Sprintf(", and %s were on its disk for want of room", quantity.AboutBytes(node.Spilled))
	}
	return diagnose.AskShareOr(0, "Is an object store of the cluster full?", min(1, full), diagnose.StoreFull, "").
		WithEvidence(full, "ratio", string(recording.RemoteStore), "%s", said)
}

// askSlowNode is whether the slowest node's workers are always at work, and those of others are faster.
func (l filler) askSlowNode(k *measure.Cluster) diagnose.Quantity {
	slowest := k.Nodes[0]
	busy := slowest.Fetch * slowest.Batches / ((l.To - l.From) * float64(slowest.Workers))
	saved := 1 - k.Usual()/slowest.Fetch
	q := diagnose.AskShareOr(0, "Does a batch take longer on one node than on the others?", saved, diagnose.NodeSlower, "")
	q.Score = min(q.Score, diagnose.WorkersAtWork.Score(stat.Or(busy, 0)))
	if math.IsNaN(saved) {
		return q
	}
	return q.WithEvidence(slowest.Fetch, "seconds", string(recording.RemoteFetch),
		"a batch takes a worker on %s %s, and %s on the other nodes. Its workers are at work %s of the time", slowest.Name,
		quantity.AboutSeconds(slowest.Fetch), quantity.AboutSeconds(k.Usual()), quantity.Percent(min(1, busy)))
}
