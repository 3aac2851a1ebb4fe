package observe

import "os"

func launcherJob() string { return JobName(os.Getenv) }

// jobNames are the variables in which schedulers and launchers name a job, the same on
// each of its nodes; the last is where its ranks meet.
var jobNames = []string{"SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR"}

// JobName returns the variable of the launcher's job name and the name, from the environment; ""
// if there is none.
func JobName(getenv func(string) string) string {
	for _, name := range jobNames {
		id := getenv(name)
		if name == "MASTER_ADDR" && id != "" {
			id += ":" + getenv("MASTER_PORT")
		}
		if id != "" && id != "none" { // torchrun's default
			return name + "=" + id[:min(len(id), 200)]
		}
	}
	return ""
}
