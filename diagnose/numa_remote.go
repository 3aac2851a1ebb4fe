package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// farNode is the share of the time on other nodes from which it counts. [J]
const farNode = 0.8

// numaRemote tells of a launching thread that runs on another NUMA node than the one that
// its device hangs on: copies and launches cross the processors' link.
func (l live) numaRemote() (Finding, bool) {
	g, _ := l.gpu()
	nodes := l.run.Find(recording.ThreadNode, predict.LaunchThread(l.run, l.Costs.Window.PID)).Between(l.From, l.To)
	if g == nil || g.Node == nil || *g.Node < 0 || l.run.Facts.Machine.Nodes < 2 || len(nodes.V) < fewSteps {
		return Finding{}, false
	}
	far := 0.0
	for _, v := range nodes.V {
		if int(v) != *g.Node {
			far++
		}
	}
	if far < farNode*float64(len(nodes.V)) {
		return Finding{}, false
	}
	f := said("numa-remote", fmt.Sprintf("the launching thread runs on another NUMA node than node %d, to which its device is attached: copies and launches cross the link between the processors. Start it with numactl --cpunodebind=%d --membind=%d", *g.Node, *g.Node, *g.Node))
	return f, true
}
