package step

import (
	"github.com/stoker-dev/stoker/recording"
)

const (
	mostNodes   = 256     // of a Ray cluster, of all processes together
	mostWorkers = 1 << 20 // of one node; more is an error of the sender
)

// addNode keeps the newest word of a process on its DataLoaders' workers on one node of a Ray cluster.
func (in *Intake) addNode(p *Process, r *hookRecord, now float64) bool {
	for _, n := range []int64{r.Count, r.Fetch, r.CPU, r.Moved, int64(r.Workers), int64(r.Ahead)} {
		if n < 0 {
			return false
		}
	}
	if r.Node == "" || r.Bytes == nil || *r.Bytes < 0 || r.Workers > mostWorkers || r.Ahead > mostWorkers {
		return false
	}
	subject := recording.ClusterNode(p.PID, r.Node)
	if !in.toldNodes[subject] {
		if len(in.toldNodes) >= mostNodes {
			return true
		}
		in.toldNodes[subject] = true
	}
	in.nodes[subject] = fetchTotals{*r, now}
	return true
}

// flushNodes writes what arrived from nodes since the last call.
func (in *Intake) flushNodes() {
	for subject, f := range in.nodes {
		r := f.record
		for signal, value := range map[recording.Signal]float64{
			recording.RemoteBatches: float64(r.Count), recording.RemoteBytes: *r.Bytes,
			recording.RemoteFetch: float64(r.Fetch) / 1e9, recording.RemoteCPU: float64(r.CPU) / 1e9,
			recording.RemoteMoved: float64(r.Moved) / 1e9, recording.RemoteWorkers: float64(r.Workers),
			recording.RemoteAhead: float64(r.Ahead),
		} {
			in.to.AddSample(signal, subject, f.at, value)
		}
		if r.Store != nil {
			in.to.AddSample(recording.RemoteStore, subject, f.at, *r.Store)
		}
		if r.Spilled != nil {
			in.to.AddSample(recording.RemoteSpilled, subject, f.at, *r.Spilled)
		}
		delete(in.nodes, subject)
	}
}
