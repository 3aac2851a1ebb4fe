package diagnose

import (
	"strings"
)

// OneThreadOfTrainer is how a trainer that loads by itself computes with one thread.
const OneThreadOfTrainer = "torch.set_num_threads(1), or OMP_NUM_THREADS=1 in the environment"

// OneThread says how each worker computes with one thread. pools are the threads that libraries of a worker
// say that they compute with; those of BLAS and OpenMP alone are not known.
func OneThread(pools map[string]int) string {
	var calls []string
	if pools["torch"] > 1 {
		calls = append(calls, "torch.set_num_threads(1)")
	}
	if pools["opencv"] > 1 {
		calls = append(calls, "cv2.setNumThreads(0)")
	}
	if len(calls) == 0 {
		return "OMP_NUM_THREADS=1, OPENBLAS_NUM_THREADS=1 and MKL_NUM_THREADS=1 in the environment, before the script starts"
	}
	return strings.Join(calls, " and ") + " in worker_init_fn"
}
