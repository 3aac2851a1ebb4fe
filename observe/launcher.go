package observe

import "os"

// jobNames are the variables in which schedulers and launchers name a job, the same on
// each of its nodes; the last is where its ranks meet.
var jobNames = []string{"SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR"}

// job is what the launcher calls the job of which CMD is a part; "" where none does.
func job() string {
	for _, name := range jobNames {
		id := os.Getenv(name)
		if name == "MASTER_ADDR" && id != "" {
			id += ":" + os.Getenv("MASTER_PORT")
		}
		if id != "" && id != "none" { // torchrun's where nobody named it
			return name + "=" + id[:min(len(id), 200)]
		}
	}
	return ""
}
