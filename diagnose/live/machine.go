package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// findSlowLink tells of a PCIe link that works with fewer lanes or in a lower generation than
// device and slot can, though the device is at work: an idle link may step down to save power.
func (l filler) findSlowLink() (diagnose.Finding, bool) {
	g, subject := l.findGPU()
	if g == nil || g.LinkGen == 0 || g.LinkWidth == 0 || !(l.Util > diagnose.LinkInUse) {
		return diagnose.Finding{}, false
	}
	gen, width := greatestOf(l.run.Find(recording.GPULinkGen, subject).Between(l.From, l.To).V),
		greatestOf(l.run.Find(recording.GPULinkWidth, subject).Between(l.From, l.To).V)
	if gen == 0 || width == 0 {
		return diagnose.Finding{}, false
	}
	part := width / float64(g.LinkWidth)
	for range g.LinkGen - int(gen) { // each generation has about twice the rate of the one before
		part /= 2
	}
	if part > diagnose.SlowLink {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingSlowLink,
		fmt.Sprintf("the host link runs at PCIe generation %.0f with %.0f lanes, of generation %d with %d that "+
			"device and slot can: copies have %s of the rate. Another slot, a reseated card or riser, or a setting "+
			"of the firmware brings it back", gen, width, g.LinkGen, g.LinkWidth, quantity.Percent(part)))
	return f, true
}

// greatestOf is the greatest of some values, 0 without any.
func greatestOf(values []float64) (greatest float64) {
	for _, v := range values {
		greatest = max(greatest, v)
	}
	return greatest
}

// farNode is the share of the time on other nodes from which it counts. [J]
const farNode = 0.8

// findNUMARemote tells of a launching thread that runs on another NUMA node than the one that
// its device hangs on: copies and launches cross the processors' link.
func (l filler) findNUMARemote() (diagnose.Finding, bool) {
	g, _ := l.findGPU()
	nodes := l.run.Find(recording.ThreadNode, measure.LaunchThread(l.run, l.Costs.Window.PID)).Between(l.From, l.To)
	if g == nil || g.Node == nil || *g.Node < 0 || l.run.Facts.Machine.Nodes < 2 || len(nodes.V) < fewSteps {
		return diagnose.Finding{}, false
	}
	far := 0.0
	for _, v := range nodes.V {
		if int(v) != *g.Node {
			far++
		}
	}
	if far < farNode*float64(len(nodes.V)) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingNUMARemote,
		fmt.Sprintf("the launching thread runs on another NUMA node than node %d, to which its device is attached: "+
			"copies and launches cross the link between the processors. Start it with numactl "+
			"--cpunodebind=%d --membind=%d", *g.Node, *g.Node, *g.Node))
	return f, true
}

// findSlurmCores tells of a SLURM task that was given few of a node's cores, where loading
// lacks them.
func (l filler) findSlurmCores() (diagnose.Finding, bool) {
	m := l.run.Facts.Machine
	if m.TaskCores == 0 || m.Allowed == 0 || m.Allowed >= m.CPUs || !l.LoadingLacksCores.IsLikely() ||
		!l.InputShort.IsLikely() {
		return diagnose.Finding{}, false
	}
	want := l.Costs.Workers + 2
	if l.Costs.Workers == 0 {
		want = 8 // [J] what most sites advise for one GPU
	}
	want = min(max(want, 2*m.Allowed), m.CPUs)
	f := diagnose.NewTextFinding(diagnose.FindingSlurmCores,
		fmt.Sprintf("SLURM gave this task %s of the node's %d processors, and loading lacks cores: ask for more "+
			"with --cpus-per-task=%d (srun does not inherit it from sbatch: export "+
			"SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK)", quantity.About(float64(m.Allowed)), m.CPUs, want))
	return f, true
}
