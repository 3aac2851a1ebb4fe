package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var clusterBound = Rule{
	Class: diagnose.ClusterBound,
	Title: "Workers in the cluster are the limit",
	Text: "The DataLoader's workers run in a Ray cluster. The device waits for their batches, which come too slowly: " +
		"the workers, one of the nodes, or the way to the trainer is the limit.",
	Limits: "All loaders of the process are counted together, and how long a batch is on its way includes the time in " +
		"which the trainer takes it.",
	check: func(c *inquiry) float64 {
		if !c.ClusterLoads.CanBeAsked() {
			return 0
		}
		starved := c.yes(c.InputShort)
		limit := max(c.yes(c.ClusterAtWork), c.yes(c.ClusterMoves), c.yes(c.ClusterNodeSlow))
		c.because(c.InputShort.Evidence, c.ClusterLoads.Evidence)
		return starved * limit * c.inputLeads()
	},
	refine: func(c *inquiry) diagnose.Class { return c.askKinds(diagnose.ClusterBound, clusterKinds) },
}

// clusterKinds are rules for a loader whose workers run in a cluster: they tell which part of it is the limit.
var clusterKinds = []Rule{clusterSlowNode, clusterStore, clusterNetwork, clusterWorkers}

var clusterWorkers = Rule{
	Class: diagnose.ClusterWorkers,
	Title: "Too few workers run in the cluster",
	Text:  "Every worker in the cluster always has a batch to prepare, and the device waits for them.",
	Limits: "A worker that queues for a core of its node looks the same. Ray takes the number of a node's cores on " +
		"trust.",
	check: func(c *inquiry) float64 {
		busy := c.yes(c.ClusterAtWork)
		c.because(c.ClusterAtWork.Evidence)
		return busy * c.no(c.ClusterNodeSlow)
	},
}

var clusterSlowNode = Rule{
	Class: diagnose.ClusterSlowNode,
	Title: "One node of the cluster is slow",
	Text: "A batch takes far longer on one node than on the others. Batches come in the script's order, so the device " +
		"waits for that node, and the workers of the others rest.",
	Limits: "Samples that take longer by themselves look the same if they all fall to one node.",
	check: func(c *inquiry) float64 {
		c.because(c.ClusterNodeSlow.Evidence)
		return c.yes(c.ClusterNodeSlow)
	},
}

var clusterNetwork = Rule{
	Class: diagnose.ClusterNetwork,
	Title: "The network between the cluster and the trainer is the limit",
	Text: "A batch is longer on its way to the trainer than a worker prepares it, and workers rest until it has " +
		"arrived.",
	Limits: "A network that is full and one that is slow to answer look the same: the rate at which bytes arrive tells.",
	check: func(c *inquiry) float64 {
		moves := c.yes(c.ClusterMoves)
		c.because(c.ClusterMoves.Evidence)
		return moves * c.no(c.ClusterStoreFull)
	},
}

var clusterStore = Rule{
	Class: diagnose.ClusterStore,
	Title: "An object store of the cluster is full",
	Text: "The batches that are under way take more than a node's object store has. It writes them to a disk, or lets " +
		"workers wait until there is room.",
	Limits: "What other jobs keep in the store is not counted, nor are its files if Ray was told another folder.",
	check: func(c *inquiry) float64 {
		full := c.yes(c.ClusterStoreFull)
		c.because(c.ClusterStoreFull.Evidence, c.ClusterMoves.Evidence)
		return full * c.yes(c.ClusterMoves)
	},
}
