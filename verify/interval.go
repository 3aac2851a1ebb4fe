package verify

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
)

// How precise is the mean of a run's steps?
//
// Steps are correlated: workers deliver in bursts, a queue has memory, other programs stay for
// a while. The variance of the mean is then not the variance of one step over n, but the
// spectral density at frequency zero over n. Three errors make intervals too narrow in short
// runs: the correlation is underestimated, the error of that estimate is neglected, and few
// steps are resampled as if there were many. A moving block bootstrap makes all three: its 95 %
// intervals covered the truth in 40 to 96 of 100 pairs (verify/RESULTS.md).
//
// The method used here follows Müller, "HAC corrections for strongly autocorrelated time
// series", Journal of Business & Economic Statistics 32, 2014, for the model and the
// transforms; the weighting is Bayesian:
//
//  1. The times become cosine transforms of the lowest frequencies
//     x_j = √(2/n) Σ t_i cos(πj(i−½)/n). They contain all information about the
//     scatter of slow changes, and none about the mean. For any distribution of single
//     steps they are nearly normal and nearly independent.
//  2. Near zero the spectrum is taken for that of an autoregression of memory ρ: x_j
//     has the variance σ²s_j, s_j = 1/|1−ρe^(iπj/n)|², and the mean has σ²v, exactly
//     v = (n(1−ρ²) − 2ρ(1−ρⁿ)) / (n²(1−ρ)²(1−ρ²)).
//  3. For a given ρ the error of the mean is then √(v Σ(x_j²/s_j)/q) times a t of q
//     degrees of freedom. ρ is unknown and is not estimated:
//     every ρ counts by its likelihood Π s_j^(−½) (Σ x_j²/s_j)^(−q/2) (Whittle's,
//     with σ integrated out), and the interval holds 95 % of the mixture.
//
// No random numbers are used. TestCoverage checks the coverage; verify/RESULTS.md has the
// tables and the cases in which it is not reached.

// Values not marked [J] were chosen by the simulation of verify/RESULTS.md.
const (
	leastSteps = 20 // [J] fewer steps say nothing about how slow their changes are

	// The number of frequencies used: half of those available, within bounds. Higher frequencies
	// describe jitter and alternation of single steps, which do not affect the error of the mean
	// and would distort the fit; fewer make the t distribution too wide.
	leastFrequencies, mostFrequencies = 24, 40

	memoriesTried = 50

	// The prior weight of a memory r, measured over the finest time that the frequencies
	// resolve, is (1−r)^p. For one mean all memories weigh the same. In a ratio two errors add
	// up, and both are seldom at their worst: there long memories weigh less, because its
	// interval would otherwise cover the truth in 99 of 100 cases (at 0.7 up to 97.7, at 1 down
	// to 91.9).
	powerAlone, powerPaired = 0, 0.8

	// A run that counts as fewer independent steps than this shows too little of its slowest
	// changes to bound them: its interval is doubled.
	fewIndependent = 2.5

	// The least ratio of the half-width between runs to that within runs: runs that agree better
	// do so by chance. At 0 the interval covered the truth in 94.4 to 96.2 % of pairs, but was
	// far too narrow in the others; at 0.5 in 94.9 to 96.7, at 1 in up to 99.5
	// (verify/RESULTS.md).
	leastWithin = 0.5

	confidence = 0.95
	normal95   = 1.96 // 97.5 % quantile of the normal distribution
	rounding   = 1e-9 // relative deviation attributed to floating-point rounding
)

// sample summarises the times of one side and the precision of their mean.
type sample struct {
	steps, mean, median float64

	spread float64 // coefficient of variation of single steps
	rare   float64 // number of steps that make up the variance: the longer they are, the fewer

	// Half-widths of the 95 % interval of the mean's logarithm: alone for one mean, paired as
	// part of a ratio.
	alone, paired float64

	independent float64 // number of independent steps that would give the same interval

	runs    float64 // number of runs that the other fields summarise
	scatter float64 // sum of squared deviations of the runs' log means from the side's
}

// takeSample summarises the times of a run, of which there must be at least leastSteps.
func takeSample(times []float64) sample {
	n := float64(len(times))
	s := sample{
		steps: n, mean: stat.Mean(times), median: stat.Median(times), spread: stat.CV(times), rare: n,
		independent: n, runs: 1,
	}
	if s.spread <= rounding {
		return s // constant but for rounding
	}
	s.rare = n / kurtosis(times, s.mean)
	weighed := transform(times, s.mean).weigh()
	s.alone, s.independent = s.widen(weighed.half(powerAlone))
	s.paired, _ = s.widen(weighed.half(powerPaired))
	return s
}

// widen doubles a half-width that rests on too few independent steps, and returns the number of
// these.
func (s sample) widen(half float64) (wide, independent float64) {
	root := normal95 * s.spread / half
	independent = min(s.steps, root*root)
	if independent < fewIndependent {
		return 2 * half, independent
	}
	return half, independent
}

// meanInterval returns the mean with its 95 % interval.
func (s sample) meanInterval() stoker.Interval {
	return proportionalInterval(s.mean, apart(s.alone, s.runs-1, s.scatter, 1/s.runs))
}

// poolRuns combines several runs of the same job: each counts as one observation of the mean.
func poolRuns(runs []sample) sample {
	if len(runs) == 1 {
		return runs[0]
	}
	s := sample{runs: float64(len(runs))}
	logs, medians := make([]float64, len(runs)), make([]float64, len(runs))
	for i, r := range runs {
		s.steps, s.independent = s.steps+r.steps, s.independent+r.independent
		s.alone, s.paired = math.Hypot(s.alone, r.alone/s.runs), math.Hypot(s.paired, r.paired/s.runs)
		s.spread, s.rare = max(s.spread, r.spread), s.rare+r.rare
		logs[i], medians[i] = math.Log(r.mean), r.median
	}
	mean := stat.Mean(logs)
	for _, log := range logs {
		s.scatter += (log - mean) * (log - mean)
	}
	s.mean, s.median = math.Exp(mean), stat.Median(medians)
	return s
}

// apart returns the half-width for a mean over several runs of the same job, each with its own
// pace. It comes from the scatter between runs (Student's t), which includes the variation
// within each. Because few runs may agree by chance, it is at least leastWithin times the
// half-width within runs.
func apart(within, degrees, scatter, weight float64) float64 {
	if degrees < 1 {
		return within
	}
	return max(leastWithin*within, student95(int(degrees))*math.Sqrt(scatter/degrees*weight))
}

// over returns the ratio of two means with its 95 % interval. Squared half-widths add up, even
// if the distributions of the two sides have different shapes (Zou and Donner, "Construction of
// confidence limits about effect measures", Statistics in Medicine 27, 2008). The more equal
// the two half-widths are, the more weight the paired ones have.
func (s sample) over(other sample) stoker.Interval {
	single, half := math.Hypot(s.alone, other.alone), math.Hypot(s.paired, other.paired)
	if single > 0 {
		balance := 2 * s.alone * other.alone / (single * single) // 1 if both are equal
		half = math.Pow(half, balance) * math.Pow(single, 1-balance)
	}
	return proportionalInterval(s.mean/other.mean, apart(half, s.runs+other.runs-2, s.scatter+other.scatter,
		1/s.runs+1/other.runs))
}

// proportionalInterval returns the interval from point/e^half to point·e^half.
func proportionalInterval(point, half float64) stoker.Interval {
	return stoker.Interval{Low: point * math.Exp(-half), Point: point, High: point * math.Exp(half)}
}

// transforms holds the slow variation of a run's times.
type transforms struct {
	n       float64   // number of steps
	squares []float64 // squared cosine transforms, relative to the mean, lowest frequency first
	bends   []float64 // 4 sin² of half the angle per step of each frequency
}

// transform computes the cosine transforms of the lowest frequencies. Their number is even,
// which makes the t distribution a finite sum.
func transform(times []float64, mean float64) transforms {
	n := len(times)
	q := min(n-1, max(leastFrequencies, min(mostFrequencies, n/2))) &^ 1
	low := transforms{n: float64(n), squares: make([]float64, q), bends: make([]float64, q)}
	for j := range low.squares {
		angle := math.Pi * float64(j+1) / low.n
		sin, cos := math.Sincos(angle / 2)
		turnSin, turnCos := math.Sincos(angle)
		sum := 0.0
		for _, t := range times {
			sum += (t/mean - 1) * cos
			cos, sin = cos*turnCos-sin*turnSin, sin*turnCos+cos*turnSin
		}
		low.squares[j], low.bends[j] = sum*sum*2/low.n, 2*(1-turnCos)
	}
	return low
}

// memories holds, for memories from −1 to 1, the scale of the mean's error and the likelihood
// of the transforms.
type memories struct {
	r, scale, likelihood []float64 // the likelihood is a logarithm
	degrees              int       // of freedom
}

// weigh computes memories at evenly spaced values; nil if the times do not vary slowly.
func (low transforms) weigh() *memories {
	power := 0.0
	for _, square := range low.squares {
		power += square
	}
	if power <= low.n*rounding*rounding {
		return nil
	}
	m := &memories{degrees: len(low.squares)}
	for i := range memoriesTried {
		r := float64(2*i+1)/memoriesTried - 1
		scale, likelihood := low.remembering(r)
		m.r, m.scale, m.likelihood = append(m.r, r), append(m.scale, scale), append(m.likelihood, likelihood)
	}
	return m
}

// half returns the half-width of the interval of the mean, relative to it. power is the
// exponent of the prior weight of a memory.
func (m *memories) half(power float64) float64 {
	if m == nil {
		return 0
	}
	weights, best := make([]float64, len(m.r)), math.Inf(-1)
	for i, r := range m.r {
		weights[i] = m.likelihood[i] + power*math.Log1p(-r)
		best = max(best, weights[i])
	}
	total, widest := 0.0, 0.0
	for i := range weights {
		weights[i] = math.Exp(weights[i] - best)
		total += weights[i]
		widest = max(widest, m.scale[i])
	}
	lower, upper := 0.0, 3*widest // for 18 or more degrees more than 95 % of t is within ±3
	for range 30 {
		half, within := (lower+upper)/2, 0.0
		for i, weight := range weights {
			if weight > 1e-9 {
				within += weight * studentWithin(half/m.scale[i], m.degrees)
			}
		}
		if within < confidence*total {
			lower = half
		} else {
			upper = half
		}
	}
	return upper
}

// remembering returns the scale of the mean's error, and the log likelihood, if steps have the
// memory r over the finest time that the transforms resolve.
func (low transforms) remembering(r float64) (scale, likelihood float64) {
	q := float64(len(low.squares))
	memory := math.Copysign(math.Pow(math.Abs(r), (q+1)/low.n), r) // between successive steps
	sum := 0.0
	for j, square := range low.squares {
		inverse := (1-memory)*(1-memory) + memory*low.bends[j] // 1/s_j
		sum += square * inverse
		likelihood += math.Log(inverse) / 2
	}
	one := 1 - memory*memory
	variance := (low.n*one - 2*memory*(1-math.Pow(memory, low.n))) / (low.n * low.n * (1 - memory) * (1 - memory) * one)
	return math.Sqrt(variance * sum / q), likelihood - q/2*math.Log(sum)
}

// studentWithin returns the probability of ±t under Student's t distribution with an even
// number of degrees of freedom (Abramowitz and Stegun, Handbook of Mathematical Functions,
// 26.7.4).
func studentWithin(t float64, degrees int) float64 {
	nu := float64(degrees)
	within := nu / (nu + t*t)
	sum, term := 1.0, 1.0
	for k := 1; k < degrees/2; k++ {
		term *= within * (1 - 0.5/float64(k))
		sum += term
	}
	return t / math.Sqrt(nu+t*t) * sum
}

// kurtosis returns the fourth moment over the square of the second: 3 for normal steps, n/k if
// k of n steps are far longer than the others.
func kurtosis(x []float64, mean float64) float64 {
	second, fourth := 0.0, 0.0
	for _, v := range x {
		d := (v - mean) * (v - mean)
		second += d
		fourth += d * d
	}
	return fourth / (second * second) * float64(len(x))
}

// student95 returns the two-sided 95 % quantile of Student's t distribution for few degrees of
// freedom.
func student95(degrees int) float64 {
	table := [...]float64{
		1: 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
		2.145, 2.131, 2.120, 2.110, 2.101,
	}
	return table[min(degrees, len(table)-1)]
}
