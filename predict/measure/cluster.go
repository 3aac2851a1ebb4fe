package measure

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Cluster is what the workers of a DataLoader do that run as actors of a Ray cluster. Seconds
// and bytes are per batch; NaN is unknown.
type Cluster struct {
	Nodes   []ClusterNode // those that gave batches, the slowest first
	Workers int
	Fetch   float64 // in which a worker prepares it
	Core    float64 // of that, of the preparing thread on a core
	Moved   float64 // from the worker's hands into the trainer's
	Bytes   float64
	Rate    float64 // bytes/s that arrive
}

// ClusterNode is one node of the cluster.
type ClusterNode struct {
	Name    string
	Workers int
	Batches float64 // that came in the window
	Fetch   float64 // seconds in which a worker prepares one
	Held    float64 // bytes that its object store holds at most, for its workers
	Store   float64 // bytes of its object store
	Spilled float64 // bytes that the store wrote to a disk, at most
}

// leastFromCluster is the share of the window's batches from which the judged loader is the one
// whose workers run in a cluster. A loader for evaluation may have workers there as well. [J]
const leastFromCluster = 0.5

// readCluster takes what workers in a Ray cluster tell instead of what worker processes show. The
// cores that they use are not this machine's.
func (m *meter) readCluster() {
	found := Cluster{}
	var batches, fetch, core, moved, bytes float64
	for _, s := range m.run.All(recording.RemoteBatches) {
		name, of := strings.CutPrefix(s.Subject, recording.ClusterNode(m.Window.PID, ""))
		grown := func(signal recording.Signal) float64 {
			return stat.Or(m.growth(signal, s.Subject), 0)
		}
		n := grown(recording.RemoteBatches)
		if !of || !(n > 0) {
			continue
		}
		latest := func(signal recording.Signal) float64 { return m.run.Find(signal, s.Subject).Mean(m.from, m.to) }
		each := grown(recording.RemoteBytes) / n
		node := ClusterNode{
			Name: name, Workers: int(math.Round(latest(recording.RemoteWorkers))), Batches: n,
			Fetch: grown(recording.RemoteFetch) / n, Store: latest(recording.RemoteStore),
			Spilled: m.largestSpill(s.Subject),
		}
		node.Held = float64(node.Workers) * latest(recording.RemoteAhead) * each
		found.Nodes = append(found.Nodes, node)
		found.Workers += node.Workers
		batches, fetch, core = batches+n, fetch+grown(recording.RemoteFetch), core+grown(recording.RemoteCPU)
		moved, bytes = moved+grown(recording.RemoteMoved), bytes+grown(recording.RemoteBytes)
	}
	if batches < leastFromCluster*float64(len(m.Window.Steps)) || found.Workers == 0 {
		return
	}
	slices.SortFunc(found.Nodes, compareSlowest)
	found.Fetch, found.Core, found.Moved, found.Bytes = fetch/batches, core/batches, moved/batches, bytes/batches
	found.Rate = bytes / (m.to - m.from)
	m.Cluster, m.Workers, m.Set, m.Uncounted = &found, found.Workers, true, false
	m.Giving = float64(found.Workers)
	m.Fetch, m.FetchCPU, m.FetchQueue, m.FetchCollate, m.FetchCV = found.Fetch, 0, 0, math.NaN(), math.NaN()
	m.WorkersBusy = math.Min(1, m.Fetch/(float64(m.Workers)*m.HostStep))
	m.OnDisk, m.Remote, m.Runnable = 0, 0, math.NaN()
}

func (m *meter) largestSpill(subject string) float64 {
	part := m.run.Find(recording.RemoteSpilled, subject).Between(m.from, m.to)
	return part.Largest()
}

func compareSlowest(a, b ClusterNode) int {
	return cmp.Or(cmp.Compare(b.Fetch, a.Fetch), strings.Compare(a.Name, b.Name))
}

// Usual returns the mean time of a batch on all nodes but the slowest; NaN if there is only one.
func (c Cluster) Usual() float64 {
	batches, fetch := 0.0, 0.0
	for _, node := range c.Nodes[min(1, len(c.Nodes)):] {
		batches, fetch = batches+node.Batches, fetch+node.Fetch*node.Batches
	}
	if batches == 0 {
		return math.NaN()
	}
	return fetch / batches
}

// FullestStore returns the node whose object store is the fullest, and the largest share of it
// that was in use: 1 and more if the node spilled batches to a disk. The share is NaN if no
// store's size is known.
func (c Cluster) FullestStore() (node ClusterNode, full float64) {
	full = math.NaN()
	for _, each := range c.Nodes {
		part := each.Held / each.Store
		if each.Spilled > 0 {
			part = max(1, stat.Or(part, 1))
		}
		if !(part <= full) && !math.IsNaN(part) {
			node, full = each, part
		}
	}
	return node, full
}

// OnTheWay returns the part of its time from the worker's first touch to the trainer in which a
// batch is on its way.
func (c Cluster) OnTheWay() float64 { return c.Moved / (c.Moved + c.Fetch) }
