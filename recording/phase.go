package recording

// pass is one pass over a loader, such as an epoch or an evaluation.
type pass struct{ pid, loader, number int }

// tellEvaluation corrects the phase of steps by what the optimizer did. Whether
// gradients are on when a batch is asked for says little: many a loop turns them off
// only around the model. In a process whose optimizer steps, a pass over a loader in
// which it never does is evaluation. A pass and no step is asked, because with
// accumulated gradients it steps only once in several batches.
func tellEvaluation(steps []Step) {
	trains := map[int]bool{}
	sums := map[pass]float64{}
	for _, s := range steps {
		if !(s.Optimized >= 0) {
			continue
		}
		sums[pass{s.PID, s.Loader, s.Pass}] += s.Optimized
		trains[s.PID] = trains[s.PID] || s.Optimized > 0
	}
	for i := range steps {
		s := &steps[i]
		sum, known := sums[pass{s.PID, s.Loader, s.Pass}]
		if known && sum == 0 && trains[s.PID] && s.Phase == Train {
			s.Phase = Evaluate
		}
	}
}
