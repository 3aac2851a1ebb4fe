package device

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/hardware"
)

// clue is what a published step says about the errors of the efficiencies: a row of
// published.csv, prepared when the efficiencies are fitted.
type clue struct {
	network   string // key of the workload
	training  bool
	gpu       string // key of the hardware row
	precision hardware.Precision
	software  Software
	tokens    float64 // of a sample; 0 where samples are not sequences
	side      float64 // of a sample; 0 where samples have none
	batch     float64
	source    string

	weight float64 // 1 over the root of the number of rows in its table, which share their errors
	error  float64 // logarithm of measured over predicted step time
	device float64 // how much of the step was the device's, by the prediction
}

// clues are all that is known.
type clues []clue

// finding is what the measurements say about one load.
type finding struct {
	launch, device float64 // logarithms of the factors by which they correct the efficiencies
	level          level
	used           []stepClue // of the same workload, training or inference

	hostDecides bool // what a small batch takes: its low end is that of a quick CPU
}

// stepClue is a clue in the light of a load.
type stepClue struct {
	*clue
	like  float64 // how much it says about the load
	level level   // how close it is
}

// How much a measured step counts that is not of the same kind, and how much
// standing still counts. Chosen on a coarse grid by the errors at groups of rows
// that were left out (efficiency_test.go); the minimum is flat.
const (
	sameArchitecture = 0.5  // another chip of the same architecture
	otherChip        = 0.1  // of another one
	otherPrecision   = 0.1  //
	otherSoftware    = 0.05 //
	perLength        = 0.6  // exponent of the ratio of sequence lengths
	perImage         = 0.3  // exponent of the ratio of image sides
	besideExact      = 0.3  // any other, where one was the same
	stillNear        = 0.3  // weight of no correction, where no step was the same
	stillExact       = 0.1  // where one was
)

// kinship returns how close a load's chip is to that of a row of the table; 1 is the same chip.
func kinship(l *Load, name string) float64 {
	other, known := hardware.FindGPU(name)
	switch {
	case known && sameChip(l.GPU, other, l.Precision):
		return 1
	case known && architecture(l.GPU) == architecture(other):
		return sameArchitecture
	}
	return otherChip
}

// findFor collects all that is known of a load.
func (all clues) findFor(l *Load) finding {
	found := finding{level: stranger, used: make([]stepClue, 0, 256)}
	kin := map[string]float64{}
	for i := range all {
		c := &all[i]
		if c.network == l.Workload.Name && c.training == l.Training {
			if _, seen := kin[c.gpu]; !seen {
				kin[c.gpu] = kinship(l, c.gpu)
			}
			h := c.likenTo(l, kin[c.gpu])
			found.level = min(found.level, h.level)
			found.used = append(found.used, h)
		}
	}
	found.device = found.centre(func(h *stepClue) float64 { return h.device })
	found.launch = found.centre(func(h *stepClue) float64 { return 1 - h.device })
	return found
}

// noise is the error of one table of one source, as a logarithm. An assumption;
// little changes between 0.12 and 0.2.
const noise = 0.15

// centre returns the mean of the errors, each weighted with its likeness and its share in the
// corrections. An error that is further from the mean than noise is attributed to its source,
// and weighs no more than one at that distance (Huber's estimate of location), so a single odd
// table does not decide.
func (f finding) centre(share func(*stepClue) float64) float64 {
	still, beside := stillNear, 1.0
	if f.level == exact {
		still, beside = stillExact, besideExact
	}
	centre := 0.0
	for round := range 8 {
		sum, total := 0.0, still
		for i := range f.used {
			h := &f.used[i]
			w := h.like * h.weight * share(h)
			if h.level != exact {
				w *= beside
			}
			if away := math.Abs(h.error - centre); round > 0 && away > noise {
				w *= noise / away
			}
			sum, total = sum+w*h.error, total+w
		}
		centre = sum / total
	}
	return centre
}

// likenTo returns the clue in the light of a load on a chip of that kinship.
func (c *clue) likenTo(l *Load, kin float64) stepClue {
	w, at := kin, exact
	if kin < 1 {
		at = alike
	}
	if c.precision != unitsOf(l.Precision) {
		at = alike
		w *= otherPrecision
	}
	if c.software != l.Software {
		at = distant
		w *= otherSoftware
	}
	return stepClue{c, w * ratio(c.tokens, l.Workload.Tokens, perLength) * ratio(c.side, l.Workload.Side, perImage), at}
}

// ratio returns the smaller over the larger, to a power.
func ratio(a, b, power float64) float64 {
	if a == b || !(a > 0) || !(b > 0) {
		return 1
	}
	return math.Pow(min(a/b, b/a), power)
}

// describe says what a curve is based on.
func (f finding) describe() string {
	text := f.describePublished()
	if f.hostDecides {
		text += ". The CPU that launches is unknown: at small batches the low end is a quick one's"
	}
	return text
}

// describePublished names the published steps behind a curve.
func (f finding) describePublished() string {
	var first *clue
	count, most := 0, 0.0
	for _, h := range f.used {
		if h.like > most {
			first, most = h.clue, h.like
		}
		if h.level == f.level {
			count++
		}
	}
	if first == nil {
		return "FLOP and bytes at the efficiencies of other networks: no published step of this one is known here"
	}
	where := fmt.Sprintf("%s, %s, %s, batch %g: %s", gpuTitle(first.gpu), first.precision, first.software,
		first.batch, first.source)
	if f.level == exact {
		return fmt.Sprintf("measured: %s, such as %s", publishedSteps(count), where)
	}
	return fmt.Sprintf("FLOP and bytes at fitted efficiencies, corrected by %s of the network, the closest on %s",
		publishedSteps(len(f.used)), where)
}

func publishedSteps(n int) string {
	if n == 1 {
		return "1 published step"
	}
	return fmt.Sprintf("%d published steps", n)
}
