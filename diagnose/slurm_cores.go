package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker"
)

// slurmCores tells of a SLURM task that was given few of a node's cores, where loading
// lacks them.
func (l live) slurmCores() (Finding, bool) {
	m := l.run.Facts.Machine
	if m.TaskCores == 0 || m.Allowed == 0 || m.Allowed >= m.CPUs || !(l.Cores.Score >= 0.5) || !(l.Starved.Score >= 0.5) {
		return Finding{}, false
	}
	want := l.Costs.Workers + 2
	if l.Costs.Workers == 0 {
		want = 8 // [J] what most sites advise for one GPU
	}
	want = min(max(want, 2*m.Allowed), m.CPUs)
	f := said("slurm-cores", fmt.Sprintf("SLURM gave this task %s of the node's %d processors, and loading lacks cores: ask for more with --cpus-per-task=%d (srun does not inherit it from sbatch: export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK)", stoker.About(float64(m.Allowed)), m.CPUs, want))
	return f, true
}
