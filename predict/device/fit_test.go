package device

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker"
)

// proof is a measured step, ready to be compared.
type proof struct {
	Measurement
	load Load
	clue clue
	own  float64 // of the step, seconds: without what is seen of the exchange between ranks
}

type proofs []*proof

// resolve finds the rows' workloads and GPUs. Rows that name no software are left
// out.
func resolve(t *testing.T, rows []Measurement) proofs {
	t.Helper()
	count := map[sheet]float64{}
	for _, m := range rows {
		count[m.sheet()]++
	}
	var all proofs
	for _, m := range rows {
		load, err := m.Load()
		if err != nil {
			t.Fatal(err)
		}
		if load.Software == AnySoftware {
			continue
		}
		if err := load.checkFields(); err != nil {
			t.Fatal(err)
		}
		load.stepwise = m.Stepwise
		own := m.Step() - m.exchanged(load, stoker.Exactly(m.Step())).Point
		all = append(all, &proof{Measurement: m, load: load, own: own, clue: clue{
			network: m.Workload, training: m.Training, gpu: m.GPU, precision: unitsOf(m.Precision),
			software: m.Software,
			tokens:   load.Workload.Tokens, side: load.Workload.Side, batch: m.Batch, source: m.Source,
			weight: 1 / math.Sqrt(count[m.sheet()]),
		}})
	}
	return all
}

// against gives the clues with the errors of a set of efficiencies at the rows.
func (all proofs) against(e efficiency) clues {
	tried := make(clues, len(all))
	for i, p := range all {
		tried[i] = p.clue
		tried[i].error, tried[i].device = p.compare(e.termsOf(p.load.withoutLosses()))
	}
	return tried
}

// compare is the logarithm of measured over predicted step time, and how much of
// the predicted one is the device's.
func (p *proof) compare(t Terms) (wrong, device float64) {
	return math.Log(p.own / t.At(p.Batch)), t.deviceBound(p.Batch)
}

// fit is a least-squares problem in the logarithms of the efficiencies.
type fit struct {
	rows   proofs
	names  []string
	at     []places // of each row
	ideals []ideal
}

// places are the numbers of the keys of a row.
type places struct {
	peak, bandwidth, scores, start, launch, power, source, maker int
	factors                                                      []int // of keys.whole, then keys.compute
}

func newFit(rows proofs) fit {
	f := fit{rows: rows}
	known := map[string]int{}
	number := func(name string) int {
		n, seen := known[name]
		if !seen {
			n = len(f.names)
			known[name] = n
			f.names = append(f.names, name)
		}
		return n
	}
	for _, p := range rows {
		i := p.load.withoutLosses()
		k := i.keysOf()
		at := places{
			peak: number(k.peak), bandwidth: number(k.bandwidth), scores: number(k.scores), start: number(k.start),
			launch: number(k.launch), power: number(k.power),
			source: number("source/" + p.file() + "/" + training(p.Training).String()),
			maker:  number("maker/" + p.repository() + "/" + training(p.Training).String()),
		}
		for _, name := range append(k.whole[:], k.compute[:]...) {
			if name != "" {
				at.factors = append(at.factors, number(name))
			}
		}
		f.at, f.ideals = append(f.at, at), append(f.ideals, i)
	}
	return f
}

// solve fits the rows that are kept (nil: all), starting from a known solution
// (nil: from the priors): damped Gauss-Newton with weights that tame outliers.
func (f fit) solve(kept []bool, from efficiency) efficiency {
	theta := make([]float64, len(f.names))
	for i, name := range f.names {
		theta[i] = math.Log(from.valueOf(name))
	}
	rounds := 40
	if from != nil {
		rounds = 5
	}
	for range rounds {
		a, b := f.normal(theta, kept)
		step := solveLinear(a, b)
		for i := range theta {
			theta[i] += max(-0.5, min(0.5, step[i]))
		}
	}
	solved := efficiency{}
	for i, name := range f.names {
		solved[name] = math.Exp(theta[i])
	}
	return solved
}

// normal builds the normal equations at theta.
func (f fit) normal(theta []float64, kept []bool) ([][]float64, []float64) {
	n := len(theta)
	a, b := make([][]float64, n), make([]float64, n)
	for i, name := range f.names {
		a[i] = make([]float64, n)
		p := priorOf(name)
		a[i][i] = 1 / (p.sd * p.sd)
		b[i] = (p.mean - theta[i]) / (p.sd * p.sd)
	}
	for r, p := range f.rows {
		if kept != nil && !kept[r] {
			continue
		}
		predicted, slopes := f.row(r, theta)
		off := (math.Log(p.own) - predicted) / noise
		w := p.clue.weight * p.clue.weight / (noise * noise) / math.Sqrt(1+p.clue.weight*p.clue.weight*off*off/2)
		for _, i := range slopes {
			b[i.place] += w * i.slope * off * noise
			for _, j := range slopes {
				a[i.place][j.place] += w * i.slope * j.slope
			}
		}
	}
	return a, b
}

type slope struct {
	place int
	slope float64
}

// row is the logarithm of a row's predicted step, and its slopes in theta.
func (f fit) row(r int, theta []float64) (float64, []slope) {
	at, p, i := f.at[r], f.rows[r], f.ideals[r]
	whole, chip := at.factors[:len(keys{}.whole)], at.factors[len(keys{}.whole):]
	factor, slower := 1.0, 1.0
	for _, n := range whole {
		factor *= math.Exp(theta[n])
	}
	for _, n := range chip {
		slower *= math.Exp(theta[n])
	}
	watts := logPeakPerWatt(p.load.GPU)
	slower *= math.Exp(watts * theta[at.power])
	compute := factor * slower * p.Batch * i.compute / math.Exp(theta[at.peak])
	scores := factor * p.Batch * i.scores * math.Exp(theta[at.scores]) / math.Exp(theta[at.bandwidth])
	move := factor*p.Batch*i.move/math.Exp(theta[at.bandwidth]) + scores
	samples := math.Hypot(compute, move)
	start := math.Exp(theta[at.start]) * i.layers
	t := Terms{
		Floor: math.Exp(theta[at.launch]) * i.layers, Fixed: start + factor*i.weights,
		PerSample: samples / p.Batch,
	}
	bound := t.deviceBound(p.Batch)
	device := t.Fixed + samples
	computing, moving := bound*compute*compute/samples/device, bound*move/samples/device
	slopes := []slope{
		{at.source, 1},
		{at.maker, 1},
		{at.peak, -computing},
		{at.bandwidth, -moving * move},
		{at.scores, moving * scores},
		{at.start, bound * start / device},
		{at.launch, 1 - bound},
		{at.power, computing * watts},
	}
	for _, n := range whole {
		slopes = append(slopes, slope{n, bound * (device - start) / device})
	}
	for _, n := range chip {
		slopes = append(slopes, slope{n, computing})
	}
	return math.Log(t.At(p.Batch)) + theta[at.source] + theta[at.maker], slopes
}

// solveLinear solves a x = b for a symmetric positive a, by Cholesky.
func solveLinear(a [][]float64, b []float64) []float64 {
	n := len(b)
	for i := range n {
		for j := 0; j <= i; j++ {
			sum := a[i][j]
			for k := range j {
				sum -= a[i][k] * a[j][k]
			}
			if i == j {
				a[i][i] = math.Sqrt(sum)
			} else {
				a[i][j] = sum / a[j][j]
			}
		}
	}
	x := slices.Clone(b)
	for i := range n {
		for k := range i {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= a[k][i] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}
