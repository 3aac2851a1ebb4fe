package traced

import (
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// recordMore is how to record steps that can be judged, and stacks.
func recordMore(run *recording.Run) (steps, later, stacks string) {
	switch run.Facts.Software.Framework {
	case "":
		return "record five and more with torch.profiler.schedule(wait=1, warmup=2, active=5)",
			"record later steps with torch.profiler.schedule(wait=5, warmup=2, active=5)",
			"with_stack=True tells the line"
	case diagnose.FrameworkCUDA:
		return "mark steps with NVTX ranges (nvtxRangePush(\"step\")) and record five and more",
			"record later steps (nsys profile --delay, or --capture-range=cudaProfilerApi)",
			"nsys profile --sample=cpu, and NVTX ranges, tell what"
	case diagnose.FrameworkHIP:
		return "mark steps with roctx ranges (roctxRangePush(\"step\")) and record five and more",
			"record later steps (roctxProfilerPause and roctxProfilerResume around what is not of interest)",
			"roctx ranges around its parts tell what"
	case diagnose.FrameworkTensorFlow:
		return "profile five and more", "profile later steps",
			"tf.profiler.experimental.ProfilerOptions(python_tracer_level=1) tells the line"
	}
	return "profile five and more", "profile later steps",
		"jax.profiler.ProfileOptions with python_tracer_level = 1 tells the line"
}
