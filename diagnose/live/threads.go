package live

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// findCrowdingThreads tells of workers whose libraries compute with several threads each, more in all than
// there are cores. PyTorch sets one thread for its own operations in a worker; OpenCV, OpenMP and BLAS take
// as many as the machine has cores.
func (l filler) findCrowdingThreads() (diagnose.Finding, bool) {
	k, cores := l.Costs, l.countCores()
	if !k.CrowdedByThreads(cores) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingIntraOpThreads, fmt.Sprintf(
		"each of %s has %.1f threads that want a core at a time, and the job may use %s%s. %s of the workers' core time "+
			"goes into threads beside those that fetch, which wait for each other",
		quantity.Many(k.Workers, "worker"), k.WorkerThreads, quantity.AboutCores(cores),
		l.describePools(), quantity.Percent(k.WorkerHelpers/k.WorkerCPU)))
	f.Advice = diagnose.OneThread(l.run.Facts.WorkerThreads)
	if len(l.Lines) > 0 {
		f.Source = l.Lines[0].Where().String()
	}
	return f, true
}

// describePools says which libraries compute with several threads, as they say themselves.
func (l filler) describePools() string {
	var said []string
	for _, library := range []struct{ key, name string }{{"torch", "PyTorch"}, {"opencv", "OpenCV"}} {
		if n := l.run.Facts.WorkerThreads[library.key]; n > 1 {
			said = append(said, fmt.Sprintf("%s computes with %d", library.name, n))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
}
