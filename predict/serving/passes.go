package serving

import (
	"math/rand/v2"

	"github.com/stoker-dev/stoker/internal/stat"
)

// Pass is a recorded pass: how many requests it took, and how long it kept the server from the
// next pass.
type Pass struct{ Requests, Took float64 }

// Start values. [J]
const (
	fewPasses = 20   // below which their scatter is unknown
	draws     = 10   // samples of the recorded passes: a line is fitted to each
	leastVary = 0.05 // requests^2: below it sizes do not tell what a further request costs
)

// linesThrough returns lines through recorded passes. Each is fitted to a random sample of them,
// so the lines differ by as much as the recording leaves open.
func linesThrough(f Fit) []Line {
	var lines []Line
	for i := range draws {
		chance := rand.New(rand.NewPCG(uint64(i), draws))
		drawn := make([]Pass, len(f.Passes))
		for k := range drawn {
			drawn[k] = f.Passes[chance.IntN(len(f.Passes))]
		}
		lines = append(lines, lineThrough(drawn, f.Most, f.PerRequest[i%len(f.PerRequest)]))
	}
	return lines
}

// lineThrough fits a line to passes by least squares. The cost of a pass and of a request is at
// least 0. perRequest is the cost of a further request if all passes are of about the same size.
func lineThrough(passes []Pass, most int, perRequest float64) Line {
	var n, took []float64
	for _, p := range passes {
		n, took = append(n, p.Requests), append(took, p.Took)
	}
	size, mean := stat.Mean(n), stat.Mean(took)
	with, of := 0.0, 0.0
	for i := range n {
		with, of = with+(n[i]-size)*(took[i]-mean), of+(n[i]-size)*(n[i]-size)
	}
	if of/float64(len(n)) >= leastVary {
		perRequest = with / of
	}
	l := Line{PerRequest: min(max(0, perRequest), mean/size), Most: most}
	l.PerPass = mean - l.PerRequest*size
	for i := range n {
		l.spread = append(l.spread, took[i]/(l.PerPass+l.PerRequest*n[i]))
	}
	l.CV = stat.CV(l.spread)
	return l
}
