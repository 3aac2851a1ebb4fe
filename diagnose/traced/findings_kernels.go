package traced

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Triggers for kernels, shares of kernel time unless said otherwise.
const (
	chainTrigger  = 0.20
	chainWindow   = 0.02 // [J] of the window: below it fusion is not worth a sentence
	matrixTrigger = 0.20
	gridTrigger   = 0.5 // efficiency, torch-tb-profiler's estimate; below a half NVIDIA calls it ineffective
	gridsKnown    = 0.5 // [J] of kernel time must have a recorded grid
	unevenTrigger = 0.10
	layoutTrigger = 0.05 // [J] of the window: a change of two lines is worth it

	tensorGain = 3.0 // what matrix kernels gain on Tensor Cores at most, even if the peaks' ratio is higher [J]
)

func (t *filler) findElementwiseChains() (diagnose.Finding, bool) {
	k := t.kernels
	point := k.Family[idle.Elementwise] + k.Family[idle.Reduction]
	share := float64(point) / float64(max(1, k.Time))
	if share < chainTrigger || t.d.Share(point) < chainWindow || k.Chains == 0 {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingElementwiseChains)
	t.weigh(&f, k.Chained-int64(k.Fused))
	t.locateWork(&f, k.Chain[0])
	f.To = toSeconds(t.t.Device.End[k.Chain[1]])
	f.Text = fmt.Sprintf("elementwise kernels and reductions take %s of kernel time (elementwise alone %s). "+
		"%d times two and more elementwise kernels follow each other on a stream (up to %d), %s in all. If "+
		"each reads what the one before it wrote, one kernel for m moves 2/(m+1) of the bytes (d = a + b + c: 2/3): about "+
		"%s left",
		quantity.Percent(share), quantity.Percent(float64(k.Family[idle.Elementwise])/float64(max(1, k.Time))),
		k.Chains, k.Longest, quantity.AboutSeconds(toSeconds(k.Chained)), quantity.AboutSeconds(k.Fused/1e9))
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.Compile, nil, "default")}
	f.Advice = "model = torch.compile(model)" + t.nameReadyKernels()
	if !t.grounds.Compiles() || t.grounds.Refuse(stoker.Compile) != "" {
		f.Settings, f.Advice = nil, "write the chain with operators that do several things at once (addcmul, addcdiv, "+
			"in-place forms), or as one kernel of your own"
	}
	return f, true
}

// nameReadyKernels names kernels that others have made for what the chains compute.
func (t *filler) nameReadyKernels() string {
	var advice, norm, act, optimizer string
	parts := 0
	for _, name := range t.t.Names {
		switch {
		case name == "aten::rsqrt":
			parts |= 1
		case name == "aten::pow":
			parts |= 2
		case name == "aten::mean":
			parts |= 4
		case name == "aten::silu" || name == "aten::gelu":
			act = strings.TrimPrefix(name, "aten::")
		case recording.OptimizerSpan(name):
			optimizer = ", and the optimizer with fused=True, if it is Adam, AdamW or SGD"
		}
	}
	if parts == 7 {
		norm = "RMSNorm" // by hand: x * rsqrt(mean(x^2))
	}
	if norm != "" || act != "" {
		what := strings.TrimSuffix(strings.TrimPrefix(norm+" and "+act, " and "), " and ")
		advice = fmt.Sprintf(`. For %s there are ready-made kernels: use_kernels=True in transformers' `+
			`from_pretrained, or get_kernel("kernels-community/activation") and its sisters of Hugging Face's `+
			`kernels package`, what)
	}
	return advice + optimizer
}

// findLayoutChanges finds kernels of cuDNN that turn tensors into the order that its kernels for Tensor Cores take, and
// back: a model in that order from begin to end needs none of them.
func (t *filler) findLayoutChanges() (diagnose.Finding, bool) {
	count, time := 0, int64(0)
	turns := func(total idle.NameTotal) bool { return recording.TurnsLayout(t.t.Names[total.Name]) }
	for _, total := range t.kernels.Totals {
		if turns(total) {
			count, time = count+total.Count, time+total.Usual
		}
	}
	if t.d.Share(time) < layoutTrigger || t.grounds.Framework != "" {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingLayoutChanges)
	t.weigh(&f, time)
	t.locateWork(&f, t.findLongest(turns))
	f.Text = fmt.Sprintf("cuDNN turns tensors from NCHW to NHWC or back, %.0f times%s, %s of kernel time: its kernels "+
		"take the one, and the program holds the other", float64(count)/t.countSteps(), t.sayPerStep(),
		quantity.Percent(float64(time)/float64(max(1, t.kernels.Time))))
	f.Advice = "model = model.to(memory_format=torch.channels_last), " +
		"and inputs = inputs.to(memory_format=torch.channels_last)"
	return f, true
}

func (t *filler) findNoTensorCores() (diagnose.Finding, bool) {
	k := t.kernels
	share := float64(k.Plain) / float64(max(1, k.Time))
	if !(t.major >= diagnose.TensorCores) || share < matrixTrigger || k.Plain < k.Tensor {
		return diagnose.Finding{}, false // before Volta there are none; names that tell nothing are not "no"
	}
	f := diagnose.NewFinding(diagnose.FindingNoTensorCores)
	t.weigh(&f, k.Plain)
	f.Saves *= 1 - 1/tensorGain
	t.locateWork(&f, t.findLongest(func(total idle.NameTotal) bool {
		return (total.Family == idle.Matmul || total.Family == idle.Convolution) && total.Cores == idle.PlainCores
	}))
	f.Text = fmt.Sprintf("matrix kernels that do not use Tensor Cores take %s of kernel time, those that do %s. "+
		"The device (compute capability %.0f.x) has them",
		quantity.Percent(share), quantity.Percent(float64(k.Tensor)/float64(max(1, k.Time))), t.major)
	if t.major >= diagnose.TensorTF32 {
		f.Settings = []stoker.Change{
			diagnose.ProposeChange(stoker.TF32, nil, true),
			diagnose.ProposeChange(stoker.Precision, nil, "bf16"),
		}
		f.Advice = `torch.set_float32_matmul_precision("high") for TF32 (three decimal digits in products), or ` +
			`torch.autocast("cuda", dtype=torch.bfloat16)`
	} else {
		f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.Precision, nil, "fp16")}
		f.Advice = `torch.autocast("cuda", dtype=torch.float16) with torch.amp.GradScaler(): this device has ` +
			`neither TF32 nor bfloat16`
	}
	return f, true
}

// findLongest is the longest work of the name with most time among those that fit.
func (t *filler) findLongest(fits func(idle.NameTotal) bool) int32 {
	best, most := int32(-1), int64(0)
	for _, total := range t.kernels.Totals {
		if fits(total) && total.Time > most {
			best, most = total.Longest, total.Time
		}
	}
	return best
}

func (t *filler) findSmallGrids() (diagnose.Finding, bool) {
	k := t.kernels
	if float64(k.Known) < gridsKnown*float64(k.Time) || !(k.SMs < gridTrigger) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingSmallGrids)
	t.weigh(&f, k.SmallFor)
	f.Saves = math.NaN() // a larger batch takes longer, too: only a trial tells
	t.locateWork(&f, k.Smallest)
	f.Text = fmt.Sprintf("kernels fill %s of the multiprocessors while they run (time-weighted min(blocks/SM, 1)). "+
		"For %s of kernel time there is less than half a block per SM",
		quantity.Percent(k.SMs), quantity.Percent(float64(k.SmallFor)/float64(k.Known)))
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.BatchSize, nil, "larger")}
	f.Advice = "a larger batch_size while memory lasts. For inference, batch requests, or several small models on " +
		"one device (MPS)"
	return f, true
}

// matrixOps are operators with the two operands of their matrix product, by place.
var matrixOps = map[string][2]int{
	"aten::mm": {0, 1}, "aten::bmm": {0, 1}, "aten::addmm": {1, 2}, "aten::baddbmm": {1, 2},
	"aten::_scaled_mm":        {0, 1},
	"aten::cudnn_convolution": {0, 1}, "aten::miopen_convolution": {0, 1}, "aten::convolution_overrideable": {0, 1},
}

// Granules of Tensor Cores: 16 bytes of a 16-bit type are 8 values (NVIDIA's
// matrix multiplication guide: 8 for fp16, best 64 on the A100); tiles of 32 and
// 64 fit large dimensions without a remainder.
const (
	granule  = 8
	tile     = 64
	leastDim = 32   // [J] smaller ones are heads, classes, colours: nothing is gained by padding
	largeDim = 512  // [J] from here on a remainder of a tile is worth a word
	padding  = 0.05 // [J] of the padded dimension: what a remainder of a tile must waste
)

// unevenDimension is a dimension that misses its multiple.
type unevenDimension struct {
	dim, of int
	flop    float64 // of the products with it
	call    int32
}

// findUnalignedShapes weighs products by their FLOP: which kernel ran for which one, names do
// not tell.
func (t *filler) findUnalignedShapes() (diagnose.Finding, bool) {
	matrix := t.kernels.Family[idle.Matmul] + t.kernels.Family[idle.Convolution]
	tensor := t.major >= diagnose.TensorCores && t.kernels.Tensor > t.kernels.Plain
	if !tensor && !t.hip || float64(matrix) < matrixTrigger*float64(t.kernels.Time) {
		return diagnose.Finding{}, false
	}
	most, all := t.findUnevenDims()
	if all == 0 || most.flop < unevenTrigger*all {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingUnalignedShapes)
	h := &t.t.Host
	t.weigh(&f, int64(most.flop/all*float64(matrix)))
	f.Saves = math.NaN() // only a trial tells
	t.locate(&f, h.Thread[most.call], h.Start[most.call], h.End[most.call])
	why := "slower kernels are taken, as 16-bit rows do not begin at multiples of 16 bytes"
	if most.of == tile {
		why = fmt.Sprintf("Tensor Cores work in tiles, and %s of the last dimension is padding",
			quantity.Percent(measureWaste(most.dim)))
	}
	f.Text = fmt.Sprintf("%s of the FLOP of matrix products have a dimension of %d, no multiple of %d (such "+
		"as %s %s): %s", quantity.Percent(most.flop/all), most.dim, most.of, t.t.Names[h.Name[most.call]],
		t.t.Names[h.Shapes[most.call]], why)
	f.Advice = fmt.Sprintf("pad %d to %d (a multiple of 64, 8 is the least): hidden sizes, vocabulary, channels",
		most.dim, padUp(most.dim))
	return f, true
}

func padUp(dim int) int { return (dim + tile - 1) / tile * tile }

// measureWaste is the part of the last tiles that a dimension leaves empty.
func measureWaste(dim int) float64 { return 1 - float64(dim)/float64(padUp(dim)) }

// findUnevenDims is the dimension that misses its multiple in most of the matrix products'
// FLOP, and how many those are in all.
func (t *filler) findUnevenDims() (most unevenDimension, all float64) {
	h := &t.t.Host
	type product struct {
		bad  []int
		flop float64
	}
	known := map[[2]int32]product{} // by operator and shapes
	found := map[int]*unevenDimension{}
	operands := map[int32][2]int{}
	for name, text := range t.t.Names {
		if places, ok := matrixOps[text]; ok {
			operands[int32(name)] = places
		}
	}
	for i, kind := range h.Kind {
		if kind != recording.Op || h.Shapes[i] < 0 || h.End[i] <= t.d.From || h.Start[i] >= t.d.To {
			continue
		}
		places, ok := operands[h.Name[i]]
		if !ok {
			continue
		}
		key := [2]int32{h.Name[i], h.Shapes[i]}
		p, seen := known[key]
		if !seen {
			p.bad, p.flop = unevenIn(t.t.Names[h.Shapes[i]], places, strings.Contains(t.t.Names[h.Name[i]], "conv"))
			known[key] = p
		}
		all += p.flop
		for _, dim := range p.bad {
			if found[dim] == nil {
				found[dim] = &unevenDimension{dim: dim, of: missedMultiple(dim), call: int32(i)}
			}
			found[dim].flop += p.flop
		}
	}
	for _, u := range found {
		if u.flop > most.flop || u.flop == most.flop && u.dim > most.dim {
			most = *u
		}
	}
	return most, all
}

// missedMultiple is what a dimension ought to be a multiple of and is not: 8, for large
// ones 64 where much of the last tile is empty; 0 if it is.
func missedMultiple(dim int) int {
	switch {
	case dim >= leastDim && dim%granule != 0:
		return granule
	case dim >= largeDim && measureWaste(dim) >= padding:
		return tile
	}
	return 0
}

// unevenIn lists the dimensions of two operands that miss their multiple, and how much
// their product computes: rows lie along the last dimension of each matrix, and along
// the channels of a convolution. How many rows there are, a batch or a sequence, moves
// no row off its place.
func unevenIn(shapes string, places [2]int, conv bool) (bad []int, flop float64) {
	lists, _ := operators.ParseShapes(shapes)
	flop = 1
	for i, place := range places {
		if place >= len(lists) || len(lists[place]) < 2 {
			return nil, 0
		}
		dims := lists[place]
		row := int(dims[len(dims)-1])
		if conv {
			row = int(dims[1-i]) // channels that come in, and those that go out
		}
		if missedMultiple(row) > 0 && !slices.Contains(bad, row) {
			bad = append(bad, row)
		}
		if i == 0 {
			for _, dim := range dims {
				flop *= float64(dim)
			}
		} else {
			flop *= float64(row)
		}
	}
	return bad, flop
}

// describeFamilies says which kinds of kernels the time goes into.
func (t *filler) describeFamilies() string {
	type part struct {
		family idle.Family
		time   int64
	}
	var parts []part
	for f, time := range t.kernels.Family {
		if time > 0 && idle.Family(f) != idle.Exchange {
			parts = append(parts, part{idle.Family(f), time})
		}
	}
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].time > parts[j].time })
	var words []string
	for i, p := range parts {
		if i == 4 {
			break
		}
		word := fmt.Sprintf("%s %s", p.family, quantity.Percent(float64(p.time)/float64(max(1, t.kernels.Time))))
		if p.family == idle.Other {
			word += t.nameOther(p.time)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// leastNamed is the share of kernel time from which a kernel of no known family is named. [J]
const leastNamed = 0.1

// nameOther names the kernel of no known family with most time, if it is most of theirs and much of all; "" if not.
func (t *filler) nameOther(all int64) string {
	work := t.findLongest(func(total idle.NameTotal) bool { return total.Family == idle.Other })
	for _, total := range t.kernels.Totals {
		if work < 0 || total.Longest != work || 2*total.Usual < all ||
			float64(total.Usual) < leastNamed*float64(t.kernels.Time) {
			continue
		}
		return fmt.Sprintf(" (%s %s)", quote(functionOf(t.t.Names[total.Name])),
			quantity.Percent(float64(total.Usual)/float64(max(1, t.kernels.Time))))
	}
	return ""
}

// functionOf is a kernel's name without what it returns, its types and its arguments.
func functionOf(name string) string {
	name = strings.ReplaceAll(strings.TrimPrefix(name, "void "), "(anonymous namespace)::", "")
	if end := strings.IndexAny(name, "<("); end > 0 {
		name = name[:end]
	}
	return name
}
