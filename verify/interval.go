package verify

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
)

// How far a mean of steps can be trusted.
//
// Steps depend on each other: workers hand over in bursts, a queue remembers, a
// neighbour stays for a while. The variance of their mean is then not that of one
// step over n, but the strength of what is slow: the spectrum at frequency zero, over
// n. Three things make intervals of it too narrow in short runs. The memory is
// estimated too low, its error is forgotten, and single steps are drawn as though
// there were many. A moving block bootstrap does all three: what it called 95 % held
// the truth in 40 to 96 of 100 pairs (verify/RESULTS.md).
//
// So (after Müller, "HAC corrections for strongly autocorrelated time series",
// Journal of Business & Economic Statistics 32, 2014, whose model and transforms
// these are; the weighing is Bayes'):
//
//  1. The times become cosine transforms of the lowest frequencies
//     x_j = √(2/n) Σ t_i cos(πj(i−½)/n). They hold all that is known of how slow
//     changes scatter and nothing of the mean. Whatever single steps are
//     distributed like, these are nearly normal and nearly independent.
//  2. Near zero the spectrum is taken for that of an autoregression of memory ρ: x_j
//     has the variance σ²s_j, s_j = 1/|1−ρe^(iπj/n)|², and the mean has σ²v, exactly
//     v = (n(1−ρ²) − 2ρ(1−ρⁿ)) / (n²(1−ρ)²(1−ρ²)).
//  3. For a given ρ the error of the mean is then √(v Σ(x_j²/s_j)/q) times a t of q
//     degrees of freedom. Nobody knows ρ, and no estimate of it is put in its place:
//     every ρ counts by its likelihood Π s_j^(−½) (Σ x_j²/s_j)^(−q/2) (Whittle's,
//     with σ integrated out), and the interval holds 95 % of the mixture.
//
// Nothing is drawn by chance. TestCoverage holds the promise, verify/RESULTS.md has the
// tables, and where it does not hold.

// What is not marked [J] was chosen in the simulation of verify/RESULTS.md.
const (
	leastSteps = 20 // [J] fewer say nothing of how slow their changes are

	// Frequencies that are used: half of what there is, within bounds. Higher ones say
	// how single steps jitter and alternate, which is not the mean's doubt, and
	// would bend the fit; fewer make t too wide.
	leastFrequencies, mostFrequencies = 24, 40

	memoriesTried = 50

	// A memory r, over the finest time that the frequencies see, counts by (1−r)^p
	// before anything is seen. For one mean all memories count alike. Of a ratio two
	// errors add up, which seldom are both at their worst: long memories count less,
	// else its interval would hold the truth in 99 of 100 (at 0.7 up to 97.7, at 1
	// down to 91.9).
	powerAlone, powerPaired = 0, 0.8

	// A run that counts as fewer independent steps than this shows too little of its
	// slowest changes to bound them: its interval is doubled.
	fewIndependent = 2.5

	// Runs that lie nearer to each other than this share of their own half-width lie so by
	// chance. At 0 the interval held the truth in 94.4 to 96.2 % of pairs, but was far too
	// narrow in the others; at 0.5 in 94.9 to 96.7, at 1 in up to 99.5 (verify/RESULTS.md).
	leastWithin = 0.5

	confidence = 0.95
	normal95   = 1.96 // that of a normal distribution, in standard deviations
	rounding   = 1e-9 // relative deviation that is arithmetic, not steps
)

// sample is one side's times with what is known of their mean.
type sample struct {
	steps, mean, median float64

	spread float64 // coefficient of variation of single steps
	rare   float64 // how many steps make up the variance: the fewer, the longer they are

	// Half-widths of the 95 % interval of the mean's logarithm: of one run by itself,
	// and as a part of a ratio.
	alone, paired float64

	independent float64 // how many independent steps would give the same interval

	runs    float64 // of which steps, mean and half-widths are, together
	scatter float64 // sum of squares by which the logarithms of their means differ from the side's
}

// takeSample says what steps tell of their mean; there are leastSteps at least.
func takeSample(times []float64) sample {
	n := float64(len(times))
	s := sample{
		steps: n, mean: stat.Mean(times), median: stat.Median(times), spread: stat.CV(times), rare: n,
		independent: n, runs: 1,
	}
	if s.spread <= rounding {
		return s // constant up to rounding
	}
	s.rare = n / kurtosis(times, s.mean)
	weighed := transform(times, s.mean).weigh()
	s.alone, s.independent = s.widen(weighed.half(powerAlone))
	s.paired, _ = s.widen(weighed.half(powerPaired))
	return s
}

// widen widens a half-width where it rests on too little, and says how many
// independent steps would give it.
func (s sample) widen(half float64) (wide, independent float64) {
	root := normal95 * s.spread / half
	independent = min(s.steps, root*root)
	if independent < fewIndependent {
		return 2 * half, independent
	}
	return half, independent
}

// meanInterval is the mean with its 95 % interval.
func (s sample) meanInterval() stoker.Interval {
	return proportionalInterval(s.mean, apart(s.alone, s.runs-1, s.scatter, 1/s.runs))
}

// together is what several runs of the same job tell: each is one fact about the mean.
func together(runs []sample) sample {
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

// apart is the half-width that runs of the same job give, of which each has a pace of
// its own: by how far they lie from each other (Student's t), which holds what moves
// within a run as well. Few runs lie near each other by chance, though: then it is what the
// runs say of themselves, or most of it.
func apart(within, degrees, scatter, weight float64) float64 {
	if degrees < 1 {
		return within
	}
	return max(leastWithin*within, student95(int(degrees))*math.Sqrt(scatter/degrees*weight))
}

// over is the ratio of two means with its 95 % interval: squares of half-widths add
// up, also where the two sides' have other shapes (Zou and Donner, "Construction of
// confidence limits about effect measures", Statistics in Medicine 27, 2008). The
// nearer the two are, the more they count as parts of a ratio.
func (s sample) over(other sample) stoker.Interval {
	single, half := math.Hypot(s.alone, other.alone), math.Hypot(s.paired, other.paired)
	if single > 0 {
		balance := 2 * s.alone * other.alone / (single * single) // 1 where they are the same
		half = math.Pow(half, balance) * math.Pow(single, 1-balance)
	}
	return proportionalInterval(s.mean/other.mean, apart(half, s.runs+other.runs-2, s.scatter+other.scatter,
		1/s.runs+1/other.runs))
}

// proportionalInterval is an interval that reaches as far up as down in proportion.
func proportionalInterval(point, half float64) stoker.Interval {
	return stoker.Interval{Low: point * math.Exp(-half), Point: point, High: point * math.Exp(half)}
}

// transforms are what of a run's times is slow.
type transforms struct {
	n       float64   // steps
	squares []float64 // of the cosine transforms over the mean, lowest frequency first
	bends   []float64 // 4 sin² of half of each one's angle per step
}

// transform takes the transforms of the lowest frequencies. Their number is even,
// which makes t's distribution a finite sum.
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

// memories are how far the mean's error reaches and how likely the transforms are, for
// memories from −1 to 1.
type memories struct {
	r, scale, likelihood []float64 // the likelihood as a logarithm
	degrees              int       // of freedom
}

// weigh tries memories in steps; nil where nothing of the times is slow.
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

// half is the half-width of the interval of the mean, as a share of it. Long memories
// count by the power given.
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
	lower, upper := 0.0, 3*widest // t of 18 degrees or more is within 3 in more than 95 %
	for range 30 {
		half, within := (lower+upper)/2, 0.0
		for i, weight := range weights {
			if weight > 1e-9 {
				within += weight * student(half/m.scale[i], m.degrees)
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

// remembering is the scale of the mean's error, where steps have the memory r over
// the finest time that the transforms see, and the logarithm of its likelihood.
func (low transforms) remembering(r float64) (scale, likelihood float64) {
	q := float64(len(low.squares))
	memory := math.Copysign(math.Pow(math.Abs(r), (q+1)/low.n), r) // from one step to the next
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

// student is the share of Student's t distribution within ±t, for an even number of
// degrees of freedom (Abramowitz and Stegun, Handbook of Mathematical Functions,
// 26.7.4).
func student(t float64, degrees int) float64 {
	nu := float64(degrees)
	within := nu / (nu + t*t)
	sum, term := 1.0, 1.0
	for k := 1; k < degrees/2; k++ {
		term *= within * (1 - 0.5/float64(k))
		sum += term
	}
	return t / math.Sqrt(nu+t*t) * sum
}

// kurtosis is the fourth moment over the square of the second: 3 for normal steps; n/k
// where k steps of n are far longer than the others.
func kurtosis(x []float64, mean float64) float64 {
	second, fourth := 0.0, 0.0
	for _, v := range x {
		d := (v - mean) * (v - mean)
		second += d
		fourth += d * d
	}
	return fourth / (second * second) * float64(len(x))
}
