package predict

import (
	"fmt"
	"math"
	"strings"

	"stoker/hardware"
)

// proof is a measured step, ready to be compared.
type proof struct {
	Measurement
	load   Load
	weight float64 // 1 over the root of the number of rows in its group: a table's rows share their errors
	error  float64 // logarithm of measured over predicted step time
	device float64 // how much of the step was the device's, by the prediction
}

// proofs are measured steps with the errors of a set of efficiencies at them.
type proofs []*proof

// evidence is what is known of the efficiencies' errors.
var evidence = prove(efficient, Measurements)

// prove predicts every measured step.
func prove(e efficiency, rows []Measurement) proofs { return resolve(rows).against(e) }

// resolve finds the rows' workloads and GPUs. Rows of an unknown one are left out.
func resolve(rows []Measurement) proofs {
	count := map[sheet]float64{}
	for _, m := range rows {
		count[m.sheet()]++
	}
	var all proofs
	for _, m := range rows {
		load, err := m.Load()
		if err == nil && load.check() == nil && load.Software != AnySoftware {
			all = append(all, &proof{Measurement: m, load: load, weight: 1 / math.Sqrt(count[m.sheet()])})
		}
	}
	return all
}

// against returns the rows with the errors of a set of efficiencies at them.
func (all proofs) against(e efficiency) proofs {
	tried := make(proofs, len(all))
	for i, p := range all {
		t, again := e.terms(p.ideal()), *p
		again.error, again.device = math.Log(p.Step()/t.at(p.Batch)), t.deviceBound(p.Batch)
		tried[i] = &again
	}
	return tried
}

func (p *proof) ideal() ideal {
	passes := p.load.passes()
	if p.Recompute {
		passes++ // the forward pass is repeated
	}
	return p.load.ideal(passes)
}

// engines are words of sources whose compiled rows ran in an inference engine.
var engines = []string{"TensorRT", "FasterTransformer", "AITemplate", "llama.cpp"}

// class is the software class of a row. Tables were split into fitted and kept
// rows before engines were a class of their own, and the split goes by what the
// rows say: so they still say compiled, and are told apart by their source.
func (m Measurement) class() Software {
	if m.Software == Compiled && !m.Training {
		for _, name := range engines {
			if strings.Contains(m.Source, name) {
				return Engine
			}
		}
	}
	return m.Software
}

// sheet names rows that share a table and so their errors.
type sheet struct {
	workload, gpu, source string
	precision             hardware.Precision
	software              Software
	training              bool
}

func (m Measurement) sheet() sheet {
	commas := 0
	source := m.Source
	for i := range source {
		if source[i] == ',' {
			if commas++; commas == 2 {
				source = source[:i] // repository and file
				break
			}
		}
	}
	return sheet{m.Workload, m.GPU, source, m.Precision, m.Software, m.Training}
}

// finding is what the measurements say about one load.
type finding struct {
	launch, device float64 // logarithms of the factors by which they correct the efficiencies
	level          level
	used           proofs // all of the same workload, training or inference
}

// How much a measured step counts that is not of the same kind, and how much
// standing still counts. Chosen on a coarse grid by the errors at groups of rows
// that were left out (efficiency_test.go); the minimum is flat.
const (
	sameArchitecture = 0.5  // another GPU of the same architecture
	otherChip        = 0.1  // of another one
	otherPrecision   = 0.1  //
	otherSoftware    = 0.05 //
	perLength        = 0.6  // exponent of the ratio of sequence lengths
	perImage         = 0.3  // exponent of the ratio of image sides
	besideExact      = 0.1  // any other, where one was the same
	stillNear        = 0.3  // weight of no correction, where no step was the same
	stillExact       = 0.02 // where one was
)

// about collects what is known of a load.
func (all proofs) about(l *Load) finding {
	found := finding{level: distant, used: make(proofs, 0, 32)}
	for _, p := range all {
		if p.Workload == l.Workload.Name && p.Training == l.Training {
			_, at := p.like(l)
			found.level = min(found.level, at)
			found.used = append(found.used, p)
		}
	}
	still := stillNear
	if found.level == exact {
		still = stillExact
	}
	deviceSum, launchSum := still, still
	for _, p := range found.used {
		w, at := p.like(l)
		if w *= p.weight; found.level == exact && at != exact {
			w *= besideExact
		}
		found.device, deviceSum = found.device+w*p.device*p.error, deviceSum+w*p.device
		found.launch, launchSum = found.launch+w*(1-p.device)*p.error, launchSum+w*(1-p.device)
	}
	found.device /= deviceSum
	found.launch /= launchSum
	return found
}

// like is how much a measured step of the same workload says about a load, and
// how close it is.
func (p *proof) like(l *Load) (float64, level) {
	w, at := 1.0, exact
	if p.GPU != l.GPU.Name {
		at = alike
		w *= otherChip
		if architecture(p.load.GPU) == architecture(l.GPU) {
			w *= sameArchitecture / otherChip
		}
	}
	if p.Precision != l.Precision {
		at = alike
		w *= otherPrecision
	}
	if p.load.Software != l.Software {
		at = distant
		w *= otherSoftware
	}
	return w * ratio(p.load.Workload.Tokens, l.Workload.Tokens, perLength) * ratio(p.load.Workload.Side, l.Workload.Side, perImage), at
}

// ratio is the smaller over the larger, to a power.
func ratio(a, b, power float64) float64 {
	if a == b || !(a > 0) || !(b > 0) {
		return 1
	}
	return math.Pow(min(a/b, b/a), power)
}

// source says for people what a curve rests on.
func (f finding) source(l *Load) string {
	var first *proof
	count, most := 0, 0.0
	for _, p := range f.used {
		w, at := p.like(l)
		if w > most {
			first, most = p, w
		}
		if at == f.level {
			count++
		}
	}
	if first == nil {
		return "FLOP and bytes at the efficiencies of other networks: no published step of this one is known here"
	}
	where := fmt.Sprintf("%s, %s, %s, batch %g: %s", first.load.GPU.Title, first.Precision, first.load.Software, first.Batch, first.Source)
	if f.level == exact {
		return fmt.Sprintf("measured: %s, such as %s", publishedSteps(count), where)
	}
	return fmt.Sprintf("FLOP and bytes at fitted efficiencies, corrected by %s of the network, the closest on %s", publishedSteps(len(f.used)), where)
}

func publishedSteps(n int) string {
	if n == 1 {
		return "1 published step"
	}
	return fmt.Sprintf("%d published steps", n)
}
