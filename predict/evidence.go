package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/hardware"
)

// clue is what a published step says of the efficiencies' errors. Clues are
// prepared when the efficiencies are fitted (fitted.go), so that no start of a
// program has to.
type clue struct {
	network   string // key of the workload
	training  bool
	gpu       string // key of the hardware row
	precision hardware.Precision
	software  Software
	tokens    float64 // of a sample; 0 where samples are not sequences
	side      float64 // of a sample; 0 where samples have none
	batch     float64
	source    int // in sources

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
	used           []hint // of the same workload, training or inference
}

// hint is a clue in the light of a load.
type hint struct {
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
	besideExact      = 0.1  // any other, where one was the same
	stillNear        = 0.3  // weight of no correction, where no step was the same
	stillExact       = 0.02 // where one was
)

// kinship is how close a load's chip is to that of a row of the table: 1 is the
// same one.
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

// alikeFigures is how far figures of one chip lie apart in different sheets.
const alikeFigures = 1.03

// sameChip reports whether two rows are one chip in one variant, whatever their
// names: the same architecture, peak in the precision, memory bandwidth and power
// limit. An A100 with 40 GB and one with 80 GB differ in bandwidth, the PCIe and
// the SXM board in power; a V100 with 16 GB and one with 32 GB in nothing that
// makes a step faster.
func sameChip(a, b hardware.GPU, p hardware.Precision) bool {
	if architecture(a) != architecture(b) {
		return false
	}
	for _, pair := range [][2]hardware.Figure{
		{a.Peak(p), b.Peak(p)}, {a.MemoryRate, b.MemoryRate}, {a.PowerLimit, b.PowerLimit},
	} {
		x, y := pair[0].Value, pair[1].Value
		if x > 0 && y > 0 && math.Max(x/y, y/x) > alikeFigures {
			return false
		}
	}
	return true
}

// about collects what is known of a load.
func (all clues) about(l *Load) finding {
	found := finding{level: stranger, used: make([]hint, 0, 256)}
	kin := map[string]float64{}
	for i := range all {
		c := &all[i]
		if c.network == l.Workload.Name && c.training == l.Training {
			if _, seen := kin[c.gpu]; !seen {
				kin[c.gpu] = kinship(l, c.gpu)
			}
			h := c.like(l, kin[c.gpu])
			found.level = min(found.level, h.level)
			found.used = append(found.used, h)
		}
	}
	found.device = found.centre(func(h *hint) float64 { return h.device })
	found.launch = found.centre(func(h *hint) float64 { return 1 - h.device })
	return found
}

// noise is the error of one table of one source, as a logarithm. An assumption;
// little changes between 0.12 and 0.2.
const noise = 0.15

// centre is the mean of the errors, each weighted with its likeness and its share
// in what is corrected. Errors further from it than noise are taken for those of
// their sources and pull no harder than one at that distance (Huber's estimate of
// location), so that no odd table decides.
func (f finding) centre(share func(*hint) float64) float64 {
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

// like is the clue in the light of a load on a chip of that kinship.
func (c *clue) like(l *Load, kin float64) hint {
	w, at := kin, exact
	if kin < 1 {
		at = alike
	}
	if c.precision != units(l.Precision) {
		at = alike
		w *= otherPrecision
	}
	if c.software != l.Software {
		at = distant
		w *= otherSoftware
	}
	return hint{c, w * ratio(c.tokens, l.Workload.Tokens, perLength) * ratio(c.side, l.Workload.Side, perImage), at}
}

// ratio is the smaller over the larger, to a power.
func ratio(a, b, power float64) float64 {
	if a == b || !(a > 0) || !(b > 0) {
		return 1
	}
	return math.Pow(min(a/b, b/a), power)
}

// source says for people what a curve rests on.
func (f finding) source() string {
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
	where := fmt.Sprintf("%s, %s, %s, batch %g: %s", gpuTitle(first.gpu), first.precision, first.software, first.batch, sources[first.source])
	if f.level == exact {
		return fmt.Sprintf("measured: %s, such as %s", publishedSteps(count), where)
	}
	return fmt.Sprintf("FLOP and bytes at fitted efficiencies, corrected by %s of the network, the closest on %s", publishedSteps(len(f.used)), where)
}

// gpuTitle is the GPU's name for people, its key where it is not known.
func gpuTitle(name string) string {
	if g, known := hardware.FindGPU(name); known {
		return g.Title
	}
	return name
}

func publishedSteps(n int) string {
	if n == 1 {
		return "1 published step"
	}
	return fmt.Sprintf("%d published steps", n)
}
